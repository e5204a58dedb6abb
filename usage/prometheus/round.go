package prometheus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

const (
	// alwaysAsked is the length up to which windows are asked for at every
	// sample.
	alwaysAsked = 10 * time.Minute
	// keptPart is the part of its length for which a longer window's answer is
	// good, maxKept the most.
	keptPart = 20
	maxKept  = 10 * time.Minute
)

// answer asks for one metric and window of all nodes, or takes the answer that
// is still good.
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
		return fmt.Errorf("asking for %s of nodes: %w", query, err)
	}
	c.finish()
	kept := c.keptAnswer
	kept.asked, kept.values = now, c.names()
	r.answers[i] = &kept
	if query.window.Over > alwaysAsked {
		s.kept[i].Store(r.answers[i])
	}
	return nil
}

// stamps are the times at which nodes were measured last.
type stamps struct {
	at       map[string]time.Time
	problems usage.Problems
}

// stamp asks when the nodes were measured last. Of two servers' times the older
// counts.
func (s *Source) stamp(ctx context.Context, r *round, expression string) error {
	found := r.stamps[expression]
	visit := func(series *series) {
		node, ok := r.index.find(series)
		if !ok || len(series.points) == 0 {
			return
		}
		at, ok := stampOf(series.points[0].value)
		name := r.snapshot.Nodes[node].Node.Name
		if earlier, have := found.at[name]; ok && (!have || at.Before(earlier)) {
			found.at[name] = at
		}
	}
	if err := s.instant(ctx, expression, visit, &found.problems); err != nil {
		return fmt.Errorf("asking when nodes were measured: %w", err)
	}
	return nil
}

// round is one sample in the making.
type round struct {
	snapshot *cluster.Snapshot
	index    *nodeIndex
	queries  []nodeQuery
	// answers are parallel to queries; stamps are by expression.
	answers  []*keptAnswer
	stamps   map[string]*stamps
	problems usage.Problems
}

func (s *Source) newRound(snapshot *cluster.Snapshot) *round {
	r := &round{
		snapshot: snapshot, index: newNodeIndex(snapshot, s.config.NodeLabel),
		queries: s.nodeQueries, answers: make([]*keptAnswer, len(s.nodeQueries)), stamps: map[string]*stamps{},
	}
	for i := range s.nodeQueries {
		if expression := s.nodeQueries[i].stamp; expression != "" && r.stamps[expression] == nil {
			r.stamps[expression] = &stamps{at: make(map[string]time.Time, len(snapshot.Nodes))}
		}
	}
	return r
}

// nodes puts the answers together and collects what was wrong with them; every
// reports nodes without a reading too.
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

// readings returns what is known of a node. What is no longer scraped is left
// out: its windows are of the past.
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

// value returns what a query says of a node. A highest mean is looked at every
// five minutes by the clock: until it has been, the newest mean is the highest
// there is.
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

// collect adds up what was wrong; a series that no query could match counts
// once.
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
