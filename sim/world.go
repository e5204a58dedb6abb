package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// watcher is told of pods as a watch of the API server tells of them.
type watcher interface {
	SetPod(pod *v1.Pod)
	DeletePod(namespace, name string)
}

// world is the cluster of one run.
type world struct {
	fleet     *Fleet
	nodes     []*v1.Node
	index     map[string]int
	scheduler *kubescheduler.Scheduler
	watcher   watcher // may be nil
	gap       time.Duration
	replicas  []replica
	byUID     map[types.UID]int
	names     map[string]int
	// assigned holds the pods of each node, in no order that means anything but always the same.
	assigned [][]*v1.Pod
	usage    *meter
	// siblings counts the replicas of each owner.
	siblings []int
	start    time.Time
	made     int // pods so far
}

// replica is a place and the pod that fills it.
type replica struct {
	*Replica
	pod  *v1.Pod
	node int // -1 without one
	// place is where the pod stands among those of its node.
	place int
	// demand is of this step; from is when in the step the pod begins to use it.
	demand cluster.Amounts
	from   time.Duration
	// last is what it demanded in the step before.
	last cluster.Amounts
	// born is when the pod was made.
	born time.Time
}

const namespace = "fleet"

// beginning is when every run begins: a Monday.
var beginning = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func newWorld(ctx context.Context, fleet *Fleet, config kubescheduler.Config, gap time.Duration) (*world, error) {
	w := &world{
		fleet: fleet, index: map[string]int{}, gap: gap, byUID: map[types.UID]int{}, names: map[string]int{},
		replicas: make([]replica, len(fleet.Replicas)), assigned: make([][]*v1.Pod, fleet.Nodes),
		start: beginning, usage: newMeter(fleet),
	}
	for i := range fleet.Nodes {
		node := newNode(i, fleet.Capacity)
		w.nodes, w.index[node.Name] = append(w.nodes, node), i
	}
	scheduler, err := kubescheduler.New(ctx, config, w.nodes)
	if err != nil {
		return nil, err
	}
	w.scheduler = scheduler
	w.siblings = make([]int, fleet.Owners)
	for i := range w.replicas {
		w.replicas[i] = replica{Replica: &fleet.Replicas[i], node: -1}
		w.siblings[fleet.Replicas[i].Owner]++
	}
	return w, nil
}

