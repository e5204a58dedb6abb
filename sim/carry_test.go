package sim

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

const ttl = 10 * time.Minute

// lenient never stops evicting, because replacements take a while to become ready.
var lenient = safeguards.Breaker{
	MaxPending: 99, MaxUnready: 99, PendingAfter: time.Hour, UnreadyAfter: time.Hour, MaxRefusedPercent: 100, MaxNotReadyPercent: 100,
}

// usual are the usual lines. allHot are lines above which every node is, and up to which every node
// accepts pods.
var (
	usual  = thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}
	allHot = thresholds.Levels{Low: 1, Reject: 99, Evict: 2, Leave: 1}
)

// steered returns a world in which Evenkeel evicts and steers, after a first reading.
func steered(t *testing.T, fleet *Fleet, levels thresholds.Levels, settle time.Duration) (*world, *evenkeel) {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEvenkeel(t.Context(), &Policy{
		Observer: observer.Config{
			Usage: usage.Config{SampleInterval: 15 * time.Second, MaxAge: 10 * time.Minute, MinWindow: time.Minute},
			Lines: set, Hot: thresholds.HotRule{ConsecutiveSamples: 1, SampleInterval: 15 * time.Second},
			HotWindows: []usage.Window{usage.Avg5m}, MinCoverage: 80, SampleInterval: 15 * time.Second,
		},
		Strategies: []plugin.Strategy{&realusage.Args{}},
		Evicting: evictor.Settings{
			SchedulerNames: []string{v1.DefaultSchedulerName},
			Safeguards:     safeguards.New(safeguards.Config{Breaker: lenient}), OwnerPercent: 10, MoveTTL: ttl,
			Interval: 10 * time.Second, Deadline: 4 * time.Minute, OwnerSettle: settle,
		},
	}, newTally())
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(t.Context(), fleet, kubescheduler.Config{Seed: 1, Extender: directExtender{e.answerer}, Weight: 15}, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.populate(); err != nil {
		t.Fatal(err)
	}
	e.tally.world = w
	if err := e.join(w); err != nil {
		t.Fatal(err)
	}
	if err := w.proceed(0, w.start); err != nil {
		t.Fatal(err)
	}
	w.usage.end(w)
	e.observe(t.Context(), w.start.Add(Step), DefaultLag)
	if err := w.proceed(1, e.clock); err != nil {
		t.Fatal(err)
	}
	return w, e
}

// planned returns a move of a replica's pod.
func (e *evenkeel) planned(replica int, to string) strategies.Move {
	pod := e.world.replicas[replica].pod
	return strategies.Move{
		Pod:  strategies.Pod{Pod: informed.Pod(pod), Usage: cluster.Amounts{500, 64 << 20}},
		From: pod.Spec.NodeName, To: to,
	}
}

// refuses returns why a pod must not be moved.
func (e *evenkeel) refuses(pod *v1.Pod) reasons.Reason {
	of := &strategies.Candidate{Object: pod, Record: informed.Pod(pod), Read: &usage.PodUsage{Measured: true}}
	return e.evictor.Refuse(context.Background(), of, e.plugins[0].Profile())
}

// Deploying the owner of a moving pod leaves nothing behind: no move in flight, no reserved usage,
// and no pod without a node. That holds if the pod was about to be evicted, and if its replacement
// fitted nowhere.
func TestADeployDuringAMove(t *testing.T) {
	for name, evicted := range map[string]bool{"before the eviction": false, "while the replacement waits for a node": true} {
		t.Run(name, func(t *testing.T) {
			fleet := fleetOf(t, 40, 50)
			fleet.Owners = len(fleet.Replicas)
			for i := range fleet.Replicas {
				fleet.Replicas[i].Owner = i // with a single pod, so that the departure of another one cannot end the move
			}
			w, e := steered(t, fleet, allHot, 0)
			planned := strategies.Plan{Moves: []strategies.Move{e.planned(3, w.nodes[(w.replicas[3].node+1)%len(w.nodes)].Name)}}
			execution := e.evictor.Begin(t.Context(), e.evictor.Moves(&planned, e.plugins[0].Profile()), e.plugins[0].Profile())
			if evicted {
				fits := fleet.Replicas[3].Requests
				fleet.Replicas[3].Requests = fleet.Capacity.Plus(fleet.Capacity)
				if execution.Step(t.Context()); e.err != nil || w.replicas[3].waiting == nil {
					t.Fatalf("the replacement does not wait: %v, %+v", e.err, execution.Left())
				}
				fleet.Replicas[3].Requests = fits
			}
			w.deploys = []Deploy{{Owner: 3, At: e.clock.Sub(w.start) + time.Second}}
			if err := w.until(e.clock.Add(2 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			execution.Step(t.Context())
			if outcomes := execution.End(t.Context()); len(outcomes) != 1 || !evicted && outcomes[0].Reason != reasons.PodChanged {
				t.Errorf("the move of a pod that is gone: %+v", outcomes)
			}
			if w.deployed != 1 || w.missing(3, w.now) > 0 || w.replicas[3].waiting != nil {
				t.Errorf("%d pods were deployed, %d are away, %v waits", w.deployed, w.missing(3, w.now), w.replicas[3].waiting)
			}
			inFlight, ended := e.observer.Ledger().Moves()
			e.observer.Ledger().Reserved(func(node string, by cluster.Charge) { t.Errorf("node %s has %v reserved", node, by) }, func() {})
			if len(inFlight) > 0 || len(ended) != 1 || ended[0].State != ledger.Cancelled {
				t.Errorf("in flight: %+v; ended: %+v", inFlight, ended)
			}
		})
	}
}

// The pods of an owner are left alone during a deploy and for a while afterwards.
func TestAnOwnerIsLeftAloneAfterADeploy(t *testing.T) {
	for _, tc := range []struct {
		after, settle time.Duration
		want          reasons.Reason
	}{
		{0, time.Hour, ""}, {20 * time.Second, 0, reasons.OwnerRollingOut}, {80 * time.Second, 0, reasons.OwnerRollingOut}, // three of four batches
		{150 * time.Second, 0, ""}, {150 * time.Second, 3 * time.Minute, reasons.OwnerRollingOut}, {4 * time.Minute, 3 * time.Minute, ""},
	} {
		w, e := steered(t, fleetOf(t, 40, 50), usual, tc.settle)
		w.deploys = []Deploy{{Owner: 0, At: e.clock.Sub(w.start) + time.Second}}
		at := e.clock.Add(tc.after)
		if err := w.until(at); err != nil {
			t.Fatal(err)
		}
		e.clock = at
		if got := e.refuses(w.replicas[0].pod); got != tc.want {
			t.Errorf("after %v: refused by %q, want %q", tc.after, got, tc.want)
		}
		if got := e.refuses(w.replicas[15].pod); got != "" {
			t.Errorf("after %v: a pod of another owner is refused by %q", tc.after, got)
		}
	}
}

// A move waits while its owner's budget is exhausted, and is made afterwards. Other moves are made
// first.
func TestAMoveWaitsForItsBudget(t *testing.T) {
	w, e := steered(t, fleetOf(t, 40, 50), allHot, 0)
	w.maxUnavailable = 10
	to := func(i int) string { return w.nodes[(w.replicas[i].node+1)%len(w.nodes)].Name }
	moves, began := []strategies.Move{e.planned(0, to(0)), e.planned(1, to(1)), e.planned(12, to(12))}, e.clock
	e.Make(t.Context(), &strategies.Plan{Moves: moves}, e.plugins[0].Profile())
	if e.err != nil || e.tally.Landed != 3 || e.tally.Refused > 0 {
		t.Fatalf("%d of 3 landed, %d were refused: %v", e.tally.Landed, e.tally.Refused, e.err)
	}
	for k, want := range []time.Duration{10 * time.Second, 40 * time.Second, 20 * time.Second} {
		move, _ := e.observer.Ledger().Get(moves[k].UID)
		if got := move.Evicted.Sub(began); got != want {
			t.Errorf("move %d of pod %q is made after %v, want %v", k, move.Pod, got, want)
		}
	}
}
