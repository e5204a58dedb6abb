package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/sim/trace"
)

// Shape says how a fleet is made of a trace.
type Shape struct {
	// PodsPerNode is how many pods there are to a node; the number of nodes follows from it, unless Nodes says it.
	PodsPerNode float64
	Nodes       int
	// MeanCPUPercent and MeanMemoryPercent are how much of all nodes the fleet uses on average: nodes are sized for it.
	MeanCPUPercent, MeanMemoryPercent float64
	// ReplicasPerOwner is how many pods share a ReplicaSet.
	ReplicasPerOwner int
	// RequestPercent is the share of all nodes that the pods request together. Each requests in proportion to its allocation,
	// whatever it uses.
	RequestPercent float64
	// Pods is how many there are; with 0 as many as the trace has series. More pods than series share them, a part of the
	// trace apart.
	Pods int
	// Allocations are what 100 % of each series is, in any unit; without any all are equal.
	Allocations []cluster.Amounts
	// Seed decides in which order pods are placed at first.
	Seed uint64
}

// DefaultShape is the one that results are compared by.
func DefaultShape() Shape {
	return Shape{
		PodsPerNode: 20, MeanCPUPercent: 50, MeanMemoryPercent: 50, ReplicasPerOwner: 10, RequestPercent: 80, Seed: 1,
	}
}

func (s *Shape) validate() error {
	switch {
	case s.Nodes < 0 || s.Nodes > 10_000:
		return fmt.Errorf("%d nodes: 0, which counts by pods, to 10000 are possible", s.Nodes)
	case s.Nodes == 0 && !(s.PodsPerNode >= 1 && s.PodsPerNode <= 250):
		return fmt.Errorf("%v pods a node: 1 to 250 are possible", s.PodsPerNode)
	case s.Pods < 0 || s.Pods > 500_000:
		return fmt.Errorf("%d pods: 0, which is one per series, to 500000 are possible", s.Pods)
	case !(s.MeanCPUPercent > 0 && s.MeanCPUPercent <= 100) || !(s.MeanMemoryPercent > 0 && s.MeanMemoryPercent <= 100):
		return fmt.Errorf("a mean of %v %% CPU and %v %% memory: above 0 to 100 are possible", s.MeanCPUPercent, s.MeanMemoryPercent)
	case s.ReplicasPerOwner < 1:
		return fmt.Errorf("%d replicas per owner: at least 1", s.ReplicasPerOwner)
	case !(s.RequestPercent > 0 && s.RequestPercent <= 100):
		return fmt.Errorf("%v %% requested: above 0 to 100 are possible", s.RequestPercent)
	}
	return nil
}

// Fleet is what a run is about: nodes, and replicas with a series each.
type Fleet struct {
	Name  string
	Nodes int
	// Capacity is what every node has; of nodes of several sizes the mean.
	Capacity cluster.Amounts
	Replicas []Replica
	// machines are the nodes of a recording, in the order of their names; without any all have Capacity.
	machines []machine
	// Owners is how many ReplicaSets there are.
	Owners int
	// Deploys are in the order of nothing; At is a multiple of Step, and when in the step goes by lot.
	Deploys []Deploy
	// Steps is how long the trace is.
	Steps int
	// Memory says that memory is replayed; else every pod uses a constant, small amount of it.
	Memory bool
	seed   uint64
}

// Replica is one place of a ReplicaSet, which one pod after another fills.
type Replica struct {
	Owner    int
	Requests cluster.Amounts
	// Home is the node on which the replica's first pod is found when the run begins; empty has kube-scheduler place it. It
	// counts for replicas that are there from the first step on.
	Home string
	// Fixed says that nobody may evict the pod.
	Fixed bool
	// From is the step in which the replica's first pod is created, and Until the one in which its last pod is deleted and
	// nothing follows; with 0 it stays to the end.
	From, Until int
	// template is what the replica's pods are made by; nil for a plain one.
	template *v1.Pod
	// allocation is what 100 % of the series is.
	allocation  cluster.Percents
	cpu, memory []float32
	// shift is by how many steps the series is read later.
	shift int
}

// Lives says whether the replica is there in a step.
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
	// podCores is what a series is taken to have of CPU, podBytes of memory: figures are in percent, so any will do.
	podCores = 1000
	podBytes = 4 << 30
	// stillBytes is what a pod uses of memory where none is replayed.
	stillBytes = 64 << 20
)

