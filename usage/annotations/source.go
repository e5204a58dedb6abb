// Package annotations reads usage from annotations of nodes, as Crane's controller, its relatives and Evenkeel's own nodesync
// write them: cpu_usage_avg_5m: "0.38542,2026-11-21T14:00:00Z". It asks nobody; the annotations come with the snapshot.
//
// It decides what only the text can tell: whether a number is a fraction or a percentage, in which zone the writer's clock
// hangs although its stamps end in Z, and whether a value is older than its writer's period allows. What cannot be told for
// sure is left out and counted, never guessed to be fresher or smaller. Everything else is left to usage.Store.
package annotations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Name is the source's name in policies, output and metrics.
const Name = "Annotations"

// Grace is how long after its period a value is still good, as Crane's readers have it.
const Grace = 5 * time.Minute

const (
	// otherPeriod is how often windows are taken to be written that SyncPeriods does not name.
	otherPeriod = 15 * time.Minute
	// maxReadings bounds what is taken of one node: whoever may annotate a node could name thousands of windows.
	maxReadings = 32
	// outliers is the share of the nodes, one in so many, whose stamps may be newer than what the zone is told by: one node
	// with a wrong clock must not decide for all.
	outliers = 20
)

// Config says how to read annotations.
type Config struct {
	// Location is the zone of the writer's clock; nil finds it out from the stamps.
	Location *time.Location
	// Unit is what numbers count; empty is Auto.
	Unit Unit
	// SyncPeriods are how often the writer writes, by how far back the window reaches; nil is DefaultSyncPeriods.
	SyncPeriods map[string]time.Duration
	// Now tells the time.
	Now func() time.Time
}

// DefaultSyncPeriods returns the periods of the policy that Crane ships.
func DefaultSyncPeriods() map[string]time.Duration {
	return map[string]time.Duration{"5m": 3 * time.Minute, "1h": 15 * time.Minute, "1d": 3 * time.Hour}
}

// DefaultPeriod returns how often a writer writes a window unless a policy says otherwise.
func DefaultPeriod(window usage.Window) time.Duration {
	_, reach, _ := strings.Cut(usage.Window{Kind: usage.KindAvg, Over: window.Over}.String(), "_")
	if period, ok := DefaultSyncPeriods()[reach]; ok {
		return period
	}
	return otherPeriod
}

// Source reads usage. It is safe for concurrent use.
type Source struct {
	config  Config
	periods map[time.Duration]time.Duration
	maxAge  time.Duration

	mu    sync.Mutex
	zones zones
}

// New returns a Source.
func New(config Config) (*Source, error) {
	if config.Now == nil {
		return nil, errors.New("annotations source: Now must be set")
	}
	switch config.Unit {
	case "", Auto, Fraction, Percent:
	default:
		return nil, fmt.Errorf("annotations source: unit %q is none of auto, fraction, percent", config.Unit)
	}
	if config.SyncPeriods == nil {
		config.SyncPeriods = DefaultSyncPeriods()
	}
	s := &Source{
		config: config, periods: map[time.Duration]time.Duration{}, maxAge: otherPeriod + Grace,
		zones: zones{candidates: []*time.Location{time.UTC, shanghai, time.Local}},
	}
	for reach, period := range config.SyncPeriods {
		window, err := usage.ParseWindow("avg_" + reach)
		if err != nil || period <= 0 || period > usage.MaxReach {
			return nil, fmt.Errorf("annotations source: sync period %q: %v; allowed: above 0 to %v, for a time from %v to %v",
				reach, period, usage.MaxReach, usage.MinReach, usage.MaxReach)
		}
		s.periods[window.Over] = period
		s.maxAge = max(s.maxAge, period+Grace)
	}
	return s, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }

// Sample returns what the annotations of the snapshot's nodes say.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	if err := ctx.Err(); err != nil {
		return usage.Batch{}, fmt.Errorf("reading annotations: %w", err)
	}
	if snapshot == nil {
		return usage.Batch{}, errors.New("reading annotations: there is no snapshot of the cluster")
	}
	now := s.config.Now()
	batch := usage.Batch{Source: Name, Received: now, MaxAge: s.maxAge}
	found := s.collect(snapshot, &batch.Problems)
	found = fresh(found, s.location(found, now), now, &batch.Problems)
	found = agreeing(found, s.config.Unit, &batch.Problems)
	batch.Nodes = samples(found, &batch.Problems)
	return batch, nil
}
