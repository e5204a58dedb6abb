package app

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
	"k8s.io/client-go/informers"
)

const (
	// stallTimeout is how long first lists may bring nothing.
	stallTimeout = 2 * time.Minute
	// listsPoll is how often is looked at them.
	listsPoll = 20 * time.Millisecond
)

var errNotSynced = errors.New("the watches of the API server did not deliver in time")

// startInformers starts what was requested and waits until all of it has been delivered. However long that takes, it fails only
// when nothing has come for stallTimeout of what is still missing.
func (a *App) startInformers(ctx context.Context) error {
	a.informers.Start(ctx.Done())
	waiting := firstLists{factory: a.informers, synced: a.synced, arrived: a.arrivals.of, patience: patience[progress]{now: a.clock.Local}}
	return waiting.await(ctx)
}

// firstLists are those of all watches.
type firstLists struct {
	factory informers.SharedInformerFactory
	// synced say whether what is fed by the informers has taken everything in.
	synced  []func() bool
	arrived func(resources ...string) int64

	patience patience[progress]
}

// progress is how far first lists have come: how many kinds and feeds are missing, and how many bytes of those kinds have come.
type progress struct {
	kinds, feeds int
	bytes        int64
}

func (f *firstLists) await(ctx context.Context) error {
	ticker := time.NewTicker(listsPoll)
	defer ticker.Stop()
	for {
		kinds := f.missing()
		at := progress{kinds: len(kinds), feeds: f.unfed(), bytes: f.arrived(resources(kinds)...)}
		if at.kinds+at.feeds == 0 {
			return nil
		}
		if f.patience.over(at, stallTimeout) {
			return fmt.Errorf("%w: nothing new for %v%s", errNotSynced, stallTimeout, named(kinds))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w%s", errNotSynced, ctx.Err(), named(kinds))
		case <-ticker.C:
		}
	}
}

// missing are the kinds whose first list is not complete, in order.
func (f *firstLists) missing() []string {
	over := make(chan struct{})
	close(over) // WaitForCacheSync is asked how it stands, not to wait
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

// resources are the names of kinds in paths.
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

// firstPods returns how to count what has come of the first lists of nodes and pods. The count stands still once they are there.
func (a *App) firstPods(synced func() bool) func() int64 {
	return func() int64 {
		if synced() {
			return -1
		}
		return a.arrivals.of("nodes", "pods")
	}
}

// patience is how long something may stay as it is.
type patience[T comparable] struct {
	now   func() time.Time
	seen  T
	since time.Time
}

// over says whether what is seen now was all that there was to see for as long as the limit.
func (p *patience[T]) over(seen T, limit time.Duration) bool {
	now := p.now()
	if p.since.IsZero() || seen != p.seen {
		p.seen, p.since = seen, now
	}
	return now.Sub(p.since) >= limit
}
