package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
)

const (
	// StallTimeout is how long first lists may make no progress.
	StallTimeout = 2 * time.Minute
	// ListsPoll is how often their progress is checked.
	ListsPoll = 20 * time.Millisecond
)

// ErrNotSynced is returned if first lists have made no progress for too long.
var ErrNotSynced = errors.New("the watches of the API server did not deliver in time")

// Start starts the informers that were requested from a factory, and waits until all of
// them and their consumers have synced. It fails only if no missing data has arrived for
// StallTimeout.
func (c *Connection) Start(ctx context.Context, factory informers.SharedInformerFactory, synced ...func() bool) error {
	factory.Start(ctx.Done())
	waiting := firstLists{factory: factory, synced: synced, arrived: c.arrivals.of, patience: Patience[progress]{Now: c.Clock.Local}}
	return waiting.await(ctx)
}

// firstLists are the first lists of all watches.
type firstLists struct {
	factory informers.SharedInformerFactory
	// synced reports whether the informers' consumers have synced.
	synced  []func() bool
	arrived func(resources ...string) int64

	patience Patience[progress]
}

// progress describes the state of the first lists: how many kinds and consumers are
// missing, and how many bytes of those kinds have arrived.
type progress struct {
	kinds, feeds int
	bytes        int64
}

func (f *firstLists) await(ctx context.Context) error {
	var kinds []string
	err := wait.PollUntilContextCancel(ctx, ListsPoll, true, func(context.Context) (there bool, stalled error) {
		kinds = f.missing()
		at := progress{kinds: len(kinds), feeds: f.unfed(), bytes: f.arrived(resources(kinds)...)}
		there = at.kinds+at.feeds == 0
		if !there && f.patience.Over(at, StallTimeout) {
			stalled = fmt.Errorf("nothing new for %v", StallTimeout)
		}
		return there, stalled
	})
	if err != nil {
		return fmt.Errorf("%w: %w%s", ErrNotSynced, err, named(kinds))
	}
	return nil
}

// missing returns the kinds whose first list is incomplete, sorted.
func (f *firstLists) missing() []string {
	over := make(chan struct{})
	close(over) // makes WaitForCacheSync return the state without waiting
	var kinds []string
	for kind, synced := range f.factory.WaitForCacheSync(over) {
		if !synced {
			kinds = append(kinds, kindOf(kind))
		}
	}
	slices.Sort(kinds)
	return kinds
}

func (f *firstLists) unfed() (count int) {
	for _, synced := range f.synced {
		if !synced() {
			count++
		}
	}
	return count
}

func kindOf(object reflect.Type) string {
	if object.Kind() == reflect.Pointer {
		object = object.Elem()
	}
	return object.Name()
}

// resources returns the resource names of kinds, as used in paths.
func resources(kinds []string) []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
		names[i] = plural.Resource
	}
	return names
}

func named(kinds []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return " of " + strings.Join(kinds, ", ")
}

// FirstPods returns a function that counts the bytes of the first lists of nodes and
// pods. The count no longer changes once they are complete.
func (c *Connection) FirstPods(synced func() bool) func() int64 {
	return func() int64 {
		if synced() {
			return -1
		}
		return c.arrivals.of("nodes", "pods")
	}
}

// Patience measures how long something has stayed the same.
type Patience[T comparable] struct {
	Now   func() time.Time
	seen  T
	since time.Time
}

// Over reports whether seen has not changed for at least the limit.
func (p *Patience[T]) Over(seen T, limit time.Duration) bool {
	now := p.Now()
	if p.since.IsZero() || seen != p.seen {
		p.seen, p.since = seen, now
	}
	return now.Sub(p.since) >= limit
}
