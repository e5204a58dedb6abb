package fanout

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// Ask puts all requests and returns what went wrong with each, in their order:
// nil where the answer was read. Every call of read has returned by then.
func (f *Fanout) Ask(ctx context.Context, requests []Request, read ReadFunc) []error {
	over := fmt.Errorf("no answer before the round of %v was over: %w", f.config.RoundTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, f.config.RoundTimeout, over)
	defer cancel()

	order := f.order(requests)
	errs, asked := make([]error, len(requests)), make([]bool, len(requests))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(f.config.Concurrency, len(requests)) {
		workers.Go(func() {
			for k := next.Add(1) - 1; int(k) < len(order); k = next.Add(1) - 1 {
				i := order[k]
				switch {
				case requests[i].Err != nil:
					errs[i] = requests[i].Err
				case ctx.Err() != nil:
					errs[i] = context.Cause(ctx)
				default:
					asked[i] = true
					errs[i] = f.ask(ctx, requests[i], func(fallback bool, body io.Reader) error { return read(i, fallback, body) })
				}
			}
		})
	}
	workers.Wait()
	f.remember(requests, errs, asked)
	return errs
}

// order returns the indices of the requests in the order in which they are put.
func (f *Fanout) order(requests []Request) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := f.marks[requests[i].Node], f.marks[requests[j].Node]
		if a.failed != b.failed {
			if a.failed {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.asked, b.asked), cmp.Compare(i, j))
	})
	return order
}

// remember notes how the requests went. Those of earlier rounds are forgotten,
// so it is bounded by the cluster.
func (f *Fanout) remember(requests []Request, errs []error, asked []bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.round++
	marks := make(map[string]mark, len(requests))
	for i, request := range requests {
		if asked[i] {
			marks[request.Node] = mark{failed: errs[i] != nil, asked: f.round}
		} else {
			marks[request.Node] = f.marks[request.Node]
		}
	}
	f.marks = marks
}
