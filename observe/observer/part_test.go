package observer

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
)

// unmeasured adds a ready node that no source reports.
func (h *harbor) unmeasured(name string, change func(*v1.Node)) {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10k"), v1.ResourceMemory: resource.MustParse("4Ti")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
	change(node)
	h.Store().SetNode(node)
}

func tainted(key string) func(*v1.Node) {
	return func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: key, Effect: v1.TaintEffectNoSchedule}} }
}

// Coverage counts only the nodes that a source must report. Other nodes neither prevent evictions
// nor compensate for a broken source.
func TestCoverageCountsNodesThatTakePart(t *testing.T) {
	labelled := func(key, value string) func(*v1.Node) { return func(n *v1.Node) { n.Labels[key] = value } }
	rule := func(_ *harbor, config *Config) {
		config.Taints = cluster.TaintRule{
			Leaving: []string{"leaving"}, Selects: func(labels map[string]string) bool { return labels["pool"] != "edge" },
		}
	}
	for name, tc := range map[string]struct {
		fourth func(*v1.Node)
		want   reasons.Reason
	}{
		"virtual by its label":            {labelled("type", "virtual-kubelet"), ""},
		"virtual by its taint":            {tainted("virtual-kubelet.io/provider"), ""},
		"Fargate":                         {labelled("eks.amazonaws.com/compute-type", "fargate"), ""},
		"left out by the nodeSelector":    {labelled("pool", "edge"), ""},
		"leaving":                         {tainted("leaving"), ""},
		"being deleted":                   {func(n *v1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, ""},
		"a machine":                       {func(*v1.Node) {}, reasons.UsageCoverageTooLow},
		"a machine for some pods":         {tainted("dedicated"), reasons.UsageCoverageTooLow},
		"a machine that is cordoned":      {func(n *v1.Node) { n.Spec.Unschedulable = true }, reasons.UsageCoverageTooLow},
		"a machine that is in no cluster": {labelled("pool", "core"), reasons.UsageCoverageTooLow},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t, rule)
			for i := range 3 {
				h.node(fmt.Sprintf("vm%d", i), 3000)
			}
			h.unmeasured("fourth", tc.fourth)
			h.pass(5 * time.Minute)
			if o := h.Latest(); o.Blocked != tc.want {
				t.Errorf("blocked by %q, want %q (%s)", o.Blocked, tc.want, o.Closed())
			}
			delete(h.meter.nodes, "vm1")
			h.pass(5 * time.Minute)
			if o := h.Latest(); o.Blocked != reasons.UsageCoverageTooLow {
				t.Errorf("with a source that has lost a machine: blocked by %q (%s)", o.Blocked, o.Closed())
			}
			h.fail = errSource
			h.pass(5 * time.Minute)
			if o := h.Latest(); o.Blocked != reasons.UsageSourceUnavailable {
				t.Errorf("without any source: blocked by %q (%s)", o.Blocked, o.Closed())
			}
		})
	}
}

// Nodes that no source must report do not show that a source works.
func TestMeasuredVirtualNodesProveNothing(t *testing.T) {
	h := newHarbor(t)
	h.unmeasured("vm0", func(*v1.Node) {})
	for i := range 20 {
		name := fmt.Sprintf("fargate%d", i)
		h.unmeasured(name, tainted("eks.amazonaws.com/compute-type"))
		h.meter.nodes[name] = cluster.Amounts{1000, 1 << 30}
	}
	h.pass(5 * time.Minute)
	if o := h.Latest(); o.Blocked != reasons.NoUsageData || o.Ready != 1 || o.Fresh != 0 {
		t.Errorf("blocked by %q, %d of %d nodes are known", o.Blocked, o.Fresh, o.Ready)
	}
}

// A fallback source is not asked only because there is a node that no source knows.
func TestVirtualNodesAskNoSecondSource(t *testing.T) {
	h := newHarbor(t, also("second"))
	h.node("vm0", 3000)
	h.unmeasured("virtual", tainted("virtual-kubelet.io/provider"))
	h.pass(5 * time.Minute)
	if second := h.source(1); second.asked > 0 {
		t.Errorf("the second source was asked %d times", second.asked)
	}
	state := h.Latest().States["virtual"]
	if state.State != thresholds.Unknown || state.Unknown != reasons.NodeVirtual {
		t.Errorf("the virtual node is %s by %q", state.State, state.Unknown)
	}
}

// A policy that selects other nodes takes effect at once.
func TestAnotherNodeSelector(t *testing.T) {
	h := newHarbor(t)
	for i := range 3 {
		h.node(fmt.Sprintf("vm%d", i), 3000)
	}
	h.unmeasured("edge", func(n *v1.Node) { n.Labels["pool"] = "edge" })
	h.pass(5 * time.Minute)
	if o := h.Latest(); o.Blocked != reasons.UsageCoverageTooLow {
		t.Fatalf("blocked by %q", o.Blocked)
	}
	config := h.at.config
	config.Taints.Selects = func(labels map[string]string) bool { return labels["pool"] == "" }
	if err := h.Reconfigure(config); err != nil {
		t.Fatal(err)
	}
	if o := h.Latest(); o.Blocked != "" || o.Ready != 3 {
		t.Errorf("blocked by %q of %d nodes", o.Blocked, o.Ready)
	}
}
