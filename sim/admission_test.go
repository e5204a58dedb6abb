package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

// If the API server steers, replacements land as planned, and kube-scheduler places all other new
// pods as it does alone.
func TestOnlyReplacementsAreSteered(t *testing.T) {
	c := defaultsOn(generated(t, 100, 55))
	c.DeploysPerDay, c.Steps, c.KeepUsage = 6, 144, true
	c.Variants = []Variant{
		{Name: "none"}, {Name: "never evicts", Policy: shipped(t), Admission: true}, {Name: "evicts", Policy: shipped(t), Evicts: true, Admission: true},
	}
	results, err := Run(t.Context(), *c)
	if err != nil {
		t.Fatal(err)
	}
	none, idle, evicts := results[0], results[1], results[2]
	if none.Deployed == 0 || evicts.Evictions == 0 {
		t.Fatalf("%d pods were deployed and %d evicted, which shows nothing", none.Deployed, evicts.Evictions)
	}
	if diff := cmp.Diff(none.Usage, idle.Usage); diff != "" {
		t.Errorf("other pods are steered (-none +admission):\n%s", diff)
	}
	if evicts.Planned != evicts.Evictions || evicts.OnPlan != evicts.Planned {
		t.Errorf("of %d moves, %d were planned and %d landed as planned", evicts.Evictions, evicts.Planned, evicts.OnPlan)
	}
}

// defaultsWith returns the default policy with settings of nodesync.
func defaultsWith(t *testing.T, change func(*policy.NodeSync)) *Policy {
	t.Helper()
	load := policy.Default(kinds.All)
	change(&load.NodeSync)
	shipped, err := registry.New(policy.DefaultStrategy)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPolicy(&load, shipped)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// nodesync taints the nodes that production would taint, at each step, and kube-scheduler keeps
// other new pods off them as far as it can. What the policy does not enable is not written.
func TestTaintsRepelOtherPods(t *testing.T) {
	c := defaultsOn(generated(t, 100, 58))
	c.DeploysPerDay, c.Steps, c.KeepUsage = 8, 144, true
	off, on := defaultsWith(t, func(*policy.NodeSync) {}), defaultsWith(t, func(n *policy.NodeSync) { n.Taint.Enabled, n.RejectTaint.Enabled = true, true })
	c.Variants = []Variant{{Name: "none"}, {Name: "off", Policy: off, Marks: true}, {Name: "on", Policy: on, Marks: true}}
	results, err := Run(t.Context(), *c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(results[0].Usage, results[1].Usage); diff != "" {
		t.Errorf("nodesync is off (-none +off):\n%s", diff)
	}
	if none, on := results[0], results[2]; none.HotPercent < 1 || on.HotPercent > none.HotPercent*9/10 {
		t.Errorf("%.2f%% is hot with taints, %.2f%% without", on.HotPercent, none.HotPercent)
	}
	player := started(t, c, &Variant{Policy: on, Marks: true})
	seen := [3]int{}
	playAll(t, player, func(step int) {
		latest := player.evenkeel.observer.Latest()
		if step == 0 || latest == nil {
			return
		}
		for _, node := range player.evenkeel.marks.reader.Nodes() {
			i := latest.View.Snapshot.Index(node.Name)
			if want := node.Hot; want != (len(node.Taints) == 2) {
				t.Errorf("step %d, node %s: taints %v, hot %v", step, node.Name, node.Taints, want)
			}
			if latest.Lines.AboveReject(i) && len(node.Taints) == 0 {
				t.Errorf("step %d, node %s is above its reject line and has no taint", step, node.Name)
			}
			seen[len(node.Taints)]++
		}
	})
	if seen[0] == 0 || seen[1] == 0 || seen[2] == 0 {
		t.Errorf("nodes with no, one and two taints: %d, which shows nothing", seen)
	}
}
