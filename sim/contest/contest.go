// Package contest lets rivals take part in a replay. It shows them a world, evicts the
// pods that they choose, and asks them where kube-scheduler should put a pod.
package contest

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
	"github.com/evenkeel/evenkeel/sim/rivals"
)

// World is the world that a rival acts on.
type World interface {
	// Now returns the current time. Until lets time pass.
	Now() time.Time
	Until(now time.Time) error
	// Nodes returns all nodes. Nodes and pods are in random order.
	Nodes() []rivals.Node
	// Node returns a node by name. Past returns its usage in each step of a past period.
	Node(name string) rivals.Node
	Past(name string, over time.Duration) []cluster.Amounts
	Owner(owner int) rivals.Owner
	// Evict evicts a pod and reports whether it was evicted. If node is not empty, the
	// replacement lands there.
	Evict(pod *rivals.Pod, node string) (bool, error)
	// Reserve finds a node for a replacement of the pod. It returns "" if there is none or
	// the pod no longer exists.
	Reserve(pod *rivals.Pod) (node string, err error)
	// Taint sets the number of soft taints on a node.
	Taint(node string, taints int) error
}

// Name is the name of a rival.
type Name string

// The rivals. Trimaran does not evict, so its variants use upstream's plugin for that.
const (
	OpenShift   Name = "openshift"
	Koordinator Name = "koordinator"
	Trimaran    Name = "trimaran"
	// TrimaranRisk scores nodes by risk, Trimaran by a target.
	TrimaranRisk Name = "trimaran-risk"
)

// Player plays a rival.
type Player struct {
	name        Name
	world       World
	openshift   *rivals.OpenShift
	koordinator *rivals.Koordinator
	// leaving is the node of the pod for which a place on another node is being reserved.
	leaving string
}

var _ kubescheduler.Extender = (*Player)(nil)

// New returns a player with a rival that has no state yet.
func New(name Name) *Player {
	return &Player{name: name, openshift: rivals.NewOpenShift(), koordinator: rivals.NewKoordinator()}
}

// EvictAbove replaces the usage in percent above which the rival evicts from a
// node. Only Koordinator has such a line.
func (p *Player) EvictAbove(lines cluster.Percents) { p.koordinator.High = lines }

// Join sets the player's world.
func (p *Player) Join(world World) { p.world = world }

// Schedule applies the rival's changes to kube-scheduler's configuration.
func (p *Player) Schedule(config *kubescheduler.Config) {
	switch p.name {
	case OpenShift: // it steers by tainting nodes
		return
	case Koordinator:
	case Trimaran, TrimaranRisk: // as configured by Trimaran itself
		config.Unscored = []string{names.NodeResourcesFit, names.NodeResourcesBalancedAllocation}
	}
	config.Extender, config.Weight, config.Plugin = p, 1, true
}

// PacesItself reports whether the rival has its own interval between cycles.
func (p *Player) PacesItself() bool { return p.name == Koordinator }

// Cycle lets the rival act from now until the given time.
func (p *Player) Cycle(ctx context.Context, until time.Time) error {
	switch p.name {
	case OpenShift:
		return p.balance()
	case Koordinator:
		for now := p.world.Now(); now.Before(until); now = now.Add(rivals.LookInterval) {
			if err := errors.Join(ctx.Err(), p.world.Until(now)); err != nil {
				return err
			}
			if err := p.look(now); err != nil {
				return err
			}
		}
	case Trimaran, TrimaranRisk:
	}
	return nil
}

// balance first sets the soft taints and then evicts.
func (p *Player) balance() (failed error) {
	nodes := p.world.Nodes()
	for i, taints := range rivals.Taints(rivals.Levels(rivals.Distances(nodes))) {
		if err := p.world.Taint(nodes[i].Name, taints); err != nil {
			return fmt.Errorf("setting soft taints: %w", err)
		}
	}
	p.openshift.Balance(p.world.Now(), nodes, func(pod *rivals.Pod) bool {
		evicted, err := p.world.Evict(pod, "")
		failed = errors.Join(failed, err)
		return evicted
	})
	return failed
}

// look creates new jobs and executes those that are due. Each job needs a reservation
// before it evicts its pod.
func (p *Player) look(now time.Time) error {
	p.koordinator.Look(now, p.world.Nodes(), p.world.Owner)
	for _, job := range p.koordinator.Due(now) {
		p.leaving = job.Node
		node, err := p.world.Reserve(&job.Pod)
		p.leaving = ""
		if err != nil {
			return fmt.Errorf("reserving a place: %w", err)
		}
		if node == "" {
			continue // retried until the job is too old
		}
		evicted, err := p.world.Evict(&job.Pod, node)
		if err != nil {
			return err
		}
		if evicted {
			p.koordinator.Evicted(job, p.world.Owner(job.Pod.Owner).Wanted, now)
		}
	}
	return nil
}

// Filter implements kubescheduler.Extender.
func (p *Player) Filter(pod *v1.Pod, nodes []string) []int {
	kept := make([]int, 0, len(nodes))
	for k, name := range nodes {
		if p.name != Koordinator || name != p.leaving && p.admits(pod, name) {
			kept = append(kept, k)
		}
	}
	return kept
}

// admits implements LoadAwareScheduling's filter.
func (p *Player) admits(pod *v1.Pod, name string) bool {
	node := p.world.Node(name)
	return node.Unmeasured || rivals.Admits(rivals.Expect(p.world.Now(), &node, requestsOf(pod)), node.Capacity)
}

// Prioritize implements kubescheduler.Extender.
func (p *Player) Prioritize(pod *v1.Pod, nodes []string) []int64 {
	points, requests, now := make([]int64, len(nodes)), requestsOf(pod), p.world.Now()
	for k, name := range nodes {
		node := p.world.Node(name)
		switch {
		case node.Unmeasured: // gets the lowest score
		case p.name == Koordinator:
			points[k] = rivals.LeastUsed(rivals.Expect(now, &node, requests), node.Capacity)
		case p.name == TrimaranRisk:
			points[k] = rivals.RiskBalancing(p.world.Past(name, rivals.WatcherWindow), node.Capacity, requests)
		default:
			points[k] = rivals.TargetLoad(now, &node, p.world.Past(name, rivals.WatcherWindow), requests)
		}
	}
	return points
}

// requestsOf sums up what a pod's containers request.
func requestsOf(pod *v1.Pod) (requests cluster.Amounts) {
	for i := range pod.Spec.Containers {
		requests = requests.Plus(informed.Amounts(pod.Spec.Containers[i].Resources.Requests))
	}
	return requests
}
