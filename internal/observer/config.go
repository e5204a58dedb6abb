package observer

import (
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// Config is what an Observer depends on.
type Config struct {
	// Sources in the order of choice: a node and a pod take the first that has
	// a fresh and sane sample.
	Sources []Source
	// Reads is what the samples depend on: those taken under configurations
	// with deeply equal Reads go together.
	Reads  any
	Usage  usage.Config
	Scorer scorer.Config
	// Lines are the one definition of hot.
	Lines *thresholds.Set
	Hot   thresholds.HotRule
	// HotWindows are those that make a node hot.
	HotWindows     []usage.Window
	MinCoverage    float64 // percent of ready nodes with fresh usage below which nothing is evicted
	SampleInterval time.Duration
	// ObservationPeriod is how long new sources without a memory are watched
	// before they take over from others.
	ObservationPeriod time.Duration
	Ledger            ledger.Config // the Listener is the observer's own
	// Listener may be nil.
	Listener Listener
	Now      func() time.Time
	Metrics  *Metrics
}

// Listener is told what others count and report.
type Listener interface {
	// Gated is told when the gate closes, opens or changes its reason.
	Gated(o *Observation)
	// Ended is told every move that ends, under the ledger's lock.
	Ended(move ledger.Move)
}
