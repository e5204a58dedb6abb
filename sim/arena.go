package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/contest"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
	"github.com/evenkeel/evenkeel/sim/rivals"
)

// arena shows a world to rivals.
type arena struct {
	*world

	tally  *tally
	random *rand.Rand
}

var _ contest.World = (*arena)(nil)

func newArena(seed uint64, w *world, t *tally) *arena {
	return &arena{world: w, tally: t, random: rand.New(rand.NewPCG(seed, 5))} // intentionally reproducible
}

// Now implements contest.World.
func (a *arena) Now() time.Time { return a.now }

// Until implements contest.World.
func (a *arena) Until(now time.Time) error { return a.until(now) }

// Nodes implements contest.World.
func (a *arena) Nodes() []rivals.Node {
	nodes := make([]rivals.Node, 0, len(a.nodes))
	for _, i := range a.random.Perm(len(a.nodes)) {
		node := a.Node(a.nodes[i].Name)
		a.random.Shuffle(len(node.Pods), func(j, k int) { node.Pods[j], node.Pods[k] = node.Pods[k], node.Pods[j] })
		nodes = append(nodes, node)
	}
	return nodes
}

// Node implements contest.World. It returns the usage of the last step.
func (a *arena) Node(name string) rivals.Node {
	i, last := a.index[name], len(a.usage.past)-1
	node := rivals.Node{Name: name, Capacity: a.fleet.machines[i].capacity, Unmeasured: last < 0}
	if !node.Unmeasured {
		node.Used, node.System = a.usage.past[last][i], a.fleet.system(i, last)
		for r, percent := range a.usage.demands[last][i] {
			node.Demand[r] = int64(percent / 100 * float64(node.Capacity[r]))
		}
	}
	node.Pods = make([]rivals.Pod, 0, len(a.assigned[i]))
	for _, pod := range a.assigned[i] {
		k := a.byUID[pod.UID]
		r := &a.replicas[k]
		node.Pods = append(node.Pods, rivals.Pod{
			ID: k, Owner: r.Owner, Used: r.measured, Requests: r.Requests, Bound: r.born, Ready: r.ready, Fixed: r.Fixed,
		})
	}
	return node
}

// Past implements contest.World.
func (a *arena) Past(name string, over time.Duration) (used []cluster.Amounts) {
	past, i := a.usage.past, a.index[name]
	for _, row := range past[max(0, len(past)-int(over/Step)):] {
		used = append(used, row[i])
	}
	return used
}

// Owner implements contest.World.
func (a *arena) Owner(owner int) rivals.Owner {
	return rivals.Owner{Wanted: a.wanted(owner), Missing: a.missing(owner, a.now)}
}

// Evict implements contest.World.
func (a *arena) Evict(pod *rivals.Pod, node string) (bool, error) {
	r := &a.replicas[pod.ID]
	if r.node < 0 || !r.born.Equal(pod.Bound) {
		return false, nil
	}
	a.reserved = node
	defer func() { a.reserved = "" }()
	err := evictFor(a.world, a.tally, r.pod.UID, a.now)
	if apierrors.IsTooManyRequests(err) {
		return false, nil
	}
	return err == nil, err
}

// Reserve implements contest.World.
func (a *arena) Reserve(pod *rivals.Pod) (string, error) {
	r := &a.replicas[pod.ID]
	if r.node < 0 || !r.born.Equal(pod.Bound) {
		return "", nil
	}
	like := new(*r.pod)
	like.Spec.NodeName = ""
	node, err := a.scheduler.Place(like)
	if errors.Is(err, kubescheduler.ErrUnschedulable) {
		return "", nil
	}
	return node, err
}

// Taint implements contest.World.
func (a *arena) Taint(node string, taints int) error {
	soft := []v1.Taint{
		{Key: "nodeutilization.descheduler.openshift.io/appropriate", Value: "true", Effect: v1.TaintEffectPreferNoSchedule},
		{Key: "nodeutilization.descheduler.openshift.io/overutilized", Value: "true", Effect: v1.TaintEffectPreferNoSchedule},
	}
	return a.scheduler.Taint(node, soft[:taints])
}
