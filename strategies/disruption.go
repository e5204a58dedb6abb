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

// Disruption is what moving a pod costs, and orders pods of equal priority.
type Disruption struct {
	// Quarters is the cost, in quarters of that of a plain pod: one of many of a
	// Deployment, without volumes. 0 counts as a plain pod.
	Quarters int
	// Order decides between pods of equal cost: lower is moved first.
	Order int64
	// Again: a move has brought the pod to its node within a day.
	Again bool
}

// PlainQuarters is the cost of a plain pod.
const PlainQuarters = 4

// Cost returns Quarters, or costOfAgain times as much for a pod that would move again,
// but not more than mostForHeat because of that.
func (d Disruption) Cost() int {
	quarters := cmp.Or(d.Quarters, PlainQuarters)
	if d.Again {
		quarters = max(quarters, min(costOfAgain*quarters, mostForHeat))
	}
	return quarters
}

// InPlainPods returns the cost, 1 being a plain pod.
func (d Disruption) InPlainPods() float64 { return float64(d.Cost()) / PlainQuarters }

// InWords returns the cost, and why if the pod was moved lately.
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

// Alike reports whether d disrupts as much as the other, except for how many pods
// the owners have.
func (d Disruption) Alike(other Disruption) bool {
	return d.Cost() == other.Cost() && d.Order>>ownersBits == other.Order>>ownersBits
}

// ownersBits is how many of the lowest bits of an Order depend on how many pods the
// owner has.
const ownersBits = 24

// PreferNoEviction is upstream's annotation for pods that should be moved last.
const PreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"

// DisruptionOf returns what moving a pod of an owner costs; 0 replicas are not
// known. The order among pods of equal cost is: first those without
// PreferNoEviction, then those of a lower deletion cost, then by quality of
// service, then those whose owner has many others.
func DisruptionOf(pod *v1.Pod, replicas int, now time.Time) Disruption {
	stated, _ := helper.GetDeletionCostFromPodAnnotations(pod.Annotations) // 0 for one that its owner would not take either
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

// What makes a pod cost more than a plain one, in quarters of that.
const (
	costOfIdentity   = 4 // nobody else takes over what a pod of a StatefulSet does
	costOfVolume     = 4 // it is detached here and attached there
	costOfOnly       = 4 // the only pod of its owner; of two each costs half of it, of four a quarter
	costOfStated     = 2 // its owner would rather delete others
	costOfAsking     = 8 // PreferNoEviction
	costOfSlowStart  = 4 // at most, for a pod that took minutes to get ready
	costOfLongLiving = 1 // its caches are warm
	// costOfUnready is for a pod that starts or recovers: that work would begin
	// anew, and nobody knows how much of it is done. It is more than a ready pod of
	// the same owner can cost, so that none such is left for it. A pod that only
	// crashes costs the same, because its replacement would crash, too.
	costOfUnready = costOfSlowStart + costOfLongLiving + 1
)

// costOfAgain is how many times as much a pod costs that was moved within a day. Its
// node was chosen for what could be foreseen, and few pods use so much that relief has
// to come from the same one each time.
const costOfAgain = 4

// mostForHeat is the highest cost at which a pod is still worth moving off a node that
// stays hot, however far above its line. A move that was made lately must not keep such
// a node hot for the rest of the day.
const mostForHeat = 6 * PlainQuarters

const (
	longLived = 24 * time.Hour
	// slowestStart is the longest that a pod is believed to have taken to get
	// ready; one that did so later had been ready before, and recovered if one of
	// its containers was restarted meanwhile.
	slowestStart = 30 * time.Minute
)

// surcharge returns what a pod costs beyond a plain one.
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
	if ready == nil || ready.Status != v1.ConditionTrue { // the kubelet has not stated it of a pod that it has not seen
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

// StartedIn returns how long a ready pod took to get ready; less than
// cluster.SlowStart where that is not known.
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

// restartedBefore returns when the last of a pod's containers was restarted before
// the pod got ready again; the pod's start if none was.
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
