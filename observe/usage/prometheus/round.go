package prometheus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

const (
	// alwaysAsked is the length up to which windows are queried for every sample.
	alwaysAsked = 10 * time.Minute
	// its answer was keptPart divides a longer window's length into the time
	// for which its answer stays valid; maxKept is the maximum.
	keptPart = 20
	maxKept  = 10 * time.Minute
)

// answer queries one metric and window of all nodes, or reuses an answer that
// is still valid.
func (s *Source) answer(ctx context.Context, r *round, i int) error {
	query, now := &s.nodeQueries[i], s.config.Now()
	if kept := s.kept[i].Load(); kept != nil {
		if age := now.Sub(kept.asked); age >= 0 && age < min(query.window.Over/keptPart, maxKept) {
			r.answers[i] = kept
			return nil
		}
	}
	c := newColumn(query, r.snapshot, r.index, 1)
	if err := s.instant(ctx, query.expression, c.instant, &c.problems); err != nil {
		return fmt.Errorf("querying %s of nodes: %w", query, err)
	}
	c.asked = now
	r.columns[i] = c
	return nil
}

// judge judges the answers after all of them have arrived.
func (s *Source) judge(r *round, pods *podTable) {
	together(r.columns, pods.settled)
	for i, c := range r.columns {
		if c == nil {
			continue // reused answer
		}
		c.finish()
		kept := c.keptAnswer
		kept.values = c.names()
		r.answers[i] = &kept
		if c.query.window.Over > alwaysAsked {
			s.kept[i].Store(&kept)
		}
	}
}

// together marks all columns if one of them shows that nodes are scraped at their own
// addresses. It treats columns of kubelets and of node-exporter separately.
func together(columns []*column, kubelets bool) {
	settled := map[bool]bool{true: kubelets} // by ofKubelets
	for _, c := range columns {
		if c != nil && c.settled() {
			settled[c.query.ofKubelets] = true
		}
	}
	for _, c := range columns {
		if c != nil {
			c.elsewhere = settled[c.query.ofKubelets]
		}
	}
}

// stamps are the times at which nodes were last measured.
type stamps struct {
	builtIn  bool
	at       map[string]time.Time
	problems usage.Problems
}

// stamp queries the times at which the nodes were last measured. If two servers return
// different times, the older one counts.
func (s *Source) stamp(ctx context.Context, r *round, expression string) error {
	found, from := r.stamps[expression], newOrigin(r.index)
	byOwn := map[bool]map[string]time.Time{false: {}, true: found.at}
	visit := func(series *series) {
		node, ok := r.index.find(series)
		if !ok || len(series.points) == 0 {
			return
		}
		own, why := from.judge(series, node)
		if found.builtIn && why != "" {
			return
		}
		from.counts(series, node, own)
		at, ok := stampOf(series.points[0].value)
		name, times := r.snapshot.Nodes[node].Node.Name, byOwn[own || !found.builtIn]
		if earlier, have := times[name]; ok && (!have || at.Before(earlier)) {
			times[name] = at
		}
	}
	if err := s.instant(ctx, expression, visit, &found.problems); err != nil {
		return fmt.Errorf("querying when nodes were measured: %w", err)
	}
	if from.settled() {
		return nil
	}
	for name, at := range byOwn[false] {
		if _, have := found.at[name]; !have {
			found.at[name] = at
		}
	}
	return nil
}

// round is one sample that is being taken.
type round struct {
	snapshot *cluster.Snapshot
	index    *nodeIndex
	queries  []nodeQuery
	// answers and columns are parallel to queries. A reused answer has no column. stamps
	// is keyed by expression.
	answers  []*keptAnswer
	columns  []*column
	stamps   map[string]*stamps
	problems usage.Problems
}

func (s *Source) newRound(snapshot *cluster.Snapshot) *round {
	r := &round{
		snapshot: snapshot, index: s.config.newNodeIndex(snapshot),
		queries: s.nodeQueries, answers: make([]*keptAnswer, len(s.nodeQueries)), columns: make([]*column, len(s.nodeQueries)), stamps: map[string]*stamps{},
	}
	for i := range s.nodeQueries {
		if expression := s.nodeQueries[i].stamp; expression != "" && r.stamps[expression] == nil {
			r.stamps[expression] = &stamps{builtIn: s.nodeQueries[i].builtIn, at: make(map[string]time.Time, len(snapshot.Nodes))}
		}
	}
	return r
}

// nodes merges the answers and collects their problems. If every is true, nodes without a
// reading are included.
func (r *round) nodes(every bool) []usage.NodeSample {
	r.collect()
	var nodes []usage.NodeSample
	for _, node := range r.snapshot.Nodes {
		if readings := r.readings(node.Node.Name); every || len(readings) > 0 {
			nodes = append(nodes, usage.NodeSample{Name: node.Node.Name, Readings: readings})
		}
	}
	return nodes
}

// readings returns the readings of a node. Metrics that are no longer scraped
// are left out, because their windows lie in the past.
func (r *round) readings(node string) []usage.Reading {
	var readings []usage.Reading
	for i := range r.queries {
		value, at, ok := r.value(i, node)
		if !ok {
			continue
		}
		query := &r.queries[i]
		if query.stamp != "" {
			if at, ok = r.stamps[query.stamp].at[node]; !ok {
				r.problems.Add(usage.Stale, fmt.Sprintf("%s of node %q: no longer scraped", query, node))
				continue
			}
		}
		if readings == nil {
			readings = make([]usage.Reading, 0, len(r.queries))
		}
		readings = append(readings, usage.Reading{Metric: query.metric, Window: query.window, At: at, Value: value})
	}
	return readings
}

// value returns a query's value for a node. A highest mean is evaluated every five
// minutes of wall-clock time. Until the next evaluation, a newer mean may be the highest.
func (r *round) value(query int, node string) (value float64, at time.Time, ok bool) {
	answer := r.answers[query]
	value, ok = answer.values[node]
	if floor := r.queries[query].floor; floor >= 0 {
		if newest, have := r.answers[floor].values[node]; have && (!ok || newest > value) {
			return newest, r.answers[floor].evaluated, true
		}
	}
	return value, answer.evaluated, ok
}

// collect adds up the problems. A series that matched no node counts once, no matter how
// many queries returned it.
func (r *round) collect() {
	unmatched := map[string]bool{}
	for i := range r.answers {
		r.problems.Merge(r.answers[i].problems)
		maps.Copy(unmatched, r.answers[i].unmatched)
	}
	for _, expression := range slices.Sorted(maps.Keys(r.stamps)) {
		r.problems.Merge(r.stamps[expression].problems)
	}
	for _, example := range slices.Sorted(maps.Keys(unmatched)) {
		r.problems.Add(usage.UnmatchedNode, example)
	}
}
