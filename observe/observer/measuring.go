package observer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

// measuring holds one configuration and the samples taken with it. It publishes nothing.
type measuring struct {
	config  Config
	usage   *usage.Store
	batches int
	first   time.Time
	last    *Observation // the newest
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

// retune applies a configuration with the same Reads, and keeps the samples and
// sources.
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

// ingest adds a reading to the usage store.
func (m *measuring) ingest(snapshot *cluster.Snapshot, read *reading, now time.Time) {
	for _, past := range read.history {
		m.usage.Ingest(snapshot, past)
	}
	if len(read.history) > 0 {
		m.usage.EndHistory()
	}
	if len(read.batches) == 0 {
		return
	}
	read.setProblems(m.usage.Ingest(snapshot, read.batches...))
	read.release()
	if m.batches++; m.first.IsZero() && read.nodes() > 0 {
		m.first = now.Round(0)
	}
}

// observation returns the Observation for a reading.
func (m *measuring) observation(snapshot *cluster.Snapshot, now time.Time, read *reading, expected map[string]cluster.Amounts) *Observation {
	view := m.usage.View(snapshot, now, expected)
	resolved := m.config.Lines.Resolve(view)
	next := &Observation{
		At: now, View: view, Board: scorer.NewBoard(view, resolved, m.config.Scorer), Lines: resolved,
		Batches: m.batches, First: m.first, Sources: read.sources, charged: map[string]cluster.Amounts{},
		estimate: m.config.Usage.Estimate, SamplesNeeded: max(m.config.Hot.ConsecutiveSamples, 1),
	}
	next.States = m.states(view, resolved, len(read.batches) > 0)
	next.Ready, next.Fresh = coverage(view)
	next.Settled = m.settled(view)
	next.Blocked = m.gate(next)
	m.last = next
	return next
}

// states classifies the nodes after a new reading. Without a new reading no
// sample counts, and nodes keep their state until they become unknown.
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

func (m *measuring) gate(next *Observation) reasons.Reason {
	fresh, seen := next.Fresh, next.Fresh+next.Unknown()[reasons.WindowTooShort]
	if next.Batches == 0 { // only history is known so far
		fresh, seen = 0, 0
	}
	enough := func(nodes int) bool {
		return nodes > 0 && 100*float64(nodes) >= m.config.MinCoverage*float64(next.Ready)
	}
	switch {
	case enough(fresh):
		return ""
	case enough(seen):
		return reasons.UsageWindowsFilling
	case seen == 0 && next.SourceError() != nil:
		return reasons.UsageSourceUnavailable
	case seen == 0:
		return reasons.NoUsageData
	}
	return reasons.UsageCoverageTooLow
}

// settled reports whether, on enough of the known nodes, the sources' own data covers the
// number of samples that makes a node hot.
func (m *measuring) settled(view *usage.View) bool {
	known, sourceSpan := 0, 0
	for i := range view.Nodes {
		read := &view.Nodes[i]
		if !read.Known() || !view.Snapshot.Nodes[i].Node.Measured() {
			continue
		}
		known++
		settled := true
		for _, window := range m.config.HotWindows {
			w := view.WindowIndex(window)
			settled = settled && w >= 0 && 1+int(read.SourceSpan[w]/m.config.SampleInterval) >= m.config.Hot.ConsecutiveSamples
		}
		if settled {
			sourceSpan++
		}
	}
	return known > 0 && 100*float64(sourceSpan) >= m.config.MinCoverage*float64(known)
}

// read asks the sources in order, each only if something is still missing after the ones
// before it.
func (m *measuring) read(ctx context.Context, snapshot *cluster.Snapshot, now func() time.Time) reading {
	r := reading{now: now, sources: make([]SourceStatus, len(m.config.Sources))}
	if m.batches == 0 {
		r.history = m.past(ctx, snapshot, now())
	}
	wanted := m.wanted(snapshot)
	for i, source := range m.config.Sources {
		r.sources[i].Name = source.Name()
		if i > 0 && m.usage.Lacking() == 0 && wanted.met() {
			continue
		}
		r.ask(ctx, i, source, snapshot)
		if r.sources[i].Err == nil {
			wanted.take(i, &r.batches[len(r.batches)-1])
		}
	}
	return r
}

// past returns the history from before this process started, from the first source that
// has one. It fills the windows that Evenkeel computes.
func (m *measuring) past(ctx context.Context, snapshot *cluster.Snapshot, now time.Time) []usage.Batch {
	for _, source := range m.config.Sources {
		historian, ok := source.(Historian)
		if !ok {
			continue
		}
		past, err := m.pastOf(ctx, historian, snapshot, now)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Reading past usage failed, windows fill from now on", "source", source.Name())
		}
		return past
	}
	return nil
}

// pastOf reads the spans of history one after the other, each up to the start
// of the next.
func (m *measuring) pastOf(ctx context.Context, source Historian, snapshot *cluster.Snapshot, now time.Time) ([]usage.Batch, error) {
	var past []usage.Batch
	spans := m.usage.Spans()
	for i, span := range spans {
		batches, err := source.History(ctx, snapshot, now.Add(-span.Since), span.Step)
		if err != nil {
			return past, err
		}
		for _, batch := range batches {
			if i+1 < len(spans) && !batch.Received.Before(now.Add(-spans[i+1].Since)) {
				break
			}
			past = append(past, batch)
		}
	}
	return past, nil
}

func (m *measuring) wanted(snapshot *cluster.Snapshot) wanted {
	w := wanted{nodes: make(map[string]int, len(snapshot.Nodes))}
	running := 0
	for _, node := range snapshot.Nodes {
		if node.Node.Measured() {
			w.nodes[node.Node.Name] = 0
		}
		if !node.Node.Member() {
			continue
		}
		for _, pod := range node.Pods {
			if !pod.Started.IsZero() {
				running++
			}
		}
	}
	w.pods = int(m.config.MinCoverage / 100 * float64(running))
	if m.last != nil && len(m.config.Sources) > 1 {
		w.place(m.last.View, m.config.Sources)
	}
	return w
}
