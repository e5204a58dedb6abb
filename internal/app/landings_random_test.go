package app

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/internal/testkit/landings"
)

// enabled is a plugin in a policy.
type enabled struct{ point, plugin, args string }

// planned lists plugins whose evictions Evenkeel plans.
var planned = []enabled{
	{"balance", "RemovePodsViolatingTopologySpreadConstraint", "constraints: [DoNotSchedule, ScheduleAnyway]"},
	{"balance", "RemovePodsViolatingTopologySpreadConstraint", "constraints: [DoNotSchedule, ScheduleAnyway], topologyBalanceNodeFit: false"},
	{"balance", "RemoveDuplicates", ""},
	{"balance", "LowNodeUtilization", "thresholds: {cpu: 20}, targetThresholds: {cpu: 50}"},
	{"balance", "HighNodeUtilization", "thresholds: {cpu: 30}"},
	{"deschedule", "RemovePodsViolatingNodeAffinity", "nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution, requiredDuringSchedulingIgnoredDuringExecution]"},
	{"deschedule", "RemovePodsViolatingInterPodAntiAffinity", ""},
}

// randomScenario returns a small cluster with constraints of all kinds, in which each pod
// is on a random node with enough space.
func randomScenario(r *rand.Rand) *landings.Scenario {
	s := &landings.Scenario{}
	zones, free := 1+r.IntN(3), map[string]int64{}
	for i := range 3 + r.IntN(4) {
		n := landings.Node{
			Name: fmt.Sprint("n", i), Zone: string(rune('a' + r.IntN(zones))), MilliCPU: 2000 + r.Int64N(3)*2000, Labels: map[string]string{},
		}
		if r.IntN(3) == 0 {
			n.Labels["disk"] = "ssd"
		}
		if r.IntN(6) == 0 {
			n.Taints = []v1.Taint{{Key: "closed", Effect: v1.TaintEffectNoSchedule}}
		}
		s.Nodes, free[n.Name] = append(s.Nodes, n), n.MilliCPU
	}
	for k := range 1 + r.IntN(3) {
		w := landings.Workload{Name: string(rune('p' + k)), MilliCPU: 200 + r.Int64N(5)*200}
		w.Spec = randomSpec(r, w.Name)
		for range 1 + r.IntN(6) {
			if name := s.Nodes[r.IntN(len(s.Nodes))].Name; free[name] >= w.MilliCPU {
				free[name] -= w.MilliCPU
				w.On = append(w.On, name)
			}
		}
		if len(w.On) > 0 {
			s.Workloads = append(s.Workloads, w)
		}
	}
	p, fit := planned[r.IntN(len(planned))], []string{"", "nodeFit: true"}[r.IntN(2)]
	s.Name = p.plugin
	s.Policy = fmt.Sprintf("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n"+
		"  pluginConfig: [{name: DefaultEvictor, args: {%s}}, {name: %s, args: {%s}}]\n  plugins: {%s: {enabled: [%s]}}\n", fit, p.plugin, p.args, p.point, p.plugin)
	return s
}

func randomSpec(r *rand.Rand, app string) (spec v1.PodSpec) {
	of := func(app string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelHostname} {
		if r.IntN(2) == 0 {
			when := []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}[r.IntN(2)]
			spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
				MaxSkew: 1 + r.Int32N(2), TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: of(app),
			})
		}
	}
	spec.Affinity = &v1.Affinity{}
	ssd := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}}}
	switch r.IntN(4) {
	case 0:
		spec.Affinity.NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 10, Preference: ssd}}}
	case 1:
		spec.Affinity.NodeAffinity = &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{ssd}},
		}
	}
	switch r.IntN(4) {
	case 0:
		spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: v1.LabelHostname, LabelSelector: of(string(rune('p' + r.IntN(3))))},
		}}
	case 1:
		spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: 10, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: of(app)}},
		}}
	}
	return spec
}

// On random clusters, evictions end within a few cycles, and each replacement lands where it was
// planned, even where upstream's descheduler evicts without end.
func TestRandomClustersSettle(t *testing.T) {
	const cycles = 8
	theirs, loops, moved := 0, 0, 0
	for seed := uint64(0); theirs < 25; seed++ {
		s := randomScenario(rand.New(rand.NewPCG(seed, 7)))
		upstream := playUpstream(t, s, cycles)
		if upstream.after(cycles) == 0 {
			continue
		}
		theirs++
		if upstream.per[cycles-1] > 0 {
			loops++
		}
		got := playEvenkeel(t, s, cycles, true)
		n := got.after(cycles)
		if n > got.after(fewCycles) || len(got.landed) != n || got.missed > 0 {
			t.Errorf("seed %d, %s: evictions by cycle %v, landings %v, %d elsewhere than planned; upstream's evictions %v",
				seed, s.Name, got.per, got.landed, got.missed, upstream.per)
		}
		moved += n
	}
	if loops < 5 || moved < 10 {
		t.Errorf("upstream loops on %d clusters, and %d pods were moved: that shows little", loops, moved)
	}
}
