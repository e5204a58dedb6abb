package prometheus

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/evenkeel/evenkeel/usage"
)

// nodeQuery is one question about all nodes.
type nodeQuery struct {
	metric     usage.Metric
	window     usage.Window
	unit       Unit
	expression string
	// stamp is the expression of when each node was measured; empty where the time of the evaluation has to do.
	stamp string
	// floor is the query of the mean of five minutes below which this one's highest cannot be, -1 if there is none.
	floor int
}

func (q *nodeQuery) String() string { return string(q.metric) + " " + q.window.String() }

// nodeQueries returns what is asked about nodes, one query per metric and window.
func (c *Config) nodeQueries() ([]nodeQuery, error) {
	var queries []nodeQuery
	for _, metric := range unique(c.Metrics) {
		ofMetric, err := c.metricQueries(metric)
		if err != nil {
			return nil, err
		}
		begin, newest := len(queries), slices.IndexFunc(ofMetric, isAvg5m)
		for _, query := range ofMetric {
			if query.floor = -1; newest >= 0 && isMaxAvg(query) {
				query.floor = begin + newest
			}
			queries = append(queries, query)
		}
	}
	return queries, nil
}

// metricQueries returns what is asked about one metric. Where the highest mean of five minutes is asked for, the newest is
// too, if it can be.
func (c *Config) metricQueries(metric usage.Metric) ([]nodeQuery, error) {
	var queries []nodeQuery
	for _, window := range unique(c.Windows) {
		query, err := c.nodeQuery(metric, window)
		if err != nil {
			return nil, err
		}
		queries = append(queries, query)
	}
	if !slices.ContainsFunc(queries, isMaxAvg) || slices.ContainsFunc(queries, isAvg5m) {
		return queries, nil
	}
	if newest, err := c.nodeQuery(metric, usage.Avg5m); err == nil {
		queries = append(queries, newest)
	}
	return queries, nil
}

func isAvg5m(q nodeQuery) bool  { return q.window == usage.Avg5m }
func isMaxAvg(q nodeQuery) bool { return q.window.Kind == usage.KindMaxAvg }

func (c *Config) nodeQuery(metric usage.Metric, window usage.Window) (nodeQuery, error) {
	query := nodeQuery{metric: metric, window: window, unit: defaultUnit(metric)}
	preset := c.nodeBase(metric)
	override := c.Queries[metric]
	if query.unit = orElse(override.Unit, query.unit); override.Expression != "" {
		preset = base{override.Expression, override.Expression}
	}
	if preset.now != "" {
		query.expression, query.stamp = over(preset.now, window, stepOf(window)), "timestamp("+preset.stamp+")"
	}
	if window == usage.Last && override.Expression != "" && plainStamp(override.Expression) == "" {
		query.stamp = "" // it would be the time of the evaluation, for a second query
	}
	if whole := override.Windows[window]; whole != "" {
		query.expression = whole
		if override.Expression == "" {
			query.stamp = plainStamp(whole)
		}
	}
	if query.expression == "" {
		return query, fmt.Errorf("queries[%q]: no expression for the window %s", metric, window)
	}
	if err := checkUnit(query.unit, metric, false); err != nil {
		return query, fmt.Errorf("queries[%q]: %w", metric, err)
	}
	return query, nil
}

// plainSelector is a metric with or without matchers, such as a recording rule's.
var plainSelector = regexp.MustCompile(`^\s*[a-zA-Z_:][a-zA-Z0-9_:]*\s*(\{[^{}]*\})?\s*$`)

func plainStamp(expression string) string {
	if !plainSelector.MatchString(expression) {
		return ""
	}
	return "timestamp(" + expression + ")"
}

// podQuery is one question about all pods.
type podQuery struct {
	metric     usage.Metric
	window     usage.Window
	unit       Unit
	expression string
}

// podQueries returns what is asked about pods: means always, samples only if they are asked of nodes.
func (c *Config) podQueries() ([]podQuery, error) {
	if c.NodesOnly {
		return nil, nil
	}
	windows := []usage.Window{usage.Avg5m}
	if slices.Contains(c.Windows, usage.Last) {
		windows = append(windows, usage.Last)
	}
	var queries []podQuery
	for _, window := range windows {
		for _, metric := range []usage.Metric{usage.CPU, usage.Memory} {
			override := c.PodQueries[metric]
			now := orElse(override.Expression, c.podBase(metric))
			query := podQuery{metric, window, orElse(override.Unit, defaultUnit(metric)), over(now, window, podStep)}
			query.expression = orElse(override.Windows[window], query.expression)
			if err := checkUnit(query.unit, metric, true); err != nil {
				return nil, fmt.Errorf("podQueries[%q]: %w", metric, err)
			}
			queries = append(queries, query)
		}
	}
	return queries, nil
}

// unique returns the values without repetitions.
func unique[T comparable](values []T) []T {
	var once []T
	for _, v := range values {
		if !slices.Contains(once, v) {
			once = append(once, v)
		}
	}
	return once
}
