package soak

import (
	"errors"
	"math"
	"time"
)

// LoadConfig defines what drives a fleet.
type LoadConfig struct {
	Fleet       []Deployment
	CPU, Memory *Trace
	// Step is the duration of a trace's step in the run.
	Step time.Duration
	Seed uint64
}

// Load is the usage of every replica over time. It is a pure function of time.
type Load struct {
	config   LoadConfig
	replicas []replica
}

// replica is the usage of one of a Deployment's replicas, whichever pod fills it.
type replica struct {
	allocation Amounts
	// cpuSeries and memorySeries are the series that it follows. shift is its initial
	// position in them.
	cpuSeries, memorySeries, shift int
	// phase is the replica's offset within a step, so that replicas change their usage at
	// different times, as in practice.
	phase time.Duration
}

// NewLoad assigns a series to each replica of the fleet. If there are fewer series than
// replicas, several replicas follow the same series at different offsets.
func NewLoad(config LoadConfig) (*Load, error) {
	switch {
	case config.Step < time.Second:
		return nil, errors.New("a step of the trace lasts less than a second")
	case config.CPU.Steps() == 0 || config.Memory.Steps() == 0:
		return nil, errors.New("a trace is empty")
	}
	random := source(config.Seed, "load")
	l := &Load{config: config}
	order := random.Perm(len(config.CPU.Series))
	for _, d := range config.Fleet {
		for range d.Replicas {
			i := len(l.replicas)
			r := replica{allocation: d.Allocation, cpuSeries: order[i%len(order)], phase: time.Duration(random.Int64N(int64(config.Step)))}
			// Recorded memory and CPU usage are from the same machine.
			r.memorySeries = r.cpuSeries
			if round := i / len(order); round > 0 {
				rounds := (sizeOf(config.Fleet) + len(order) - 1) / len(order)
				r.shift = round * config.CPU.Steps() / rounds
			}
			l.replicas = append(l.replicas, r)
		}
	}
	return l, nil
}

func sizeOf(fleet []Deployment) int {
	n := 0
	for _, d := range fleet {
		n += d.Replicas
	}
	return n
}

// At returns what a replica of the fleet uses after the given time.
func (l *Load) At(number int, elapsed time.Duration) Amounts {
	r := &l.replicas[number]
	step := int((max(elapsed, 0)+r.phase)/l.config.Step) + r.shift
	return Amounts{
		CPUMilli:    share(percentAt(l.config.CPU, r.cpuSeries, step), r.allocation.CPUMilli),
		MemoryBytes: share(percentAt(l.config.Memory, r.memorySeries, step), r.allocation.MemoryBytes),
	}
}

func share(percent float64, of int64) int64 {
	return max(1, int64(math.Round(percent/100*float64(of))))
}

// Changed reports whether the usage of either resource has changed enough to be updated,
// which is by 5% plus a small constant.
func Changed(from, to Amounts) bool {
	const leastCPUMilli, leastMemoryBytes = 10, 8 << 20
	return changed(from.CPUMilli, to.CPUMilli, leastCPUMilli) || changed(from.MemoryBytes, to.MemoryBytes, leastMemoryBytes)
}

func changed(from, to, least int64) bool {
	const oneIn = 20
	by := to - from
	if by < 0 {
		by = -by
	}
	return by > least && by > from/oneIn
}