// NewFleet makes a fleet of a trace of CPU and, where it is not nil, one of memory with as many series.
func NewFleet(shape Shape, cpu, memory *trace.Trace) (*Fleet, error) {
	if err := shape.validate(); err != nil {
		return nil, err
	}
	if cpu.Steps() == 0 {
		return nil, errors.New("a trace of CPU with at least one series and step is wanted")
	}
	if err := paired(cpu, memory); err != nil {
		return nil, err
	}
	if n := len(shape.Allocations); n > 0 && n != len(cpu.Series) {
		return nil, fmt.Errorf("%d allocations for %d series: as many are wanted", n, len(cpu.Series))
	}
	pods := shape.Pods
	if pods == 0 {
		pods = len(cpu.Series)
	}
	fleet := &Fleet{Name: cpu.Name, Steps: cpu.Steps(), Memory: memory != nil, seed: shape.Seed, Replicas: make([]Replica, pods)}
	for i := range fleet.Replicas {
		fleet.Replicas[i] = newReplica(&shape, i, cpu, memory)
	}
	fleet.Owners = (pods + shape.ReplicasPerOwner - 1) / shape.ReplicasPerOwner
	fleet.Deploys = deploysOf(&shape, pods, cpu)
	if fleet.Nodes = shape.Nodes; fleet.Nodes == 0 {
		fleet.Nodes = max(2, int(float64(pods)/shape.PodsPerNode))
	}
	return fleet, fleet.size(&shape)
}

// paired says what keeps a trace of memory, nil for none, from being that of the same series as one of CPU.
func paired(cpu, memory *trace.Trace) error {
	switch {
	case memory == nil:
		return nil
	case len(memory.Series) != len(cpu.Series) || memory.Steps() != cpu.Steps():
		return fmt.Errorf("%q has %d series of %d steps and %q %d of %d: as many are wanted of CPU and memory",
			cpu.Name, len(cpu.Series), cpu.Steps(), memory.Name, len(memory.Series), memory.Steps())
	}
	for i := range min(len(cpu.IDs), len(memory.IDs)) {
		if cpu.IDs[i] != memory.IDs[i] {
			return fmt.Errorf("series %d is %q in %q and %q in %q: the same are wanted of CPU and memory",
				i+1, cpu.IDs[i], cpu.Name, memory.IDs[i], memory.Name)
		}
	}
	return nil
}

// apart is by how many steps a series is read later each time it is used again: no divisor of a day.
const apart = 37

func newReplica(shape *Shape, i int, cpu, memory *trace.Trace) Replica {
	series := i % len(cpu.Series)
	allocation := cluster.Percents{podCores, stillBytes}
	if memory != nil {
		allocation[cluster.Memory] = podBytes
	}
	if len(shape.Allocations) > 0 {
		allocation[cluster.CPU] = float64(shape.Allocations[series][cluster.CPU])
		if memory != nil {
			allocation[cluster.Memory] = float64(shape.Allocations[series][cluster.Memory])
		}
	}
	r := Replica{Owner: i / shape.ReplicasPerOwner, allocation: allocation, cpu: cpu.Series[series], shift: i / len(cpu.Series) * apart}
	if memory != nil {
		r.memory = memory.Series[series]
	}
	return r
}

// size gives nodes what makes the fleet use the wanted mean of them, and pods their requests.
func (f *Fleet) size(shape *Shape) error {
	var used, allocated cluster.Percents
	for i := range f.Replicas {
		r := &f.Replicas[i]
		for k := range used {
			allocated[k] += r.allocation[k]
		}
		used[cluster.CPU] += mean(r.cpu) / 100 * r.allocation[cluster.CPU]
		if f.Memory {
			used[cluster.Memory] += mean(r.memory) / 100 * r.allocation[cluster.Memory]
		} else {
			used[cluster.Memory] += r.allocation[cluster.Memory]
		}
	}
	wanted := cluster.Percents{shape.MeanCPUPercent, shape.MeanMemoryPercent}
	if !f.Memory {
		wanted[cluster.Memory] = min(10, shape.MeanMemoryPercent)
	}
	for k := range wanted {
		capacity := used[k] / float64(f.Nodes) / (wanted[k] / 100)
		if !(capacity >= 1) || capacity > math.MaxInt64/1e6 {
			return fmt.Errorf("nodes of %v %s: the trace uses next to nothing, or too much", capacity, cluster.Resource(k)) //nolint:gosec // two
		}
		f.Capacity[k] = int64(capacity)
	}
	for i := range f.Replicas {
		r := &f.Replicas[i]
		for k := range r.Requests {
			share := r.allocation[k] / allocated[k]
			r.Requests[k] = int64(share * shape.RequestPercent / 100 * float64(f.Capacity[k]) * float64(f.Nodes))
			if r.Requests[k] > f.Capacity[k] {
				return fmt.Errorf("%d pods on %d nodes: one would request more %s than a node has; more pods, fewer nodes or a smaller share requested are wanted",
					len(f.Replicas), f.Nodes, cluster.Resource(k)) //nolint:gosec // two
			}
		}
	}
	return nil
}

func mean(series []float32) float64 {
	sum := 0.0
	for _, v := range series {
		sum += float64(v)
	}
	return sum / float64(max(1, len(series)))
}

// order is in which order the replicas are placed at first.
func (f *Fleet) order() []int { return rand.New(rand.NewPCG(f.seed, 2)).Perm(len(f.Replicas)) }
