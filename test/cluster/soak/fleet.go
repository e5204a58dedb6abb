package soak

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Shape defines the size of a run.
type Shape struct {
	Nodes, Pods, Deployments int
	// Node is the capacity of each node.
	Node Amounts
	// MeanCPUPercent and MeanMemoryPercent are the mean usage of all nodes.
	MeanCPUPercent, MeanMemoryPercent float64
	Seed                              uint64
}

func (s Shape) validate() error {
	switch {
	case s.Nodes < 2 || s.Nodes > 5000:
		return fmt.Errorf("shape of the run: %d nodes, want 2 to 5000", s.Nodes)
	case s.Deployments < 1 || s.Pods < minReplicas*s.Deployments:
		return fmt.Errorf("shape of the run: %d pods in %d Deployments, want at least %d in each", s.Pods, s.Deployments, minReplicas)
	case s.Pods > 100*s.Nodes:
		return fmt.Errorf("shape of the run: %d pods on %d nodes, want at most 100 on each", s.Pods, s.Nodes)
	case s.Node.CPUMilli <= 0 || s.Node.MemoryBytes <= 0:
		return fmt.Errorf("shape of the run: nodes of %d milli-cores and %d bytes", s.Node.CPUMilli, s.Node.MemoryBytes)
	case !(s.MeanCPUPercent > 0 && s.MeanCPUPercent < 100) || !(s.MeanMemoryPercent > 0 && s.MeanMemoryPercent < 100):
		return fmt.Errorf("shape of the run: a mean of %v%% CPU and %v%% memory, want more than 0 and less than 100", s.MeanCPUPercent, s.MeanMemoryPercent)
	}
	return nil
}

// Deployment is one workload of the fleet.
type Deployment struct {
	Name     string
	Replicas int
	// First is the fleet-wide number of its first replica; the others follow.
	First int
	// Request is the amount that a pod requests, Allocation the amount that corresponds
	// to 100% in its series.
	Request, Allocation Amounts
}

// minReplicas is the minimum number of replicas that the shipped policy treats as
// movable.
const minReplicas = 2

// NewFleet returns Deployments of different sizes whose mean usage over the traces equals
// the means of the shape. As in most clusters, a pod's requests hardly depend on its
// usage.
func NewFleet(shape Shape, cpuMeanPercent, memoryMeanPercent float64) ([]Deployment, error) {
	if err := shape.validate(); err != nil {
		return nil, err
	}
	if !(cpuMeanPercent > 0) || !(memoryMeanPercent > 0) {
		return nil, fmt.Errorf("traces with a mean of %v%% CPU and %v%% memory: both must be above 0", cpuMeanPercent, memoryMeanPercent)
	}
	random := source(shape.Seed, "fleet")
	fleet := make([]Deployment, shape.Deployments)
	cpuWeights, memoryWeights := make([]float64, len(fleet)), make([]float64, len(fleet))
	first := 0
	for i, replicas := range sizes(shape.Pods, shape.Deployments) {
		fleet[i] = Deployment{Name: fmt.Sprintf("app-%03d", i), Replicas: replicas, First: first}
		first += replicas
		// From half to four times the mean, uniformly on a logarithmic scale.
		cpuWeights[i], memoryWeights[i] = math.Exp2(-1+3*random.Float64()), math.Exp2(-1+3*random.Float64())
	}
	nodes := int64(shape.Nodes)
	cpu := allocations(fleet, cpuWeights, float64(nodes*shape.Node.CPUMilli)*shape.MeanCPUPercent/cpuMeanPercent, shape.Node.CPUMilli/maxShareOfNode)
	memory := allocations(fleet, memoryWeights, float64(nodes*shape.Node.MemoryBytes)*shape.MeanMemoryPercent/memoryMeanPercent, shape.Node.MemoryBytes/maxShareOfNode)
	for i := range fleet {
		fleet[i].Allocation = Amounts{CPUMilli: cpu[i], MemoryBytes: memory[i]}
		fleet[i].Request = Amounts{
			CPUMilli:    max(10, int64(float64(cpu[i])*cpuMeanPercent/100*(0.3+1.2*random.Float64()))),
			MemoryBytes: max(1<<20, int64(float64(memory[i])*memoryMeanPercent/100*(0.5+0.6*random.Float64()))),
		}
	}
	return fleet, nil
}

// maxShareOfNode limits a pod at 100% to this fraction of a node, one half, because
// larger pods could not be balanced.
const maxShareOfNode = 2

// allocations distributes a sum over all replicas by weight, with a limit for each. The
// excess of the largest ones is distributed over the others. If that is not possible, the
// sum is not reached.
func allocations(fleet []Deployment, weights []float64, sum float64, limit int64) []int64 {
	const rounds = 30
	weight := 0.0
	for i, d := range fleet {
		weight += weights[i] * float64(d.Replicas)
	}
	shares, unit := make([]int64, len(fleet)), sum/weight
	for range rounds {
		given := 0.0
		for i, d := range fleet {
			shares[i] = int64(min(weights[i]*unit, float64(limit)))
			given += float64(shares[i]) * float64(d.Replicas)
		}
		unit *= sum / max(given, 1)
	}
	return shares
}

// sizes distributes pods over Deployments, starting with the largest: the k-th Deployment
// gets a share proportional to k^-0.7, but at least minReplicas.
func sizes(pods, deployments int) []int {
	const decline = 0.7
	weights, sum := make([]float64, deployments), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -decline)
		sum += weights[i]
	}
	all, left := make([]int, deployments), pods-minReplicas*deployments
	spare := left
	for i := range all {
		more := int(float64(spare) * weights[i] / sum)
		all[i] = minReplicas + more
		left -= more
	}
	for i := range left { // distribute the remainder from rounding down
		all[i%deployments]++
	}
	return all
}

// Place determines the initial placement of the pods: Deployment by Deployment, it puts
// each pod on the node with the least requests, like kube-scheduler. It returns, for each
// Deployment, the number of pods per node.
func Place(fleet []Deployment, nodes []string, node Amounts) []map[string]int {
	asked := make([]float64, len(nodes))
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	placed := make([]map[string]int, len(fleet))
	for i, d := range fleet {
		placed[i] = map[string]int{}
		share := float64(d.Request.CPUMilli)/float64(node.CPUMilli) + float64(d.Request.MemoryBytes)/float64(node.MemoryBytes)
		for range d.Replicas {
			least := slices.MinFunc(order, func(a, b int) int { return cmp.Compare(asked[a], asked[b]) })
			asked[least] += share
			placed[i][nodes[least]]++
		}
	}
	return placed
}
