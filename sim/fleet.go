package sim

import (
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/cluster"
)

// Fleet holds the nodes of a run and its replicas, each with a usage series.
type Fleet struct {
	Name  string
	Nodes int
	// Capacity is the capacity of every node, or the mean if sizes differ.
	Capacity cluster.Amounts
	Replicas []Replica
	// machines holds the nodes, sorted by name.
	machines []machine
	// Owners is the number of ReplicaSets.
	Owners int
	// Deploys is in no particular order. At is a multiple of Step; the time within the step
	// is random.
	Deploys []Deploy
	// Steps is the length of the trace.
	Steps int
	// Memory reports whether memory is replayed. Otherwise, every pod uses the same small
	// amount.
	Memory bool
	seed   uint64
	// age is the age of the first pods when a run begins.
	age time.Duration
}

// Replica is one slot of a ReplicaSet, which one pod after another fills.
type Replica struct {
	Owner    int
	Requests cluster.Amounts
	// Home is the node of the replica's first pod when the run begins; if empty,
	// kube-scheduler places it. It applies only to replicas that exist from the first step
	// on.
	Home string
	// Fixed pods must not be evicted.
	Fixed bool
	// From is the step in which the replica's first pod is created. Until is the step in
	// which its last pod is deleted without a successor; 0 means that the replica exists
	// until the end.
	From, Until int
	// template is the template of the replica's pods; nil for a plain one.
	template *v1.Pod
	// allocation is the amount that corresponds to 100% in the series.
	allocation  cluster.Percents
	cpu, memory []float32
	// shift is how many steps ahead the series is read.
	shift int
}

// Lives reports whether the replica exists in a step.
func (r *Replica) Lives(step int) bool { return step >= r.From && (r.Until == 0 || step < r.Until) }

// meanPods returns the mean number of replicas over the first steps.
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

// Demand returns what the replica would use in a step.
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
	// podCores and podBytes are the assumed allocation of a series, in milli-cores and
	// bytes. Its values are percentages, so any allocation works.
	podCores = 1000
	podBytes = 4 << 30
	// stillBytes is the memory usage of a pod if memory is not replayed.
	stillBytes = 64 << 20
)

// order returns the order in which the replicas are first placed.
func (f *Fleet) order() []int { return rand.New(rand.NewPCG(f.seed, 2)).Perm(len(f.Replicas)) }

// Deploy is the rollout of a new version of an owner. It replaces all pods, a few at a
// time, as a Deployment does.
type Deploy struct {
	Owner int
	// At is the time since the beginning of the run.
	At time.Duration
}

// machine is one node of a fleet.
type machine struct {
	node *v1.Node
	// capacity is the allocatable amount, to which percentages refer. maxUsage is the
	// highest usage that can be measured.
	capacity, maxUsage cluster.Amounts
	// hugePages is the part of maxUsage that is reserved for huge pages.
	hugePages int64
	// system is the usage outside of pods, one value per step.
	system []cluster.Amounts
}

// system returns a node's usage outside pods in a step.
func (f *Fleet) system(i, step int) cluster.Amounts {
	if used := f.machines[i].system; len(used) > 0 {
		return used[step%len(used)]
	}
	return cluster.Amounts{}
}

// beyondReserve returns the part of a node's usage outside pods that counts against its
// capacity, which excludes the reserve.
func (f *Fleet) beyondReserve(i, step int) cluster.Amounts {
	m, used := &f.machines[i], f.system(i, step)
	node := cluster.Node{Capacity: m.maxUsage, HugePages: m.hugePages}
	reserve := node.Counted(used).Minus(m.capacity).AtLeastZero()
	return used.Minus(reserve).AtLeastZero()
}

// weight returns a node's capacity relative to the mean; 1 if all are alike.
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
