package landings

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policy returns a DeschedulerPolicy that runs one plugin at the extension point named by
// point. top may add fields to the policy itself.
func policy(point, plugin, args, evictor, top string) string {
	return fmt.Sprintf(`apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
%sprofiles:
- name: default
  pluginConfig:
  - {name: DefaultEvictor, args: {%s}}
  - {name: %s, args: {%s}}
  plugins: {%s: {enabled: [%s]}}
`, top, evictor, plugin, args, point, plugin)
}

const (
	bothKinds = "constraints: [DoNotSchedule, ScheduleAnyway]"
	// unfit selects the way in which releases before nodeFit balanced domains.
	unfit   = bothKinds + ", topologyBalanceNodeFit: false"
	nodeFit = "nodeFit: true"

	spreading   = "RemovePodsViolatingTopologySpreadConstraint"
	affinity    = "RemovePodsViolatingNodeAffinity"
	duplicates  = "RemoveDuplicates"
	packing     = "HighNodeUtilization"
	byPreferred = "nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]"
	byRequired  = "nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]"
)

// spread returns a constraint on the pods of the workload web.
func spread(key string, action v1.UnsatisfiableConstraintAction) v1.TopologySpreadConstraint {
	return spreadAll(map[string]string{"app": "web"}, key, action)
}

func spreadAll(labels map[string]string, key string, action v1.UnsatisfiableConstraintAction) v1.TopologySpreadConstraint {
	return v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: action, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
}

// overAll returns the constraint as it worked before node inclusion policies existed: it
// also counts the domains of nodes on which the pod cannot run.
func overAll(c v1.TopologySpreadConstraint) v1.TopologySpreadConstraint {
	ignore := v1.NodeInclusionPolicyIgnore
	c.NodeAffinityPolicy = &ignore
	return c
}

// term selects the nodes with a label value.
func term(key, value string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}
}

func preferring(key, value string) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 100, Preference: term(key, value)}},
	}}
}

func requiring(key, value string) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term(key, value)}},
	}}
}

func in(zone string, names ...string) []Node {
	nodes := make([]Node, 0, len(names))
	for _, name := range names {
		nodes = append(nodes, Node{Name: name, Zone: zone})
	}
	return nodes
}

