package sim

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/internal/sim/kubescheduler"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// asked is the extender as kube-scheduler asks it, without the wire between
// them.
type asked struct{ judge *steering.Judge }

var _ kubescheduler.Extender = asked{}

// Filter implements kubescheduler.Extender. Where every node is rejected all
// are kept, as the reply does.
func (a asked) Filter(pod *v1.Pod, nodes []string) []int {
	round := a.judge.Begin()
	reasons := make([]extender.Reject, len(nodes))
	round.Filter(asExtenderPod(pod), places(round, nodes), reasons)
	kept := make([]int, 0, len(nodes))
	for k, reason := range reasons {
		if reason == extender.RejectNone {
			kept = append(kept, k)
		}
	}
	if len(kept) == 0 {
		for k := range nodes {
			kept = append(kept, k)
		}
	}
	return kept
}

// Prioritize implements kubescheduler.Extender.
func (a asked) Prioritize(pod *v1.Pod, nodes []string) []int64 {
	round := a.judge.Begin()
	scores := make([]int8, len(nodes))
	round.Prioritize(asExtenderPod(pod), places(round, nodes), scores)
	points := make([]int64, len(nodes))
	for k, score := range scores {
		points[k] = int64(score)
	}
	return points
}

func places(round extender.Round, nodes []string) []cluster.NodeIndex {
	indices := make([]cluster.NodeIndex, len(nodes))
	for k, name := range nodes {
		indices[k] = round.Node([]byte(name))
	}
	return indices
}

func asExtenderPod(pod *v1.Pod) *extender.Pod {
	record := informed.Pod(pod)
	asked := &extender.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), TemplateHash: record.TemplateHash,
		Created: pod.CreationTimestamp.UTC().Format(time.RFC3339), SchedulerName: pod.Spec.SchedulerName,
		CPUMilli: record.Requests[cluster.CPU], MemoryBytes: record.Requests[cluster.Memory],
		LimitCPUMilli: record.Limits[cluster.CPU], LimitMemoryBytes: record.Limits[cluster.Memory],
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		asked.OwnerUID, asked.OwnerKind, asked.OwnerName = string(owner.UID), owner.Kind, owner.Name
	}
	return asked
}
