package observer

import (
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// measuring is one configuration with the samples taken under it. It publishes nothing.
type measuring struct {
	config  Config
	usage   *usage.Store
	batches int
	first   time.Time
	last    *Observation // the newest one made
}

func newMeasuring(config Config, now time.Time) (*measuring, error) {
	if len(config.Sources) == 0 || config.Lines == nil || config.SampleInterval <= 0 {
		return nil, errors.New("observer: Sources, Lines and SampleInterval must be set")
	}
	readings, err := usage.NewStore(config.Usage, now)
	if err != nil {
		return nil, fmt.Errorf("making the usage store: %w", err)
	}
	return &measuring{config: config, usage: readings}, nil
}

// retune goes on by a configuration that reads the same, with the samples and the sources it has.
func (m *measuring) retune(config Config) error {
	if len(config.Sources) == 0 || config.Lines == nil || config.SampleInterval <= 0 {
		return errors.New("observer: Sources, Lines and SampleInterval must be set")
	}
	if err := m.usage.Retune(config.Usage); err != nil {
		return err
	}
	config.Sources = m.config.Sources
	m.config = config
	return nil
}

// ingest takes a reading in.
func (m *measuring) ingest(snapshot *cluster.Snapshot, read *reading, now time.Time) {
	for _, past := range read.history {
		m.usage.Ingest(snapshot, past)
	}
	if len(read.batches) == 0 {
		return
	}
	read.tell(m.usage.Ingest(snapshot, read.batches...))
	read.letGo()
	if m.batches++; m.first.IsZero() && read.nodes() > 0 {
		m.first = now
	}
}

// observation is the Observation that follows from a reading.
func (m *measuring) observation(snapshot *cluster.Snapshot, now time.Time, read *reading, expected map[string]cluster.Amounts) *Observation {
	view := m.usage.View(snapshot, now, expected)
	resolved := m.config.Lines.Resolve(view)
	next := &Observation{
		At: now, View: view, Board: scorer.NewBoard(view, resolved, m.config.Scorer), Lines: resolved,
		Batches: m.batches, First: m.first, Sources: read.sources, charged: map[string]cluster.Amounts{},
		estimate: m.config.Usage.Estimate,
	}
	next.States = m.states(view, resolved, len(read.batches) > 0)
	next.Ready, next.Fresh = coverage(view)
	next.Pods, next.Measured = podCoverage(view)
	next.Settled = m.settled(view)
	next.Blocked = m.gate(next)
	m.last = next
	return next
}

// states classifies after a new reading. Without one no sample is counted: nodes keep their state until they are unknown.
func (m *measuring) states(view *usage.View, resolved *thresholds.Resolved, fresh bool) map[string]thresholds.NodeState {
	var before map[string]thresholds.NodeState
	if m.last != nil {
		before = m.last.States
	}
	if fresh || before == nil {
		return resolved.Classify(before, m.config.Hot)
	}
	return thresholds.Keep(before, view)
}