func newNode(i int, capacity cluster.Amounts) *v1.Node {
	list := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(capacity[cluster.CPU], resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(capacity[cluster.Memory], resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(1000, resource.DecimalSI),
	}
	name := fmt.Sprintf("node-%05d", i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{
			Capacity: list, Allocatable: list,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// newPod makes the next pod of a replica, without a node.
func (w *world) newPod(i int, at time.Time) *v1.Pod {
	r := &w.replicas[i]
	w.made++
	owner := "set-" + strconv.Itoa(r.Owner)
	uid := types.UID("pod-" + strconv.Itoa(w.made))
	r.born = at
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%06d", owner, w.made), UID: uid, ResourceVersion: strconv.Itoa(w.made),
			CreationTimestamp: metav1.NewTime(at),
			Labels:            map[string]string{"app": owner, "pod-template-hash": "1"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true),
			}},
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(r.Requests[cluster.CPU], resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(r.Requests[cluster.Memory], resource.BinarySI),
			}}}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

// populate places every replica's first pod, without anybody watching.
func (w *world) populate() error {
	for _, i := range w.fleet.order() {
		pod := w.newPod(i, w.start.Add(-24*time.Hour))
		node, err := w.scheduler.Place(pod)
		if err != nil {
			return fmt.Errorf("placing pod %d of %d at first: %w", w.made, len(w.replicas), err)
		}
		if err := w.bind(i, pod, node, w.start.Add(-24*time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

// adopt takes the places of another world's pods over.
func (w *world) adopt(places []string) error {
	for i, node := range places {
		if err := w.bind(i, w.newPod(i, w.start.Add(-24*time.Hour)), node, w.start.Add(-24*time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) places() []string {
	places := make([]string, len(w.replicas))
	for i := range w.replicas {
		places[i] = w.nodes[w.replicas[i].node].Name
	}
	return places
}

// bind gives a replica's pod its node.
func (w *world) bind(i int, pod *v1.Pod, name string, at time.Time) error {
	r := &w.replicas[i]
	bound := pod.DeepCopy()
	bound.Spec.NodeName = name
	bound.ResourceVersion += ".1"
	started := metav1.NewTime(at)
	bound.Status = v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &started, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
	}
	if err := w.scheduler.Add(bound); err != nil {
		return err
	}
	r.pod, r.node = bound, w.index[name]
	r.place = len(w.assigned[r.node])
	w.assigned[r.node] = append(w.assigned[r.node], bound)
	w.byUID[bound.UID], w.names[bound.Name] = i, i
	if w.watcher != nil {
		w.watcher.SetPod(bound)
	}
	return nil
}

// errGone says that a pod is not there any more.
var errGone = errors.New("the pod is gone")

// evict ends a pod at an offset of the step and has its replacement placed. It returns the node of the replacement, empty
// where none fits.
func (w *world) evict(uid types.UID, now time.Time, offset time.Duration) (node string, err error) {
	i, ok := w.byUID[uid]
	if !ok {
		return "", errGone
	}
	r := &w.replicas[i]
	w.usage.leaves(r, offset)
	old := r.pod
	if err := w.detach(i); err != nil {
		return "", err
	}
	if w.watcher != nil {
		leaving := old.DeepCopy()
		leaving.DeletionTimestamp = new(metav1.NewTime(now))
		w.watcher.SetPod(leaving)
		w.watcher.DeletePod(old.Namespace, old.Name)
	}
	return w.replace(i, now, offset)
}

// detach takes a replica's pod off its node.
func (w *world) detach(i int) error {
	r := &w.replicas[i]
	if err := w.scheduler.Remove(r.pod); err != nil {
		return err
	}
	pods := w.assigned[r.node]
	last := pods[len(pods)-1]
	pods[r.place] = last
	w.replicas[w.byUID[last.UID]].place = r.place
	w.assigned[r.node] = pods[:len(pods)-1]
	delete(w.byUID, r.pod.UID)
	delete(w.names, r.pod.Name)
	r.pod, r.node = nil, -1
	return nil
}

// replace makes a new pod for a replica that has none and has it placed. Where it fits nowhere the replica waits.
func (w *world) replace(i int, now time.Time, offset time.Duration) (string, error) {
	pod := w.newPod(i, now)
	if w.watcher != nil {
		w.watcher.SetPod(pod)
	}
	node, err := w.scheduler.Place(pod)
	if errors.Is(err, kubescheduler.ErrUnschedulable) {
		w.made-- // nobody has seen it bound; it is made anew
		return "", nil
	}
	if err != nil {
		return "", err
	}
	w.replicas[i].from = offset + w.gap
	return node, w.bind(i, pod, node, now)
}

// advance begins a step.
func (w *world) advance(step int) {
	for i := range w.replicas {
		r := &w.replicas[i]
		r.demand, r.last, r.from = r.Replica.Demand(step), r.demand, max(0, r.from-Step)
	}
}

// pending tries to place the pods that fit nowhere before.
func (w *world) pending(now time.Time) error {
	for i := range w.replicas {
		if w.replicas[i].node < 0 {
			if _, err := w.replace(i, now, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// pods lists the bound pods.
func (w *world) pods() []*v1.Pod {
	pods := make([]*v1.Pod, 0, len(w.replicas))
	for i := range w.replicas {
		if w.replicas[i].pod != nil {
			pods = append(pods, w.replicas[i].pod)
		}
	}
	return pods
}

// byName finds a bound pod's place by its name.
func (w *world) byName(name string) (int, bool) {
	i, ok := w.names[name]
	return i, ok
}
