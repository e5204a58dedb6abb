// Package servertime provides the time of the API server's clock.
//
// Evenkeel compares times from several machines: its own, those in objects' metadata and
// those of samples. On a machine whose clock is minutes off, all of these comparisons
// would be wrong. Responses of the API server contain its time in whole seconds, from
// which this package determines the skew of the local clock. It corrects only what is
// certain: several consecutive responses must agree that the skew exceeds Tolerance.
// Callers must wrap only clients of the API server itself, because kubelets, aggregated
// APIs and proxied requests contain the time of other clocks.
//
// The correction may change suddenly, so waits and measured durations must use Local.
package servertime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/klog/v2"
)

// Clock is the local clock, corrected by the skew from the API server's clock. It is safe
// for concurrent use.
type Clock struct {
	local      func() time.Time
	correction atomic.Int64 // nanoseconds to add to local
	known      atomic.Bool

	mu      sync.Mutex
	answers answers
}

// New returns a Clock that equals now until responses have been read.
func New(now func() time.Time) *Clock { return &Clock{local: now} }

// Now returns the time of the API server's clock, if its skew is known.
func (c *Clock) Now() time.Time { return c.local().Add(c.Skew()) }

// Local returns the time of the local clock, which no correction changes.
func (c *Clock) Local() time.Time { return c.local() }

// Skew returns the difference that Now corrects, API server's time minus local time; 0
// within Tolerance.
func (c *Clock) Skew() time.Duration { return time.Duration(c.correction.Load()) }

// Known reports whether enough responses agree for the skew to be known.
func (c *Clock) Known() bool { return c.known.Load() }

// Export registers the clock's metric, unless the registerer is nil.
func (c *Clock) Export(reg prometheus.Registerer) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_clock_skew_seconds",
		Help: "The API server's time less this machine's, as corrected for; 0 while they are at most 2 s apart.",
	}, func() float64 { return c.Skew().Seconds() })
}

// learn adds an answer and corrects the clock if several answers agree that it is wrong.
func (c *Clock) learn(ctx context.Context, heard answer) {
	before, after, changed := c.estimate(heard)
	if !changed {
		return
	}
	logger := klog.FromContext(ctx)
	if after == 0 {
		logger.Info("Clock agrees with the API server's again, so it is no longer corrected", "before", before)
		return
	}
	logger.Info("Clock differs from the API server's and is corrected", "skew", after, "before", before)
}

func (c *Clock) estimate(heard answer) (before, after time.Duration, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers.add(heard)
	agreed, enough := c.answers.agreed()
	before = c.Skew()
	if !enough {
		return before, before, false
	}
	c.known.Store(true)
	if agreed.distance(before) <= Tolerance {
		return before, before, false
	}
	after = agreed.correction()
	c.correction.Store(int64(after))
	return before, after, true
}