func join(groups ...[]Node) (all []Node) {
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

const (
	zone = v1.LabelTopologyZone
	host = v1.LabelHostname
	hard = v1.DoNotSchedule
	soft = v1.ScheduleAnyway
)

// nginx holds the labels of two Deployments that count as one.
var nginx = map[string]string{"part-of": "nginx"}

// critical is the priority of system-node-critical.
var critical = int32(2000001000)

// Reported holds the loops that descheduler users have reported.
var Reported = []Scenario{
	{
		Name: "hard zones, soft hosts", Issue: 1918,
		About: "9 replicas over zones of 5, 2 and 2 nodes: the hard zone constraint forbids what the soft host constraint asks for",
		Nodes: join(in("a", "a1", "a2", "a3", "a4", "a5"), in("b", "b1", "b2"), in("c", "c1", "c2")),
		Workloads: []Workload{{
			Name: "web", On: []string{"a1", "a2", "a3", "b1", "b1", "b2", "c1", "c1", "c2"},
			Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(zone, hard), spread(host, soft)}},
		}},
		Policy: policy("balance", spreading, bothKinds, nodeFit, ""),
		Placed: Fewest{Asked: 2, Least: 2}, Steered: Fewest{Asked: 2, Least: 2},
	},
	{
		Name: "another node pool", Issue: 948,
		About: "6 replicas evenly on the 3 nodes of their pool; another pool's empty nodes are in the same zones",
		Nodes: []Node{
			{Name: "app-a", Zone: "a", Labels: map[string]string{"pool": "app"}}, {Name: "app-b", Zone: "b", Labels: map[string]string{"pool": "app"}},
			{Name: "app-c", Zone: "c", Labels: map[string]string{"pool": "app"}}, {Name: "other-a", Zone: "a", Labels: map[string]string{"pool": "other"}},
			{Name: "other-b", Zone: "b", Labels: map[string]string{"pool": "other"}}, {Name: "other-c", Zone: "c", Labels: map[string]string{"pool": "other"}},
		},
		Workloads: []Workload{{
			Name: "web", On: []string{"app-a", "app-a", "app-b", "app-b", "app-c", "app-c"},
			Spec: v1.PodSpec{
				Affinity:                  requiring("pool", "app"),
				TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(zone, hard), overAll(spread(host, soft))},
			},
		}},
		Policy: policy("balance", spreading, unfit, "", ""),
		Placed: Fewest{Asked: 3, Least: 3}, Steered: Fewest{Asked: 3, Least: 3},
	},
	{
		Name: "zones against hosts", Issue: 1219,
		About: "4 replicas over zones of 1 and 3 nodes: two soft constraints that cannot both be met",
		Nodes: join(in("a", "a1"), in("b", "b1", "b2", "b3")),
		Workloads: []Workload{{
			Name: "web", On: []string{"a1", "a1", "b1", "b2"},
			Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(zone, soft), spread(host, soft)}},
		}},
		Policy: policy("balance", spreading, bothKinds, nodeFit, ""),
		Placed: Fewest{Asked: 1, Least: 1}, Steered: Fewest{Asked: 1, Least: 1},
	},
	{
		Name: "preferred node full", Issue: 1707,
		About: "2 replicas prefer a preemptible node that has no room",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "spot", Labels: map[string]string{"preemptible": "true"}}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1", "n2"}, MilliCPU: 500, Spec: v1.PodSpec{Affinity: preferring("preemptible", "true")}},
			{Name: "batch", On: []string{"spot"}, MilliCPU: 7800},
		},
		Policy: policy("deschedule", affinity, byPreferred, nodeFit, ""),
		Placed: Fewest{Asked: 2, Least: 2}, Steered: Fewest{Asked: 2, Least: 2},
	},
	{
		Name: "preferred node too small", Issue: 1410,
		About: "2 replicas prefer a tainted spot node, tolerate it, and are larger than it",
		Nodes: []Node{
			{Name: "n1"}, {Name: "n2"},
			{
				Name: "spot", Labels: map[string]string{"priority": "spot"}, MilliCPU: 500, MiB: 1024,
				Taints: []v1.Taint{{Key: "priority", Value: "spot", Effect: v1.TaintEffectNoSchedule}},
			},
		},
		Workloads: []Workload{{
			Name: "web", On: []string{"n1", "n1"}, MilliCPU: 1000,
			Spec: v1.PodSpec{Affinity: preferring("priority", "spot"), Tolerations: []v1.Toleration{{Key: "priority", Value: "spot", Effect: v1.TaintEffectNoSchedule}}},
		}},
		Policy: policy("deschedule", affinity, byPreferred, nodeFit, ""),
		Placed: Fewest{Asked: 2, Least: 2}, Steered: Fewest{Asked: 2, Least: 2},
	},
	{
		Name: "the emptiest domain is full", Issue: 604,
		About: "15 replicas as 7, 5 and 3 on three nodes, of which the third has no room for more",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{
			{
				Name: "web", On: []string{"n1", "n1", "n1", "n1", "n1", "n1", "n1", "n2", "n2", "n2", "n2", "n2", "n3", "n3", "n3"}, MilliCPU: 500,
				Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(host, soft)}},
			},
			{Name: "big", On: []string{"n3"}, MilliCPU: 6400},
		},
		Policy: policy("balance", spreading, unfit, "", ""),
		Placed: Fewest{Asked: 2, Least: 2}, Steered: Fewest{Asked: 2, Least: 2},
	},
	{
		Name: "duplicates with nowhere to go", Issue: 827,
		About: "3 replicas on 2 nodes; two more nodes are full and one is tainted",
		Nodes: []Node{
			{Name: "n1"}, {Name: "n2"}, {Name: "n3"}, {Name: "n4"},
			{Name: "infra", Taints: []v1.Taint{{Key: "infra", Effect: v1.TaintEffectNoSchedule}}},
		},
		Workloads: []Workload{
			{
				Name: "web", On: []string{"n1", "n1", "n2"}, MilliCPU: 500,
				Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(host, soft)}},
			},
			{Name: "big", On: []string{"n3", "n4"}, MilliCPU: 7800, MiB: 1024},
		},
		Policy: policy("balance", duplicates, "", "", ""),
		Placed: Fewest{Asked: 1, Least: 1}, Steered: Fewest{Asked: 1, Least: 1},
	},
	{
		Name: "duplicates with room for one", Issue: 1237,
		About: "6 replicas on 2 nodes; a third node has memory for one of the two that are asked to leave",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3", MiB: 8192}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1", "n1", "n1", "n2", "n2", "n2"}, MiB: 2048},
			{Name: "big", On: []string{"n3"}, MiB: 5120},
		},
		Policy: policy("balance", duplicates, "", "", ""),
		Placed: Fewest{Asked: 2, Least: 1, Evictions: 1}, Steered: Fewest{Asked: 2, Least: 1, Evictions: 1},
	},
	{
		Name: "a tainted zone", Issue: 566,
		About: "2 Deployments of one replica count as one app; the only node of the second zone is tainted",
		Nodes: []Node{{Name: "w1", Zone: "a"}, {Name: "w2", Zone: "b", Taints: []v1.Taint{{Key: "closed", Effect: v1.TaintEffectNoSchedule}}}},
		Workloads: []Workload{
			{
				Name: "app", Labels: nginx, On: []string{"w1"},
				Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spreadAll(nginx, zone, soft)}},
			},
			{
				Name: "app2", Labels: nginx, On: []string{"w1"},
				Spec: v1.PodSpec{
					TopologySpreadConstraints: []v1.TopologySpreadConstraint{spreadAll(nginx, zone, soft)}, NodeSelector: map[string]string{zone: "a"},
				},
			},
		},
		Policy: policy("balance", spreading, unfit, "", ""),
		Placed: Fewest{Asked: 1, Least: 1}, Steered: Fewest{Asked: 1, Least: 1},
	},
	{
		Name: "packing onto emptier nodes", Issue: 1461,
		About: "pods of an underused node fit only on one that is emptier, by a scheduler that packs, and is held by a critical pod",
		Nodes: []Node{{Name: "n1", MilliCPU: 10000, MiB: 10240}, {Name: "n2", MilliCPU: 10000, MiB: 10240}, {Name: "n3", MilliCPU: 10000, MiB: 10240}},
		Workloads: []Workload{
			{Name: "full", On: []string{"n1"}, MilliCPU: 8500, MiB: 8704},
			{Name: "half", On: []string{"n2"}, MilliCPU: 3000, MiB: 3072},
			{Name: "other", On: []string{"n2"}, MilliCPU: 3000, MiB: 3072},
			{Name: "critical", On: []string{"n3"}, MilliCPU: 100, MiB: 5600, Spec: v1.PodSpec{PriorityClassName: "system-node-critical", Priority: &critical}},
		},
		Policy: policy("balance", packing, "thresholds: {cpu: 70, memory: 70}", nodeFit, "maxNoOfPodsToEvictPerNamespace: 1\n"),
		Packs:  true,
		Placed: Fewest{Asked: 1, Least: 1}, Steered: Fewest{Asked: 1, Least: 0, Evictions: 1},
	},
}
