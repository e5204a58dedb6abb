package prometheus

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

const (
	// maxSteps bounds the steps of a history, and maxHistoryReadings the total number of
	// its readings.
	maxSteps           = 200
	maxHistoryReadings = 1 << 20
	minStep            = time.Second
)

// grid is a sequence of evenly spaced times.
type grid struct {
	start time.Time
	step  time.Duration
	steps int
}

// newGrid returns the times from since to now, with longer steps if there would
// be too many.
func newGrid(since, now time.Time, step time.Duration, most int) grid {
	length := now.Sub(since)
	if length < 0 {
		return grid{}
	}
	most = max(most, 1)
	if shortest := length/time.Duration(most) + time.Millisecond; length/max(step, minStep) >= time.Duration(most) {
		step = shortest
	}
	step = max(step, minStep).Round(time.Millisecond)
	return grid{since, step, min(int(length/step)+1, most)}
}

func (g grid) at(i int) time.Time { return g.start.Add(time.Duration(i) * g.step) }

// index returns the step to which a time belongs.
func (g grid) index(at time.Time) (int, bool) {
	i := int(math.Round(float64(at.Sub(g.start)) / float64(g.step)))
	return i, i >= 0 && i < g.steps && at.Sub(g.at(i)).Abs() < g.step/2
}

// form returns the range query for an expression over the grid.
func (g grid) form(expression string) url.Values {
	seconds := func(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }
	return url.Values{
		"query": {expression},
		"start": {seconds(g.start.UnixMilli())},
		"end":   {seconds(g.at(g.steps - 1).UnixMilli())},
		"step":  {seconds(g.step.Milliseconds())},
	}
}

// History returns past readings of nodes, oldest first, one Batch per step with
// Received as that step's time. Steps become longer if there would be more than
// 200 of them, or too many readings in total. Metrics that are queried only as
// whole windows have no history.
func (s *Source) History(ctx context.Context, snapshot *cluster.Snapshot, since time.Time, step time.Duration) ([]usage.Batch, error) {
	queries := s.historyQueries()
	if len(queries) == 0 || len(snapshot.Nodes) == 0 {
		return nil, nil
	}
	g := newGrid(since, s.config.Now(), step, min(maxSteps, maxHistoryReadings/(len(queries)*len(snapshot.Nodes))))
	if g.steps == 0 {
		return nil, nil
	}
	index := s.config.newNodeIndex(snapshot)
	columns := make([]*column, len(queries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.config.parallel)
	for i := range queries {
		columns[i] = newColumn(&queries[i], snapshot, index, g.steps)
		group.Go(func() error { return s.past(ctx, columns[i], g) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	together(columns, false)
	for _, c := range columns {
		c.finish()
	}
	return s.batches(columns, g), nil
}

// historyQueries returns one query per metric, for its current value.
func (s *Source) historyQueries() []nodeQuery {
	var queries []nodeQuery
	for _, metric := range usage.Distinct(nil, s.config.Metrics) {
		if query, err := s.config.nodeQuery(metric, usage.Last); err == nil {
			queries = append(queries, query)
		}
	}
	return queries
}

// past fills a column from a range query.
func (s *Source) past(ctx context.Context, c *column, g grid) error {
	_, err := s.api.ask(ctx, rangeEndpoint, g.form(c.query.expression), func(s *series) {
		node, own, ok := c.find(s)
		if !ok {
			return
		}
		for _, p := range s.points {
			if step, ok := g.index(p.at); ok {
				c.set(node, step, own, p.value)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("querying the history of %s: %w", c.query.metric, err)
	}
	return nil
}

// batches converts columns to a Batch per step. Problems are not reported here but with
// the samples that follow.
func (s *Source) batches(columns []*column, g grid) []usage.Batch {
	batches := make([]usage.Batch, 0, g.steps)
	for step := range g.steps {
		batch := usage.Batch{Source: Name, Received: g.at(step), MaxAge: s.config.MaxAge}
		for n, node := range columns[0].nodes {
			var readings []usage.Reading
			for _, c := range columns {
				if at := c.cells[n*g.steps+step]; at.state == known {
					readings = append(readings, usage.Reading{Metric: c.query.metric, Window: usage.Last, At: g.at(step), Value: at.value})
				}
			}
			if len(readings) > 0 {
				batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: node.Node.Name, Readings: readings})
			}
		}
		if len(batch.Nodes) > 0 {
			batches = append(batches, batch)
		}
	}
	return batches
}
