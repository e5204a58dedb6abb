package strategies

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/helper"

	"github.com/evenkeel/evenkeel/cluster"
)

// Disruption is what moving a pod costs. It orders pods of equal priority.
type Disruption struct {
	// Quarters is the cost in quarters of the cost of a plain pod, which is one of many
	// pods of a Deployment, without volumes. 0 counts as a plain pod.
	Quarters int
	// Order decides between pods of equal cost: the lower one is moved first.
	Order int64
	// Again reports whether the pod was moved to its node within the last day.
	Again bool
}

// PlainQuarters is the cost of a plain pod, in quarters.
const PlainQuarters = 4

// Cost returns Quarters, multiplied by costOfAgain for a pod that was moved within the
// last day. The factor never raises the cost above mostForHeat.
func (d Disruption) Cost() int {
	quarters := cmp.Or(d.Quarters, PlainQuarters)
	if d.Again {
		quarters = max(quarters, min(costOfAgain*quarters, mostForHeat))
	}
	return quarters
}

// InPlainPods returns the cost as a number of plain pods.
func (d Disruption) InPlainPods() float64 { return float64(d.Cost()) / PlainQuarters }

// InWords returns the cost, with the reason if the pod was moved recently.
func (d Disruption) InWords() string {
	cost := fmt.Sprintf("%g", d.InPlainPods())
	if d.Again {
		cost += ", because it was moved within a day"
	}
	return cost
}

// Compare is negative if d disrupts less than the other.
func (d Disruption) Compare(other Disruption) int {
	return cmp.Or(cmp.Compare(d.Cost(), other.Cost()), cmp.Compare(d.Order, other.Order))
}

// Alike reports whether d disrupts as much as the other if the numbers of their owners'
// pods are ignored.
func (d Disruption) Alike(other Disruption) bool {
	return d.Cost() == other.Cost() && d.Order>>ownersBits == other.Order>>ownersBits
}

// ownersBits is the number of lowest bits of an Order that depend on the number of pods
// of the owner.
const ownersBits = 24

// PreferNoEviction is upstream's annotation for pods that should be moved last.
const PreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"

// DisruptionOf returns what moving a pod costs, given the number of replicas of its
// owner; 0 means unknown. Pods of equal cost are ordered by these criteria: no
// PreferNoEviction first, then the lower deletion cost, then the lower quality of
// service, then the owner with more pods.
func DisruptionOf(pod *v1.Pod, replicas int, now time.Time) Disruption {
	stated, _ := helper.GetDeletionCostFromPodAnnotations(pod.Annotations) // an invalid annotation counts as 0; the pod's controller ignores it, too
	order := int64(stated) << 26
	if _, asks := pod.Annotations[PreferNoEviction]; asks {
		order += 1 << 61
	}
	switch pod.Status.QOSClass {
	case v1.PodQOSGuaranteed:
		order += 2 << ownersBits
	case v1.PodQOSBurstable:
		order += 1 << ownersBits
	case v1.PodQOSBestEffort:
	}
	return Disruption{
		Quarters: PlainQuarters + surcharge(pod, replicas, stated, now),
		Order:    order + 1000/int64(max(replicas, 1)),
	}
}

// Surcharges on the cost of a plain pod, in quarters of that cost.
const (
	costOfIdentity   = 4 // no other pod takes over the work of a StatefulSet's pod
	costOfVolume     = 4 // the volume is detached here and attached there
	costOfOnly       = 4 // the only pod of its owner; with two pods, each costs half of this, with four a quarter
	costOfStated     = 2 // its owner would rather delete other pods
	costOfAsking     = 8 // PreferNoEviction
	costOfSlowStart  = 4 // at most, for a pod that took minutes to become ready
	costOfLongLiving = 1 // its caches are warm
	// costOfUnready applies to a pod that is starting or recovering: it would have to
	// start over, and how far it has come is unknown. It exceeds what a ready pod of the
	// same owner can cost, so that an unready pod is never preferred. A pod that only
	// crashes costs the same, because its replacement would crash, too.
	costOfUnready = costOfSlowStart + costOfLongLiving + 1
)

// costOfAgain is the factor on the cost of a pod that was moved within the last day. Its
// node was chosen with the best forecast available, and it is rarely necessary to move
// the same pod each time.
const costOfAgain = 4

// mostForHeat is the highest cost at which a pod is still worth moving off a node that
// stays hot, however far the node is above its line. A recent move must not keep such a
// node hot for the rest of the day.
const mostForHeat = 6 * PlainQuarters

const (
	longLived = 24 * time.Hour
	// slowestStart is the longest time that a pod is assumed to take to become ready. A
	// pod that became ready later had been ready before, and recovered if one of its
	// containers was restarted meanwhile.
	slowestStart = 30 * time.Minute
)

// surcharge returns what a pod costs in addition to a plain one.
func surcharge(pod *v1.Pod, replicas int, stated int32, now time.Time) (quarters int) {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == "StatefulSet" {
		quarters += costOfIdentity
	}
	if slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		quarters += costOfVolume
	}
	if replicas > 0 {
		quarters += costOfOnly / replicas
	}
	if stated > 0 {
		quarters += costOfStated
	}
	if _, asks := pod.Annotations[PreferNoEviction]; asks {
		quarters += costOfAsking
	}
	_, ready := podutil.GetPodCondition(&pod.Status, v1.PodReady)
	if ready == nil || ready.Status != v1.ConditionTrue { // the kubelet sets the condition when it first sees the pod
		return quarters + costOfUnready
	}
	if pod.Status.StartTime == nil {
		return quarters
	}
	if now.Sub(pod.Status.StartTime.Time) > longLived {
		quarters += costOfLongLiving
	}
	took := StartedIn(pod)
	if took >= cluster.SlowStart {
		quarters += min(int(took/cluster.SlowStart), costOfSlowStart)
	}
	return quarters
}

// StartedIn returns how long a ready pod took to become ready; less than
// cluster.SlowStart if that is unknown.
func StartedIn(pod *v1.Pod) time.Duration {
	_, ready := podutil.GetPodCondition(&pod.Status, v1.PodReady)
	if ready == nil || pod.Status.StartTime == nil {
		return 0
	}
	since := ready.LastTransitionTime.Time
	took := since.Sub(pod.Status.StartTime.Time)
	if took > slowestStart {
		took = since.Sub(restartedBefore(pod, since))
	}
	if took > slowestStart {
		return 0
	}
	return took
}

// restartedBefore returns when the last of a pod's containers was restarted before the
// pod became ready again; if none was, it returns the pod's start.
func restartedBefore(pod *v1.Pod, ready time.Time) time.Time {
	last := pod.Status.StartTime.Time
	for _, statuses := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			running := statuses[i].State.Running
			if running != nil && statuses[i].RestartCount > 0 && running.StartedAt.After(last) && !running.StartedAt.After(ready) {
				last = running.StartedAt.Time
			}
		}
	}
	return last
}
