package status

import (
	"fmt"
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Amounts is an amount of each resource.
type Amounts struct {
	CPUMilli    int64 `json:"cpuMilli"`
	MemoryBytes int64 `json:"memoryBytes"`
}

// AmountsOf converts amounts to the form in which they are reported.
func AmountsOf(a cluster.Amounts) Amounts {
	return Amounts{CPUMilli: a[cluster.CPU], MemoryBytes: a[cluster.Memory]}
}

// Ceiling is an upper bound for each resource; absent if unbounded.
type Ceiling struct {
	CPUMilli    *int64 `json:"cpuMilli,omitempty"`
	MemoryBytes *int64 `json:"memoryBytes,omitempty"`
}

func ceiling(a cluster.Amounts) Ceiling {
	bound := func(v int64) *int64 {
		if v == math.MaxInt64 {
			return nil
		}
		return &v
	}
	return Ceiling{CPUMilli: bound(a[cluster.CPU]), MemoryBytes: bound(a[cluster.Memory])}
}

// String returns c in words.
func (c Ceiling) String() string {
	cpu, memory := "any cpu", "any memory"
	if c.CPUMilli != nil {
		cpu = fmt.Sprintf("%dm cpu", *c.CPUMilli)
	}
	if c.MemoryBytes != nil {
		memory = fmt.Sprintf("%dMi memory", *c.MemoryBytes>>20)
	}
	return cpu + ", " + memory
}

// String returns a in words.
func (a Amounts) String() string { return cluster.Amounts{a.CPUMilli, a.MemoryBytes}.InWords() }

// Percents is a percentage of allocatable of each resource.
type Percents struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// PercentsOf converts percentages to the form in which they are reported, rounded.
func PercentsOf(p cluster.Percents) Percents {
	return Percents{CPU: Round(p[cluster.CPU]), Memory: Round(p[cluster.Memory])}
}

// Round rounds a value to one decimal, as all views report it.
func Round(v float64) float64 { return math.Round(v*10) / 10 }

// finite returns a rounded value for JSON; nil if it is unknown or infinite.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return new(Round(v))
}

// moment returns a time for JSON; nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
