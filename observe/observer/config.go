package observer

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
)

// Config is what an Observer depends on.
type Config struct {
	// Sources are in order of preference: each node and pod uses the first source
	// that has a fresh and plausible sample.
	Sources []Source
	// Reads holds everything on which samples depend. Samples are compatible if
	// the Reads of their configurations are deeply equal.
	Reads  any
	Usage  usage.Config
	Scorer scorer.Config
	// Lines are the one definition of hot.
	Lines *thresholds.Set
	Hot   thresholds.HotRule
	// HotWindows are the windows that can make a node hot.
	HotWindows []usage.Window
	// Taints defines what the taints of nodes mean, and which nodes are selected.
	Taints         cluster.TaintRule
	MinCoverage    float64 // minimum percentage of nodes with fresh usage; below it nothing is evicted
	SampleInterval time.Duration
	// ObservationPeriod is how long new sources without history are observed
	// before they replace others.
	ObservationPeriod time.Duration
	Ledger            ledger.Config // its Listener is set by the observer
	// Listener may be nil.
	Listener Listener
	Now      func() time.Time
	// Local is a clock that does not step and so reveals steps of Now; its time
	// of day does not matter. If it is nil, steps are not noticed.
	Local   func() time.Time
	Metrics *Metrics
}

// Listener receives what is to be counted and reported.
type Listener interface {
	// Observed is called with each Observation, once it is published.
	Observed(o *Observation)
	// Gated is called when the gate closes, opens or changes its reason.
	Gated(o *Observation)
	// Ended is called for every move that ends, under the ledger's lock.
	Ended(move ledger.Move)
}
