package main

import (
	"cmp"
	"slices"
	"sync"

	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

// queue hands out cases to lanes, the longest of a package first. A lane stays
// with a package as long as it has cases, because another one needs a new
// control plane.
type queue struct {
	mu      sync.Mutex
	pending map[string][]*tiers.Task
	lanes   map[string]int
}

func newQueue(tasks []*tiers.Task) *queue {
	q := &queue{pending: map[string][]*tiers.Task{}, lanes: map[string]int{}}
	for _, task := range tasks {
		q.pending[task.Package] = append(q.pending[task.Package], task)
	}
	for _, of := range q.pending {
		slices.SortStableFunc(of, func(a, b *tiers.Task) int { return cmp.Compare(b.Seconds, a.Seconds) })
	}
	return q
}

// next returns the next case for a lane that is with a package, or "" at first;
// nil if there are no more.
func (q *queue) next(with string) *tiers.Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending[with]) == 0 {
		q.lanes[with]--
		if with = q.neediest(); with == "" {
			return nil
		}
		q.lanes[with]++
	}
	task := q.pending[with][0]
	q.pending[with] = q.pending[with][1:]
	return task
}

// neediest returns the package with the most time left per lane if it had one
// more. The caller holds mu.
func (q *queue) neediest() (name string) {
	longest := -1.0
	for of, tasks := range q.pending {
		left := 0
		for _, task := range tasks {
			left += task.Seconds
		}
		share := float64(left) / float64(1+q.lanes[of])
		if len(tasks) > 0 && (share > longest || share == longest && of < name) {
			name, longest = of, share
		}
	}
	return name
}
