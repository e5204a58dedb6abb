package landings

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Right holds clusters in which upstream's plugins rightly ask for evictions, at least
// one for each plugin.
var Right = []Scenario{
	{
		Name:  "RemovePodsViolatingNodeTaints",
		About: "a node was tainted after its pods had come, and one of them tolerates that",
		Nodes: []Node{{Name: "n1", Taints: []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1", "n2"}},
			{Name: "agent", On: []string{"n1", "n2"}, Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}}},
		},
		Policy:   policy("deschedule", "RemovePodsViolatingNodeTaints", "", "", ""),
		Anywhere: true,
		Placed:   Fewest{Evictions: 1},
	},
	{
		Name:  "RemovePodsViolatingNodeAffinity, required",
		About: "a node has lost the label that a pod on it requires",
		Nodes: []Node{{Name: "n1"}, {Name: "n2", Labels: map[string]string{"disk": "ssd"}}, {Name: "n3", Labels: map[string]string{"disk": "ssd"}}},
		Workloads: []Workload{
			{Name: "db", On: []string{"n1", "n2"}, Spec: v1.PodSpec{Affinity: requiring("disk", "ssd")}},
			{Name: "web", On: []string{"n1"}},
		},
		Policy: policy("deschedule", affinity, byRequired, nodeFit, ""),
		Placed: Fewest{Evictions: 1},
	},
	{
		Name:      "RemovePodsViolatingNodeAffinity, preferred",
		About:     "the node that a pod prefers has come back",
		Nodes:     []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3", Labels: map[string]string{"preemptible": "true"}}},
		Workloads: []Workload{{Name: "web", On: []string{"n1"}, Spec: v1.PodSpec{Affinity: preferring("preemptible", "true")}}},
		Policy:    policy("deschedule", affinity, byPreferred, nodeFit, ""),
		Placed:    Fewest{Evictions: 1},
	},
	{
		Name:  "RemovePodsViolatingInterPodAntiAffinity",
		About: "two apps that must not share a node do",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1"}},
			{Name: "batch", On: []string{"n1"}, Spec: v1.PodSpec{Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
					TopologyKey: host, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				}},
			}}}},
		},
		Policy: policy("deschedule", "RemovePodsViolatingInterPodAntiAffinity", "", "", ""),
		Placed: Fewest{Evictions: 1},
	},
	{
		Name:  "RemovePodsViolatingTopologySpreadConstraint, hard",
		About: "3 of 4 replicas are in one zone, as after an outage of the other",
		Nodes: join(in("a", "a1", "a2"), in("b", "b1", "b2")),
		Workloads: []Workload{{
			Name: "web", On: []string{"a1", "a1", "a2", "b1"},
			Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(zone, hard)}},
		}},
		Policy: policy("balance", spreading, "", nodeFit, ""),
		Placed: Fewest{Evictions: 1},
	},
	{
		Name:  "RemovePodsViolatingTopologySpreadConstraint, soft",
		About: "all 4 replicas are on one of two nodes",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}},
		Workloads: []Workload{{
			Name: "web", On: []string{"n1", "n1", "n1", "n1"},
			Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spread(host, soft)}},
		}},
		Policy: policy("balance", spreading, bothKinds, nodeFit, ""),
		Placed: Fewest{Evictions: 2},
	},
	{
		Name:  "RemovePodsHavingTooManyRestarts",
		About: "a pod has restarted too often",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{
			{
				Name: "flaky", On: []string{"n1"},
				Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", Ready: true, RestartCount: 150}}},
			},
			{Name: "web", On: []string{"n1", "n2"}},
		},
		Policy:   policy("deschedule", "RemovePodsHavingTooManyRestarts", "podRestartThreshold: 100, includingInitContainers: true", "", ""),
		Anywhere: true,
		Placed:   Fewest{Evictions: 1},
	},
	{
		Name:  "PodLifeTime",
		About: "a pod is older than pods may be",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{
			{Name: "old", On: []string{"n1", "n2"}, Age: 48 * time.Hour},
			{Name: "web", On: []string{"n1", "n2"}},
		},
		Policy:   policy("deschedule", "PodLifeTime", "maxPodLifeTimeSeconds: 86400", "", ""),
		Anywhere: true,
		Placed:   Fewest{Evictions: 2},
	},
	{
		Name:  "RemoveFailedPods",
		About: "a Job's pod has failed",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}},
		Workloads: []Workload{
			{Name: "once", On: []string{"n1"}, Job: true, Status: v1.PodStatus{Phase: v1.PodFailed}},
			{Name: "web", On: []string{"n1", "n2"}},
		},
		Policy:   policy("deschedule", "RemoveFailedPods", "minPodLifetimeSeconds: 60", "", ""),
		Anywhere: true,
		Placed:   Fewest{Evictions: 1},
	},
	{
		Name:      "RemoveDuplicates",
		About:     "3 of 4 replicas are on one of three nodes, and one has none",
		Nodes:     []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{{Name: "web", On: []string{"n1", "n1", "n1", "n2"}}},
		Policy:    policy("balance", duplicates, "", nodeFit, ""),
		Placed:    Fewest{Evictions: 1},
	},
	{
		Name:      "LowNodeUtilization",
		About:     "one node is requested by three quarters and two by nothing",
		Nodes:     []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{{Name: "web", On: []string{"n1", "n1", "n1", "n1", "n1", "n1"}, MilliCPU: 1000}},
		Policy:    policy("balance", "LowNodeUtilization", "thresholds: {cpu: 20}, targetThresholds: {cpu: 50}", nodeFit, ""),
		Placed:    Fewest{Evictions: 2},
	},
	{
		Name:  "HighNodeUtilization",
		About: "one node is nearly empty, and its pod fits on either of the others",
		Nodes: []Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []Workload{
			{Name: "web", On: []string{"n1", "n2"}, MilliCPU: 4000, MiB: 16384},
			{Name: "small", On: []string{"n3"}, MilliCPU: 500, MiB: 1024},
		},
		Policy: policy("balance", packing, "thresholds: {cpu: 20, memory: 20}", nodeFit, ""),
		Packs:  true,
		Placed: Fewest{Evictions: 1},
	},
}
