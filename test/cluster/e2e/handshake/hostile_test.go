package handshake

import (
	"context"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/hostile"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// elsewhere is where the hostile client connects from: another address than
// kube-scheduler's, as any other pod has.
const elsewhere = "127.0.0.66"

// A client that reaches the port and knows every UID, owner and node forges
// requests to draw replacements to its node and to make all others look full,
// while ten pods have to move. They land on plan all the same.
func TestForgersTakeNothing(t *testing.T) {
	testHostileClient(t, []hostile.Attack{hostile.MadeUp, hostile.Known, hostile.Foreign, hostile.Heavy})
}

// The same client floods the port too. kube-scheduler is answered, and the
// process stays within its memory.
func TestHostileClient(t *testing.T) { testHostileClient(t, hostile.Attacks()) }

func testHostileClient(t *testing.T, attacks []hostile.Attack) {
	fixed := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), fixed.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := fixed.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	limit, err := evenkeel.MemoryLimit(t.Context())
	if err != nil {
		t.Error(err)
	}
	answering, metrics := fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, answering)
	p := f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--listen-address", answering, "--metrics-address", metrics)
	lair := story.Nodes[len(story.Nodes)-1]
	stop := attack(fixed, hostile.Config{Target: answering, Nodes: story.Nodes, Lair: lair, Attacks: attacks})
	t.Cleanup(func() { f.tellDrawn(lair) })
	f.waitCool(2 * time.Minute)
	f.waitReady("hog", "web", "bg")
	report := stop()

	if total := report.Total(); total.Sent < 1000 {
		t.Errorf("the client sent %d requests: the case was not put to the test", total.Sent)
	}
	if late, asked := f.balancer.Late(); late > 0 {
		t.Errorf("%d of %d requests of kube-scheduler were not answered in time", late, asked)
	}
	if peak, err := p.PeakRSS(); err != nil || peak >= limit {
		t.Errorf("%d MiB resident, %v, want less than the shipped limit of %d MiB", peak>>20, err, limit>>20)
	} else {
		t.Logf("%d MiB resident at most, limit %d MiB", peak>>20, limit>>20)
	}
	f.waitSettled(answering, metrics, 3, "hog", "web", "bg")
	moves, _ := f.Ledger(answering)
	result := f.judge(moves)
	wantSkewCooled(f, story, result)
	if result.Evictions != story.FewestEvictions {
		t.Errorf("%d evictions, want the fewest possible, %d", result.Evictions, story.FewestEvictions)
	}
}

// attack lets a hostile client loose and returns how to stop it and learn what it
// did. It stops with the case at the latest.
func attack(f *stage.Fixture, config hostile.Config) (stop func() hostile.Report) {
	f.T.Helper()
	config.Source, config.Kube, config.Namespace = elsewhere, f.Client(), "shop"
	ctx, cancel := context.WithCancel(f.T.Context())
	done := make(chan struct{})
	var report hostile.Report
	var err error
	go func() {
		defer close(done)
		report, err = hostile.Run(ctx, config)
	}()
	stop = func() hostile.Report {
		cancel()
		<-done
		return report
	}
	f.T.Cleanup(func() {
		stop()
		if err != nil {
			f.T.Error(err)
		}
		for _, attack := range config.Attacks {
			f.T.Logf("%s: %+v", attack, report[attack])
		}
	})
	return stop
}

// tellDrawn prints what the client has brought about.
func (f *fixture) tellDrawn(lair string) {
	late, asked := f.balancer.Late()
	drawn := 0
	for _, pod := range f.history.newcomers() {
		if pod.node == lair {
			drawn++
		}
	}
	f.T.Logf("figures: evictions %d, %d newcomers on the client's node, %d of %d requests of kube-scheduler late or without an answer",
		f.Evictions(f.mark), drawn, late, asked)
}
