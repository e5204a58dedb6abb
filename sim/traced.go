package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/trace"
)

// Shape defines how to make a fleet from a trace.
type Shape struct {
	// PodsPerNode determines the number of nodes unless Nodes does.
	PodsPerNode float64
	Nodes       int
	// MeanCPUPercent and MeanMemoryPercent are the mean usage of all nodes. Nodes are sized
	// to match them.
	MeanCPUPercent, MeanMemoryPercent float64
	// ReplicasPerOwner is the number of pods per ReplicaSet.
	ReplicasPerOwner int
	// RequestPercent is the share of all nodes' capacity that the pods request together.
	// Each pod requests in proportion to its allocation, whatever its usage is.
	RequestPercent float64
	// Pods is the number of pods; 0 means one per series. If there are more pods than
	// series, they share series, shifted in time.
	Pods int
	// Seed determines the order in which pods are first placed.
	Seed uint64
}

// DefaultShape returns the shape that is used to compare results.
func DefaultShape() Shape {
	return Shape{
		PodsPerNode: 20, MeanCPUPercent: 50, MeanMemoryPercent: 50, ReplicasPerOwner: 10, RequestPercent: 80, Seed: 1,
	}
}

func (s *Shape) validate() error {
	switch {
	case s.Nodes < 0 || s.Nodes > 20_000:
		return fmt.Errorf("%d nodes: must be 1 to 20000, or 0 to derive it from the pods", s.Nodes)
	case s.Nodes == 0 && !(s.PodsPerNode >= 1 && s.PodsPerNode <= 250):
		return fmt.Errorf("%v pods per node: must be 1 to 250", s.PodsPerNode)
	case s.Pods < 0 || s.Pods > 500_000:
		return fmt.Errorf("%d pods: must be 1 to 500000, or 0 for one per series", s.Pods)
	case !(s.MeanCPUPercent > 0 && s.MeanCPUPercent <= 100) || !(s.MeanMemoryPercent > 0 && s.MeanMemoryPercent <= 100):
		return fmt.Errorf("a mean of %v%% CPU and %v%% memory: both must be above 0 and at most 100", s.MeanCPUPercent, s.MeanMemoryPercent)
	case s.ReplicasPerOwner < 1:
		return fmt.Errorf("%d replicas per owner: must be at least 1", s.ReplicasPerOwner)
	case !(s.RequestPercent > 0 && s.RequestPercent <= 100):
		return fmt.Errorf("%v%% requested: must be above 0 and at most 100", s.RequestPercent)
	}
	return nil
}

// NewFleet makes a fleet from a trace of CPU and a trace of memory. The memory trace may
// be nil; otherwise, it must have the same series.
func NewFleet(shape Shape, cpu, memory *trace.Trace) (*Fleet, error) {
	if err := shape.validate(); err != nil {
		return nil, err
	}
	if cpu.Steps() == 0 {
		return nil, errors.New("the CPU trace has no series or no steps")
	}
	if err := paired(cpu, memory); err != nil {
		return nil, err
	}
	pods := cmp.Or(shape.Pods, len(cpu.Series))
	fleet := &Fleet{Name: cpu.Name, Steps: cpu.Steps(), Memory: memory != nil, seed: shape.Seed, age: firstAge, Replicas: make([]Replica, pods)}
	for i := range fleet.Replicas {
		fleet.Replicas[i] = newReplica(&shape, i, cpu, memory)
	}
	fleet.Owners = (pods + shape.ReplicasPerOwner - 1) / shape.ReplicasPerOwner
	fleet.Deploys = deploysOf(&shape, pods, cpu)
	if fleet.Nodes = shape.Nodes; fleet.Nodes == 0 {
		fleet.Nodes = max(2, int(float64(pods)/shape.PodsPerNode))
	}
	if err := fleet.size(&shape); err != nil {
		return nil, err
	}
	for i := range fleet.Nodes {
		fleet.machines = append(fleet.machines, machine{node: newNode(i, fleet.Capacity), capacity: fleet.Capacity, maxUsage: fleet.Capacity})
	}
	return fleet, nil
}

// firstAge is the age of the first pods if nothing else determines it.
const firstAge = 24 * time.Hour

// paired returns an error unless the memory trace is nil or has the same series
// as the CPU trace.
func paired(cpu, memory *trace.Trace) error {
	switch {
	case memory == nil:
		return nil
	case len(memory.Series) != len(cpu.Series) || memory.Steps() != cpu.Steps():
		return fmt.Errorf("%q has %d series of %d steps and %q %d of %d: CPU and memory must have the same number",
			cpu.Name, len(cpu.Series), cpu.Steps(), memory.Name, len(memory.Series), memory.Steps())
	}
	for i := range min(len(cpu.IDs), len(memory.IDs)) {
		if cpu.IDs[i] != memory.IDs[i] {
			return fmt.Errorf("series %d is %q in %q and %q in %q: CPU and memory must have the same series",
				i+1, cpu.IDs[i], cpu.Name, memory.IDs[i], memory.Name)
		}
	}
	return nil
}

// seriesShift is the number of steps by which a series is shifted further each time it is
// reused. It does not divide a day.
const seriesShift = 37

func newReplica(shape *Shape, i int, cpu, memory *trace.Trace) Replica {
	series := i % len(cpu.Series)
	allocation := cluster.Percents{podCores, stillBytes}
	if memory != nil {
		allocation[cluster.Memory] = podBytes
	}
	r := Replica{Owner: i / shape.ReplicasPerOwner, allocation: allocation, cpu: cpu.Series[series], shift: i / len(cpu.Series) * seriesShift}
	if memory != nil {
		r.memory = memory.Series[series]
	}
	return r
}

// size sets the capacity of nodes, so that usage has the intended mean, and the requests
// of pods.
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
			return fmt.Errorf("nodes of %v %s: the trace uses almost nothing, or too much", capacity, cluster.Resource(k))
		}
		f.Capacity[k] = int64(capacity)
	}
	for i := range f.Replicas {
		r := &f.Replicas[i]
		for k := range r.Requests {
			share := r.allocation[k] / allocated[k]
			r.Requests[k] = int64(share * shape.RequestPercent / 100 * float64(f.Capacity[k]) * float64(f.Nodes))
			if r.Requests[k] > f.Capacity[k] {
				return fmt.Errorf("%d pods on %d nodes: one would request more %s than a node has; use more pods, fewer nodes or a smaller requested share",
					len(f.Replicas), f.Nodes, cluster.Resource(k))
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

// deploysOf returns the deploys of a fleet's owners. An owner is deployed when the trace
// deploys the series of its first replica.
func deploysOf(shape *Shape, pods int, cpu *trace.Trace) (all []Deploy) {
	steps := cpu.Steps()
	for _, d := range cpu.Deploys {
		for i := 0; i < pods; i += shape.ReplicasPerOwner {
			series, shift := i%len(cpu.Series), i/len(cpu.Series)*seriesShift
			if series < d.First || series >= d.First+d.Count {
				continue
			}
			step := ((d.Step-shift)%steps + steps) % steps
			all = append(all, Deploy{Owner: i / shape.ReplicasPerOwner, At: time.Duration(step) * Step})
		}
	}
	return all
}

func newNode(i int, capacity cluster.Amounts) *v1.Node {
	list := listOf(capacity)
	list[v1.ResourcePods] = *resource.NewQuantity(1000, resource.DecimalSI)
	name := fmt.Sprintf("node-%05d", i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{
			Capacity: list, Allocatable: list,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}
