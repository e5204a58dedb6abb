package sim

import (
	"cmp"
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/sim/recording"
)

// replica converts a pod's lifetime to steps, with its usage.
func (b *recordedFleet) replica(p *recording.PodSeries) Replica {
	r := Replica{From: p.From / b.per, Until: p.Until / b.per, allocation: cluster.Percents{1, 1}}
	if p.Until > 0 {
		r.Until = max(r.Until, r.From+1)
	}
	if r.From == 0 {
		r.Home = b.Recording.Nodes[p.Node].Name
	}
	r.shift = -r.From
	end := cmp.Or(r.Until, b.fleet.Steps)
	template := &b.Recording.Templates[p.Template]
	r.Requests = informed.Amounts(template.Requests)
	fallback, measured := b.means[p.Template]
	if !measured {
		fallback = cluster.Percents{float64(r.Requests[cluster.CPU]), float64(r.Requests[cluster.Memory])}
	}
	var known bool
	r.cpu, r.memory, known = b.steps(&p.Used, r.From, end, fallback)
	if !known {
		b.assumed.Unmeasured++
	}
	for k := range r.cpu { // convert to percent of one milli-core and of one byte
		r.cpu[k], r.memory[k] = 100*r.cpu[k], 100*r.memory[k]
	}
	return r
}

// measure computes the mean usage of the measured pods of each template.
func (b *recordedFleet) measure() {
	sums, counts := map[int]cluster.Percents{}, map[int]float64{}
	for i := range b.Recording.Pods {
		p := &b.Recording.Pods[i]
		for k := range p.Used.CPU {
			if !isNaN(p.Used.CPU[k]) {
				sums[p.Template] = plus(sums[p.Template], cluster.Percents{float64(p.Used.CPU[k]), float64(p.Used.Memory[k])})
				counts[p.Template]++
			}
		}
	}
	b.means = make(map[int]cluster.Percents, len(sums))
	for template, sum := range sums {
		for k := range sum {
			sum[k] /= counts[template]
		}
		b.means[template] = sum
	}
}

func isNaN(v float32) bool { return math.IsNaN(float64(v)) }

// steps converts a series to steps. Each step has its newest known value or, if there is
// none, the value of the previous step. Steps before the first known value have that
// value. A series without any value has fallback throughout.
func (b *recordedFleet) steps(s *recording.Series, from, end int, fallback cluster.Percents) (cpu, memory []float32, known bool) {
	cpu, memory = make([]float32, end-from), make([]float32, end-from)
	c, m := float32(math.NaN()), float32(math.NaN())
	first := len(cpu)
	for k := range cpu {
		for number := (from + k) * b.per; number < (from+k+1)*b.per; number++ {
			if newC, newM := s.At(number); !isNaN(newC) {
				c, m, first = newC, newM, min(first, k)
			}
		}
		cpu[k], memory[k] = c, m
	}
	if first == len(cpu) {
		c, m = float32(fallback[cluster.CPU]), float32(fallback[cluster.Memory])
	} else {
		c, m = cpu[first], memory[first]
	}
	for k := range first {
		cpu[k], memory[k] = c, m
	}
	return cpu, memory, first < len(cpu)
}

// system computes the nodes' usage outside pods: the measured usage of the node minus
// that of the pods on it at the time.
func (b *recordedFleet) system() {
	steps := b.fleet.Steps
	for n := range b.fleet.machines {
		cpu, memory, known := b.steps(&b.Recording.Nodes[n].Used, 0, steps, cluster.Percents{})
		if !known {
			continue
		}
		system := make([]cluster.Amounts, steps)
		for s := range system {
			system[s] = cluster.Amounts{int64(cpu[s]), int64(memory[s])}
		}
		b.fleet.machines[n].system = system
	}
	for i := range b.fleet.Replicas {
		if b.node[i] >= len(b.fleet.machines) || b.fleet.machines[b.node[i]].system == nil {
			continue
		}
		r, system := &b.fleet.Replicas[i], b.fleet.machines[b.node[i]].system
		for s := r.From; s < min(r.From+len(r.cpu), steps); s++ {
			system[s] = system[s].Minus(r.Demand(s))
		}
	}
	for n := range b.fleet.machines {
		for s, used := range b.fleet.machines[n].system {
			b.fleet.machines[n].system[s] = used.AtLeastZero()
		}
	}
}

// Recorded defines how to make a fleet from a recording.
type Recorded struct {
	Name      string
	Recording *recording.Recording
	// Stretch plays every reading as one step, however short the interval is.
	Stretch bool
	Seed    uint64
}

// Assumed counts what a recording lacks or a replay omits.
type Assumed struct {
	// LaterNodes is the number of nodes that joined after the first reading, LaterPods that
	// of the pods bound to them. Both are omitted.
	LaterNodes, LaterPods int
	// Unmeasured is the number of pods that were never measured. They are assumed to use as
	// much as other pods of their template or, if there are none, as much as they request.
	Unmeasured int
}

// recordedFleet is a fleet under construction.
type recordedFleet struct {
	*Recorded
	// per is the number of readings per step.
	per     int
	fleet   *Fleet
	assumed Assumed
	// node is the recorded node of each replica.
	node []int
	// means holds the mean usage of measured pods by template.
	means map[int]cluster.Percents
}
