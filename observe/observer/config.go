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
	// Reads holds all settings that affect samples. Samples of two configurations are
	// compatible if their Reads are deeply equal.
	Reads  any
	Usage  usage.Config
	Scorer scorer.Config
	// Lines is the only definition of hot.
	Lines *thresholds.Set
	Hot   thresholds.HotRule
	// HotWindows are the windows that can make a node hot.
	HotWindows []usage.Window
	// Taints defines what the taints of nodes mean, and which nodes are selected.
	Taints         cluster.TaintRule
	MinCoverage    float64 // minimum percentage of nodes with fresh usage; nothing is evicted below it
	SampleInterval time.Duration
	// ObservationPeriod is how long new sources without history are observed before they
	// replace the old ones.
	ObservationPeriod time.Duration
	Ledger            ledger.Config // its Listener is set by the observer
	// Listener may be nil.
	Listener Listener
	Now      func() time.Time
	// Local is a clock that does not step and therefore reveals steps of Now. Its time of
	// day does not matter. If Local is nil, steps are not noticed.
	Local   func() time.Time
	Metrics *Metrics
}

// Listener receives the events to count and report.
type Listener interface {
	// Observed is called with each Observation, once it is published.
	Observed(o *Observation)
	// Gated is called when the gate closes, opens or changes its reason.
	Gated(o *Observation)
	// Ended is called for every move that ends, under the ledger's lock.
	Ended(move ledger.Move)
}
