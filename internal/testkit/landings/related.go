package landings

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apart keeps pods off nodes that have a pod of the workload web.
func apart() *v1.Affinity {
	return &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: host, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}}}
}

// Related holds clusters like those in Reported, for the other plugins and for cases in
// which only some of the evictions help.
var Related = []Scenario{
	{
		Name:  "apart with nowhere to go",
		About: "two apps that must not share a node do, and the other nodes are full",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1"}, MilliCPU: 500},
			{Name: "batch", On: []string{"n1"}, MilliCPU: 500, Spec: v1.PodSpec{Affinity: apart()}},
			{Name: "big", On: []string{"n2", "n3"}, MilliCPU: 7800},
		},
		Policy: policy("deschedule", "RemovePodsViolatingInterPodAntiAffinity", "", "", ""),
		Placed: Fewest{Asked: 1, Least: 1}, Steered: Fewest{Asked: 1, Least: 1},
	},
	{
		Name:  "preferred node with room for one",
		About: "2 replicas prefer a node that has room for one of them",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "spot", Labels: map[string]string{"preemptible": "true"}}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1", "n2"}, MilliCPU: 500, Spec: v1.PodSpec{Affinity: preferring("preemptible", "true")}},
			{Name: "batch", On: []string{"spot"}, MilliCPU: 7400},
		},
		Policy: policy("deschedule", affinity, byPreferred, nodeFit, ""),
		Placed: Fewest{Asked: 2, Least: 1, Evictions: 1}, Steered: Fewest{Asked: 2, Least: 1, Evictions: 1},
	},
	{
		Name:  "an overfull zone",
		About: "LowNodeUtilization would move replicas to another zone, which their hard constraint forbids",
		Nodes: join(in("a", "a1", "a2"), in("b", "b1", "b2")),
		Workloads: []Workload{
			{
				Name: "web", On: []string{"a1", "a1", "b1", "b2"}, MilliCPU: 1000,
				Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(zone, hard)}},
			},
			{Name: "critical", On: []string{"a1", "a2"}, MilliCPU: 3600, Spec: v1.PodSpec{PriorityClassName: "system-node-critical", Priority: &critical}},
		},
		Policy: policy("balance", "LowNodeUtilization", "thresholds: {cpu: 20}, targetThresholds: {cpu: 50}", nodeFit, ""),
		Placed: Fewest{Asked: 2, Least: 2}, Steered: Fewest{Asked: 2, Least: 2},
	},
	{
		Name:  "replicas that repel each other",
		About: "LowNodeUtilization would move a replica to a node whose replica keeps it off",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1", "n2"}, MilliCPU: 1000, Spec: v1.PodSpec{Affinity: apart()}},
			{Name: "critical", On: []string{"n1"}, MilliCPU: 4000, Spec: v1.PodSpec{PriorityClassName: "system-node-critical", Priority: &critical}},
		},
		Policy: policy("balance", "LowNodeUtilization", "thresholds: {cpu: 20}, targetThresholds: {cpu: 50}", "", ""),
		Placed: Fewest{Asked: 1, Least: 1}, Steered: Fewest{Asked: 1, Least: 1},
	},
	{
		Name:  "soft zones, one full",
		About: "9 replicas as 5, 2 and 2 over three zones; the node of the third is full",
		Nodes: join(in("a", "a1", "a2"), in("b", "b1", "b2"), in("c", "c1")),
		Workloads: []Workload{
			{
				Name: "web", On: []string{"a1", "a1", "a1", "a2", "a2", "b1", "b2", "c1", "c1"}, MilliCPU: 500,
				Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(zone, soft)}},
			},
			{Name: "big", On: []string{"c1"}, MilliCPU: 6800},
		},
		Policy: policy("balance", spreading, bothKinds, "", ""),
		Placed: Fewest{Asked: 2, Evictions: 1}, Steered: Fewest{Asked: 2, Evictions: 1},
	},
}
