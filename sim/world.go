package sim

import (
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/fairshare"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// watcher receives pods as the API server's watch would report them.
type watcher interface {
	SetPod(pod *v1.Pod)
	DeletePod(pod *v1.Pod)
	// Nominates returns the node to nominate for a new pod; empty for none.
	Nominates(pod *v1.Pod) string
	// ScaledDown reports that an owner wants one pod fewer.
	ScaledDown(ownerUID string)
	// Passed sets the current time before a rollout continues.
	Passed(now time.Time)
}

// world is the cluster of one run.
type world struct {
	fleet     *Fleet
	nodes     []*v1.Node
	index     map[string]int
	scheduler *kubescheduler.Scheduler
	watcher   watcher // may be nil
	gap       time.Duration
	// blind defines what Evenkeel's source misses.
	blind blindness
	// maxUnavailable is the maxUnavailable of an owner's PodDisruptionBudget,
	// in percent.
	maxUnavailable int
	replicas       []replica
	// byUID and names map bound pods to their replicas.
	byUID map[types.UID]int
	names map[string]int
	// assigned holds the pods of each node, in an arbitrary but reproducible
	// order.
	assigned [][]*v1.Pod
	usage    *meter
	owners   []ownerState
	// deploys holds the deploys that have not begun, rollouts those in progress. deployed
	// counts the pods that they have replaced.
	deploys  []Deploy
	rollouts []*rollout
	deployed int
	// began is when step began. now is the current time within it.
	step              int
	start, began, now time.Time
	made              int // pods created so far
	// reserved is the node reserved for the next replacement.
	reserved string
	// containers holds container lists by requests. Pods share them, so they must not be
	// changed.
	containers map[cluster.Amounts][]v1.Container
}

// replica is a slot and the pod that fills it.
type replica struct {
	*Replica
	pod  *v1.Pod
	node int // -1 if it is on no node
	// place is the pod's index among the pods of its node.
	place int
	// demand is the demand in this step. from is when the pod begins to use it. since is the
	// time up to which its usage has been added up. Both are relative to the step.
	demand      cluster.Amounts
	from, since time.Duration
	// measured is the pod's measured usage in the last finished step.
	measured cluster.Amounts
	// waiting is a pod that does not fit on any node.
	waiting *v1.Pod
	// born is when the pod was bound, away how long after that it begins to run, and ready
	// when it becomes ready.
	born, ready time.Time
	away        time.Duration
}

const namespace = "fleet"

// beginning is when every run begins; it is a Monday.
var beginning = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// byPlace orders replicas by their nodes. Pods that are created together are together in
// memory, and with many pods a step spends most of its time accessing them node by node.
func byPlace(places []string) []int {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(places[a], places[b]) })
	return order
}

func (w *world) places() []string {
	places := make([]string, len(w.replicas))
	for i := range w.replicas {
		if node := w.replicas[i].node; node >= 0 {
			places[i] = w.nodes[node].Name
		}
	}
	return places
}

// pods lists the bound pods, node by node.
func (w *world) pods() []*v1.Pod { return slices.Concat(w.assigned...) }

// stage shows a world to plugins of the descheduler framework.
type stage struct{ *world }

// PodsOn implements deschedulerapi.World.
func (w stage) PodsOn(node string) []*v1.Pod { return w.assigned[w.index[node]] }

// Evictable implements deschedulerapi.World. Fixed pods must not be evicted.
func (w stage) Evictable(pod *v1.Pod) bool {
	i, ok := w.names[pod.Name]
	return ok && !w.replicas[i].Fixed
}

// noBudget is the percentage of an owner's pods at which a PodDisruptionBudget would
// forbid nothing, so that none is created.
const noBudget = 100

// errGone means that a pod no longer exists.
var errGone = errors.New("the pod is gone")

// meter adds up the usage of nodes and pods.
type meter struct {
	fleet *Fleet
	// now is the demand of each node's pods in the step, weighted by the time that they
	// spend on the node.
	now []cluster.Percents
	// byShare reports whether pods on a full node are measured by their shares of its CPU.
	// gone holds, by node, the demand of pods that left during the step.
	byShare bool
	gone    map[int][]fairshare.Claim
	// lost is what replicas without a running pod would have used.
	lost cluster.Percents
	// past holds the measured usage of each node, one row per step, in the order
	// of the nodes, capped at the node's capacity.
	past [][]cluster.Amounts
	// demands holds the demand on each node, in percent of its capacity.
	demands [][]cluster.Percents
}

func ownerOf(pod *v1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// rollout is a Deploy in progress.
type rollout struct {
	// due is when the next pods are to be replaced.
	due   time.Time
	owner int
	// template is the number of the new version.
	template int
	// left lists the replicas whose pods still have the old version.
	left []int
}

// ownerState is the state of an owner.
type ownerState struct {
	replicas []int
	// template is the number of versions so far. rolled is when the last rollout began;
	// rolling reports whether it is still in progress.
	template int
	rolled   time.Time
	rolling  bool
	// plain is the newest version of plain pods, plainAs its number.
	plain   *plain
	plainAs int
}

// wanted returns how many pods an owner wants now.
func (w *world) wanted(owner int) (n int) {
	for _, i := range w.owners[owner].replicas {
		if w.replicas[i].Lives(w.step) {
			n++
		}
	}
	return n
}

// reach advances the time; it never goes back.
func (w *world) reach(now time.Time) {
	if now.After(w.now) {
		w.now = now
	}
}

func (w *world) notify(pod *v1.Pod) {
	if w.watcher != nil {
		w.watcher.SetPod(pod)
	}
}

func (w *world) forget(pod *v1.Pod) {
	if w.watcher != nil {
		w.watcher.DeletePod(pod)
	}
}

// scaledDown notifies the watcher that a pod's owner wants one pod fewer.
func (w *world) scaledDown(pod *v1.Pod) {
	if w.watcher != nil {
		w.watcher.ScaledDown(ownerOf(pod))
	}
}

const stepsPerHour = int(time.Hour / Step)
