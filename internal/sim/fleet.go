package sim

import (
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/cluster"
)

// Fleet is what a run is about: nodes, and replicas with a series each.
type Fleet struct {
	Name  string
	Nodes int
	// Capacity is what every node has; of nodes of several sizes the mean.
	Capacity cluster.Amounts
	Replicas []Replica
	// machines are the nodes, in the order of their names.
	machines []machine
	// Owners is how many ReplicaSets there are.
	Owners int
	// Deploys are in the order of nothing; At is a multiple of Step, and when
	// in the step goes by lot.
	Deploys []Deploy
	// Steps is how long the trace is.
	Steps int
	// Memory says that memory is replayed; else every pod uses a constant,
	// small amount of it.
	Memory bool
	seed   uint64
}

// Replica is one place of a ReplicaSet, which one pod after another fills.
type Replica struct {
	Owner    int
	Requests cluster.Amounts
	// Home is the node on which the replica's first pod is found when the run
	// begins; empty has kube-scheduler place it. It counts for replicas that
	// are there from the first step on.
	Home string
	// Fixed says that nobody may evict the pod.
	Fixed bool
	// From is the step in which the replica's first pod is created, and Until
	// the one in which its last pod is deleted and nothing follows; with 0 it
	// stays to the end.
	From, Until int
	// template is what the replica's pods are made by; nil for a plain one.
	template *v1.Pod
	// allocation is what 100 % of the series is.
	allocation  cluster.Percents
	cpu, memory []float32
	// shift is by how many steps the series is read later.
	shift int
}

// Lives reports whether the replica is there in a step.
func (r *Replica) Lives(step int) bool { return step >= r.From && (r.Until == 0 || step < r.Until) }

// meanPods is how many replicas there are on average over the first steps.
func (f *Fleet) meanPods(steps int) float64 {
	lived := 0
	for i := range f.Replicas {
		r := &f.Replicas[i]
		until := steps
		if r.Until > 0 {
			until = min(r.Until, steps)
		}
		lived += max(0, until-r.From)
	}
	return float64(max(1, lived)) / float64(max(1, steps))
}

// Demand is what a replica would use in a step.
func (r *Replica) Demand(step int) cluster.Amounts {
	if !r.Lives(step) {
		return cluster.Amounts{}
	}
	at := func(series []float32, allocation float64) int64 {
		if len(series) == 0 {
			return int64(allocation)
		}
		return int64(float64(series[(step+r.shift)%len(series)]) / 100 * allocation)
	}
	return cluster.Amounts{at(r.cpu, r.allocation[cluster.CPU]), at(r.memory, r.allocation[cluster.Memory])}
}

const (
	// podCores is what a series is taken to have of CPU, podBytes of memory:
	// figures are in percent, so any will do.
	podCores = 1000
	podBytes = 4 << 30
	// stillBytes is what a pod uses of memory where none is replayed.
	stillBytes = 64 << 20
)

// order is in which order the replicas are placed at first.
func (f *Fleet) order() []int { return rand.New(rand.NewPCG(f.seed, 2)).Perm(len(f.Replicas)) }

// Deploy says that an owner gets another version: all its pods are made anew, a
// few at a time, as a Deployment does it.
type Deploy struct {
	Owner int
	// At is how long after the beginning.
	At time.Duration
}

// machine is one node of a fleet.
type machine struct {
	node *v1.Node
	// capacity is what its percentages are of: what pods may have. most is what
	// can be measured at most.
	capacity, most cluster.Amounts
	// system is what it uses beside its pods, a value per step.
	system []cluster.Amounts
}

// system is what a node uses in a step beside its pods.
func (f *Fleet) system(i, step int) cluster.Amounts {
	if used := f.machines[i].system; len(used) > 0 {
		return used[step%len(used)]
	}
	return cluster.Amounts{}
}

// weight is how much a node has to the mean of all; 1 where all are alike.
func (f *Fleet) weight(i int) (weight cluster.Percents) {
	capacity := f.machines[i].capacity
	for k := range weight {
		weight[k] = float64(capacity[k]) / float64(f.Capacity[k])
	}
	return weight
}

func listOf(amounts cluster.Amounts) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(amounts[cluster.CPU], resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(amounts[cluster.Memory], resource.BinarySI),
	}
}
