package evictor

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// A pod that must stay does not count towards unserved demand, neither in the plan nor in the
// recheck of its moves.
func TestAPodThatHasToStayKeepsNoFullNodeHot(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		latest, pods := seen(t, 10_000), []strategies.Pod(nil)
		for _, name := range []string{"a", "b", "c"} { // 2000 more are the system's
			pods = append(pods, runs(p, latest, name, 2000, 2000))
		}
		agent := runs(p, latest, "agent", 2000, 6000) // of a DaemonSet; it was busy for five minutes hours ago
		agent.Refused = reasons.DaemonSetPod
		p.pods["agent"].OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "ds", Controller: new(true)}}
		pods = append(pods, agent)
		e := p.evictor()
		e.config.Observer = fullNode{p, latest}
		delete(p.pods, "a")
		delete(p.pods, "b")
		if got := strategies.EstimateUnserved(pods); got != 0 {
			t.Fatalf("by the plan %d are wanted", got)
		}
		if e.stillHot(e.config.Evictions.Evicted, latest, 1, true) {
			t.Error("a third move is made: 6000 of 6500 show, and none of the pods that may be moved wants more; the plan would move nothing")
		}
	})
}

// A pod is moved ahead of time in a quiet hour, but not if it has become busy since the plan.
func TestAMoveAheadWaitsForAQuietHour(t *testing.T) {
	for _, tt := range []struct {
		uses int64
		want reasons.Reason
	}{{uses: 500}, {uses: 700}, {uses: 701, want: reasons.PodBusy}, {uses: 3000, want: reasons.PodBusy}} {
		playing(t, func(t *testing.T, p *play) {
			latest := seen(t, 10_000)
			runs(p, latest, "a", tt.uses, tt.uses)
			e := p.evictor()
			e.config.Observer = fullNode{p, latest}
			pattern := forecast.PodPattern{Pattern: &forecast.Pattern{}}
			for i := range pattern.Means {
				pattern.Means[i] = 700
			}
			planned := strategies.Move{From: "hot", To: "cool", Reason: reasons.NodeHotAhead, Ahead: &strategies.Ahead{}, Pod: strategies.Pod{
				Pod: &cluster.Pod{Namespace: "ns", Name: "a", UID: "uid-a"}, Usage: cluster.Amounts{500, 1 << 20}, Pattern: pattern,
			}}
			move := moveFor(e, &planned)
			if got := e.recheck(&move); got != tt.want {
				t.Errorf("of a pod that uses %d of 700 in the mean: %q, want %q", tt.uses, got, tt.want)
			}
		})
	}
}

// If a pod has become busy since the plan, its destination must have space for its current usage.
func TestAMoveIsLandedByWhatThePodUsesByNow(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		latest := seen(t, 10_000)
		runs(p, latest, "a", 5500, 5500)
		e := p.evictor()
		e.config.Observer = fullNode{p, latest}
		move := Move{Reason: reasons.NodeHot, Intent: ledger.Intent{
			Namespace: "ns", Pod: "a", PodUID: "uid-a", From: "hot", To: "cool", Usage: cluster.Amounts{500, 1 << 20}, // as planned
		}}
		if why := e.recheck(&move); why == "" {
			t.Error("a pod of 5500m goes to a node at 1000 with a ceiling of 6000")
		}
	})
}

// A move off a full node may fill its destination up to the ceiling with which it was planned,
// which exceeds the destination's own. It is made only as long as its source is full.
func TestAMoveOffAFullNodeKeepsToItsCeiling(t *testing.T) {
	for name, tc := range map[string]struct {
		source  int64
		reason  reasons.Reason
		ceiling int64
		memory  int64
		want    reasons.Reason
	}{
		"a warm node, up to 90 %":     {10_000, reasons.NodeFull, 9000, 1 << 20, ""},
		"up to less than it would be": {10_000, reasons.NodeFull, 6900, 1 << 20, reasons.LandingGone},
		"with too little memory":      {10_000, reasons.NodeFull, 9000, 90 << 30, reasons.LandingGone},
		"up to its own ceiling":       {10_000, reasons.NodeHot, 0, 1 << 20, reasons.LandingGone},
		"off a node that is hot only": {9000, reasons.NodeFull, 9000, 1 << 20, reasons.SourceNoLongerHot},
		"though that is hot still":    {9000, reasons.NodeHot, 9000, 1 << 20, ""},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				latest := seen(t, tc.source)
				planned := strategies.Move{From: "hot", To: "warm", Reason: tc.reason, CeilingMilliCores: tc.ceiling, Pod: runs(p, latest, "a", 2000, 2000)}
				planned.Usage[cluster.Memory] = tc.memory
				e := p.evictor()
				e.config.Observer = fullNode{p, latest}
				move := moveFor(e, &planned)
				if got := e.recheck(&move); got != tc.want {
					t.Errorf("%q, want %q", got, tc.want)
				}
			})
		})
	}
}

// The destination is judged by the ceiling of the move as well.
func TestDestinationsAreJudgedByTheCeilingOfTheirMove(t *testing.T) {
	for name, tc := range map[string]struct {
		to      string
		ceiling int64
		memory  int64
		over    bool
	}{
		"above its evict line":             {"hot", 0, 1 << 30, true},
		"below the move's ceiling":         {"hot", 9000, 1 << 30, false},
		"above the move's ceiling":         {"hot", 7500, 1 << 30, true},
		"above its evict line of memory":   {"hot", 9000, 81 << 30, true},
		"not where it was planned to land": {"warm", 9000, 1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				e := p.evictor()
				move := ledger.Move{Intent: ledger.Intent{From: "cool", To: tc.to, CeilingMilliCores: tc.ceiling}, Node: "hot"}
				latest := seen(t, 8000)
				latest.View.Nodes[1].Current[1][cluster.Memory] = tc.memory
				if facts, ok := e.outcomeFacts(latest, &move); !ok || facts.DestinationOver != tc.over {
					t.Errorf("over: %v (known: %v), want %v", facts.DestinationOver, ok, tc.over)
				}
			})
		})
	}
}
