// Package annotations reads usage from node annotations in the format of
// Crane's controller, its relatives and Evenkeel's own nodesync:
// cpu_usage_avg_5m: "0.38542,2026-11-21T14:00:00Z". It sends no requests; the
// annotations come with the snapshot.
//
// It decides everything that has to be derived from the text: whether a number is a
// fraction or a percentage, which time zone the writer's clock uses (although timestamps
// end in Z), and whether a value is older than its writer's period allows. Uncertain
// values are left out and counted; they are never assumed to be fresher or smaller than
// they are. Everything else is left to usage.Store.
package annotations

import (
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

// Grace is how long after its period a value stays valid, as in Crane's
// readers.
const Grace = 5 * time.Minute

const (
	// maxReadings bounds the readings of one node, because anyone who may
	// annotate a node could name thousands of windows.
	maxReadings = 32
	// outliers limits the nodes that are ignored when the time zone is detected: the
	// newest timestamps of one in outliers nodes do not count, because one node with a
	// wrong clock must not decide for all.
	outliers = 20
)

// Source reads usage. It is safe for concurrent use.
type Source struct {
	unit Unit
	// zone is the time zone of the writer's clock; nil detects it from the
	// timestamps.
	zone    *time.Location
	now     func() time.Time
	periods map[time.Duration]time.Duration // by window length
	maxAge  time.Duration

	mu    sync.Mutex
	zones zones
}

// New returns a Source.
func (c *Config) New(env *access.Env) (access.Reader, error) { return c.source(env.Now), nil }

func (c *Config) source(now func() time.Time) *Source {
	s := &Source{
		unit: c.Unit, zone: check.Location(c.Timezone), now: now,
		periods: map[time.Duration]time.Duration{}, maxAge: source.OtherPeriod + Grace,
		zones: zones{candidates: []*time.Location{time.UTC, shanghai, time.Local}},
	}
	for window, period := range c.Periods {
		s.periods[window.Over] = max(s.periods[window.Over], period.Duration)
		s.maxAge = max(s.maxAge, period.Duration+Grace)
	}
	return s
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }
