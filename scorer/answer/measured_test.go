package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// byCrane limits CPU over five minutes: no pods above 30 % of capacity, which is 20 cores here.
func byCrane(config *observer.Config) {
	config.Scorer.Measured = &scorer.Measured{
		Formula: scorer.FormulaCrane,
		Terms:   []scorer.Term{{Resource: cluster.CPU, Window: usage.Avg5m, Weight: 1}},
		Limits:  []scorer.Limit{{Resource: cluster.CPU, Window: usage.Avg5m, Percent: 30}},
	}
}

// If the policy uses measured windows, neither a pod's own usage nor the lines
// count.
func TestFilterByMeasuredWindows(t *testing.T) {
	b := newBridge(t, byCrane)
	b.capacity = "20"
	b.node("cool", 2000)  // 10 %
	b.node("limit", 6000) // 30 %, and with any pod above the reject line of 6 cores
	b.node("above", 6010) // 30.05 %
	b.node("silent", -1)
	b.observe()
	all := []string{"cool", "limit", "above", "silent", "new-node"}
	want := map[string]extender.Reject{"cool": keep, "limit": keep, "above": extender.RejectLoad, "silent": keep, "new-node": keep}
	if diff := cmp.Diff(want, b.filter(strange("p", 1000), all...)); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	// 100-10, 100-30 and 100-30.05 without the fraction, in steps of ten. An unknown node scores as if it were full.
	scores := map[string]int8{"cool": 9, "limit": 7, "above": 6, "silent": 0, "new-node": 0}
	if diff := cmp.Diff(scores, b.prioritize(strange("p", 1000), all...)); diff != "" {
		t.Errorf("prioritize (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(scores, b.prioritizeUnseen(strange("q", 1000), all...)); diff != "" {
		t.Errorf("prioritize for a pod that the watch does not show (-want +got):\n%s", diff)
	}
}

// A pod of a DaemonSet has only one possible node, so limits do not apply to it.
func TestLimitsDoNotHoldForDaemons(t *testing.T) {
	daemon := strange("d", 1000)
	daemon.OwnerKind, daemon.OwnerUID = "DaemonSet", "ds-1"
	for name, tc := range map[string]struct {
		change []func(*observer.Config)
		want   extender.Reject
	}{
		"by measured windows": {[]func(*observer.Config){byCrane}, keep},
		"by predicted usage":  {nil, tooHot},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t, tc.change...)
			b.node("full", 9500)
			b.observe()
			if got := b.filter(daemon, "full")["full"]; got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
			if got := b.filter(strange("p", 1000), "full")["full"]; got == keep {
				t.Error("any other pod is let onto a full node")
			}
		})
	}
}

// Limits also apply to planned destinations. A replacement whose destination is above a limit gets
// another one.
func TestLandingKeepsToTheLimits(t *testing.T) {
	b := newBridge(t, func(config *observer.Config) {
		byCrane(config)
		config.Scorer.Measured.Limits[0].Percent = 5
	})
	b.node("from", 7000)
	b.node("planned", 1500) // 7.5 % of capacity, far below the reject line
	b.node("free", 500)
	b.observe()
	b.record(1, "from", "planned")
	got := b.filter(webPod("new"), "from", "planned", "free")
	if diff := cmp.Diff(map[string]extender.Reject{"from": notThere, "planned": notThere, "free": keep}, got); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
}
