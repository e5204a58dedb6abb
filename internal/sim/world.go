package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/sim/kubescheduler"
)

// watcher is told of pods as a watch of the API server tells of them.
type watcher interface {
	SetPod(pod *v1.Pod)
	DeletePod(pod *v1.Pod)
	// ScaledDown tells of an owner that wants fewer pods.
	ScaledDown(ownerUID string, by int)
}

// world is the cluster of one run.
type world struct {
	fleet     *Fleet
	nodes     []*v1.Node
	index     map[string]int
	scheduler *kubescheduler.Scheduler
	watcher   watcher             // may be nil
	told      func(now time.Time) // may be nil: told what time it is before a rollout goes on
	gap       time.Duration
	// maxUnavailable is the share of an owner's pods, in percent, that its PodDisruptionBudget lets be away.
	maxUnavailable int
	replicas       []replica
	byUID          map[types.UID]int
	names          map[string]int
	// assigned holds the pods of each node, in no order that means anything but always the same.
	assigned [][]*v1.Pod
	usage    *meter
	owners   []owning
	// deploys are still to come, rollouts on their way; deployed counts the pods that they replaced.
	deploys  []Deploy
	rollouts []*rollout
	deployed int
	// step began at began; now is how far it is.
	step              int
	start, began, now time.Time
	made              int // pods so far
	// containers are shared by the pods that request the same: nobody changes them.
	containers map[cluster.Amounts][]v1.Container
}

// replica is a place and the pod that fills it.
type replica struct {
	*Replica
	pod  *v1.Pod
	node int // -1 without one
	// place is where the pod stands among those of its node.
	place int
	// demand is of this step; from is when in the step the pod begins to use it, since when its usage is not reckoned up yet.
	demand      cluster.Amounts
	from, since time.Duration
	// last is what it demanded in the step before.
	last cluster.Amounts
	// waiting is a pod that fits on no node.
	waiting *v1.Pod
	// born is when the pod was bound, away how long after it begins to run, ready when that is.
	born, ready time.Time
	away        time.Duration
}

const namespace = "fleet"

// beginning is when every run begins: a Monday.
var beginning = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func newWorld(ctx context.Context, fleet *Fleet, config kubescheduler.Config, gap time.Duration) (*world, error) {
	w := &world{
		fleet: fleet, index: map[string]int{}, gap: gap, byUID: map[types.UID]int{}, names: map[string]int{}, containers: map[cluster.Amounts][]v1.Container{},
		replicas: make([]replica, len(fleet.Replicas)), assigned: make([][]*v1.Pod, fleet.Nodes),
		start: beginning, began: beginning, now: beginning, usage: newMeter(fleet), owners: make([]owning, fleet.Owners),
		maxUnavailable: noBudget,
	}
	for i := range fleet.Nodes {
		node := fleet.node(i)
		w.nodes, w.index[node.Name] = append(w.nodes, node), i
	}
	scheduler, err := kubescheduler.New(ctx, config, w.nodes)
	if err != nil {
		return nil, err
	}
	w.scheduler = scheduler
	for i := range w.replicas {
		w.replicas[i] = replica{Replica: &fleet.Replicas[i], node: -1}
		owner := &w.owners[fleet.Replicas[i].Owner]
		owner.replicas = append(owner.replicas, i)
	}
	return w, nil
}

// populate places the first pods of the replicas that are there from the beginning, without anybody watching: where the fleet
// says it, and the others as kube-scheduler has it.
func (w *world) populate() error {
	if err := w.settle(); err != nil {
		return err
	}
	for _, i := range w.fleet.order() {
		if w.replicas[i].node >= 0 || w.replicas[i].From > 0 {
			continue
		}
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
	began := w.start.Add(-24 * time.Hour)
	for _, i := range byPlace(places) {
		if places[i] == "" {
			continue
		}
		w.made = i // so that the order does not show in the names
		if err := w.bind(i, w.newPod(i, began), places[i], began); err != nil {
			return err
		}
	}
	w.made = len(places)
	return nil
}

// byPlace orders replicas by their nodes. Pods that are made together lie together in memory, and with many of them most of
// the time that a step takes is spent on reaching them, node by node.
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

// bind gives a replica's pod its node.
func (w *world) bind(i int, pod *v1.Pod, name string, at time.Time) error {
	bound, err := w.land(pod, name, at)
	if err != nil {
		return err
	}
	w.seat(i, bound, at)
	return nil
}

// land puts a pod on a node, and everybody is told.
func (w *world) land(pod *v1.Pod, name string, at time.Time) (*v1.Pod, error) {
	bound := new(*pod) // nobody changes what they share
	bound.Spec.NodeName = name
	bound.ResourceVersion += ".1"
	started := metav1.NewTime(at)
	bound.Status = v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &started, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
	}
	if err := w.scheduler.Add(bound); err != nil {
		return nil, err
	}
	w.tell(bound)
	return bound, nil
}

// seat makes a pod that is on a node the one that fills a replica.
func (w *world) seat(i int, bound *v1.Pod, at time.Time) {
	r := &w.replicas[i]
	r.pod, r.node, r.waiting, r.born = bound, w.index[bound.Spec.NodeName], nil, at
	r.place = len(w.assigned[r.node])
	w.assigned[r.node] = append(w.assigned[r.node], bound)
	w.byUID[bound.UID], w.names[bound.Name] = i, i
}

// runs says from when on a replica's pod, bound now, is there for its work.
func (w *world) runs(i int, now time.Time, away time.Duration) {
	r := &w.replicas[i]
	r.away, r.ready, r.from = away, now.Add(away), now.Sub(w.began)+away
}

// pods lists the bound pods, node by node.
func (w *world) pods() []*v1.Pod { return slices.Concat(w.assigned...) }

// byName finds a bound pod's place by its name.
func (w *world) byName(name string) (int, bool) {
	i, ok := w.names[name]
	return i, ok
}
