package main

import (
	"cmp"
	"slices"
	"sync"

	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

// queue distributes cases to lanes, the longest of a package first. A lane stays with a
// package as long as it has cases, because another package needs a new control plane.
type queue struct {
	mu      sync.Mutex
	pending map[string][]queued
	lanes   map[string]int
}

// queued is a case and its expected duration.
type queued struct {
	tiers.Case
	seconds float64
}

// typicalSeconds is the expected duration of a case that has not run before.
const typicalSeconds = 40

// newQueue returns a queue with cases. took holds the durations of the last run in
// seconds, by package and name.
func newQueue(cases []tiers.Case, took map[[2]string]float64) *queue {
	q := &queue{pending: map[string][]queued{}, lanes: map[string]int{}}
	for _, c := range cases {
		seconds, known := took[[2]string{c.Package, c.Name}]
		if !known {
			seconds = typicalSeconds
		}
		q.pending[c.Package] = append(q.pending[c.Package], queued{c, seconds})
	}
	for _, of := range q.pending {
		slices.SortStableFunc(of, func(a, b queued) int { return cmp.Compare(b.seconds, a.seconds) })
	}
	return q
}

// next returns the next case for a lane. with is the package that the lane is working on;
// empty at first. It returns false if there are no more cases.
func (q *queue) next(with string) (tiers.Case, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending[with]) == 0 {
		q.lanes[with]--
		if with = q.neediest(); with == "" {
			return tiers.Case{}, false
		}
		q.lanes[with]++
	}
	first := q.pending[with][0]
	q.pending[with] = q.pending[with][1:]
	return first.Case, true
}

// neediest returns the package that would have the most work left per lane if it had one
// more lane. The caller must hold mu.
func (q *queue) neediest() (name string) {
	longest := -1.0
	for of, tasks := range q.pending {
		left := 0.0
		for _, task := range tasks {
			left += task.seconds
		}
		share := left / float64(1+q.lanes[of])
		if len(tasks) > 0 && (share > longest || share == longest && of < name) {
			name, longest = of, share
		}
	}
	return name
}
