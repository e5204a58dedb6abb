package fanout

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Ask sends all requests and returns their errors in the same order, nil for each answer
// that was read. Every call of read has returned by then.
func (f *Fanout) Ask(ctx context.Context, requests []Request, read ReadFunc) []error {
	over := fmt.Errorf("no answer before the end of the %v round: %w", f.config.RoundTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, f.config.RoundTimeout, over)
	defer cancel()

	order := f.order(requests)
	errs, asked := make([]error, len(requests)), make([]bool, len(requests))
	var workers errgroup.Group
	workers.SetLimit(f.config.Concurrency)
	for _, i := range order {
		workers.Go(func() error {
			switch {
			case requests[i].Err != nil:
				errs[i] = requests[i].Err
			case ctx.Err() != nil:
				errs[i] = context.Cause(ctx)
			default:
				asked[i] = true
				errs[i] = f.ask(ctx, requests[i], func(fallback bool, body io.Reader) error { return read(i, fallback, body) })
			}
			return nil
		})
	}
	_ = workers.Wait() // each error is in errs
	f.remember(requests, errs, asked)
	return errs
}

// order returns the indices of the requests in the order to send them.
func (f *Fanout) order(requests []Request) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(f.marks[requests[i].Node], f.marks[requests[j].Node]) })
	return order
}

// remember records the outcomes of the requests. It forgets nodes of earlier rounds, so
// its size is bounded by the cluster.
func (f *Fanout) remember(requests []Request, errs []error, asked []bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.round++
	marks := make(map[string]mark, len(requests))
	for i, request := range requests {
		switch {
		case !asked[i]:
			marks[request.Node] = f.marks[request.Node]
		case errs[i] != nil:
			marks[request.Node] = failed | f.round
		default:
			marks[request.Node] = f.round
		}
	}
	f.marks = marks
}
