package prometheus

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// nodeQuery is one query about all nodes.
type nodeQuery struct {
	metric     usage.Metric
	window     usage.Window
	unit       source.Unit
	expression string
	// stamp is the expression for the time at which each node was measured; empty if the
	// evaluation time is used instead.
	stamp string
	// builtIn is true if the policy sets no expression for this metric. Anyone with a
	// scraped page can then add series to it, so the origin of its series is checked.
	builtIn bool
	// ofKubelets is true if kubelets, rather than node-exporter, export its metric.
	ofKubelets bool
	// floor is the index of the query for the five-minute mean, which is a lower bound
	// for this query's maximum; -1 if there is none.
	floor int
}

func (q *nodeQuery) String() string { return string(q.metric) + " " + q.window.String() }

// nodeQueries returns the queries about nodes, one per metric and window.
func (c *settings) nodeQueries() ([]nodeQuery, error) {
	var queries []nodeQuery
	for _, metric := range usage.Distinct(nil, c.Metrics) {
		ofMetric, err := c.metricQueries(metric)
		if err != nil {
			return nil, err
		}
		queries = append(queries, ofMetric...)
	}
	for i, of := range queries {
		queries[i].floor = slices.IndexFunc(queries, func(q nodeQuery) bool { return isMaxAvg(of) && isAvg5m(q) && q.metric == of.metric })
	}
	return queries, nil
}

// metricQueries returns the queries about one metric. The highest five-minute mean also
// needs the newest mean, if there is an expression for it.
func (c *settings) metricQueries(metric usage.Metric) ([]nodeQuery, error) {
	var queries []nodeQuery
	windows := usage.Distinct(nil, c.Windows)
	if metric == usage.CPUStolen {
		windows = []usage.Window{usage.Avg5m}
	}
	for _, window := range windows {
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

func (c *settings) nodeQuery(metric usage.Metric, window usage.Window) (nodeQuery, error) {
	override := c.Queries.Nodes[metric]
	query := nodeQuery{metric: metric, window: window, unit: override.unit(metric)}
	if metric == usage.CPUStolen {
		query.unit = source.Cores
	}
	preset := c.nodeBase(metric)
	query.builtIn, query.ofKubelets = override.Expr == "", preset.ofContainers || c.NodeMetrics == Kubelet
	if override.Expr != "" {
		preset = base{now: override.Expr, stamp: override.Expr}
	}
	if preset.now != "" {
		query.expression, query.stamp = over(preset.now, window, stepOf(window)), "timestamp("+preset.stamp+")"
		if preset.ofContainers {
			query.expression = c.labelled(query.expression)
		}
	}
	if window == usage.Last && override.Expr != "" && plainStamp(override.Expr) == "" {
		query.stamp = "" // a second query would only return the evaluation time
	}
	if whole := override.Windows[window]; whole != "" {
		query.expression, query.builtIn = whole, false
		if override.Expr == "" {
			query.stamp = plainStamp(whole)
		}
	}
	if query.expression == "" {
		return query, fmt.Errorf("queries[%q]: no expression for the window %s", metric, window)
	}
	return query, nil
}

// plainSelector is a metric with or without matchers, such as a recording
// rule's.
var plainSelector = regexp.MustCompile(`^\s*[a-zA-Z_:][a-zA-Z0-9_:]*\s*(\{[^{}]*\})?\s*$`)

func plainStamp(expression string) string {
	if !plainSelector.MatchString(expression) {
		return ""
	}
	return "timestamp(" + expression + ")"
}

// podQuery is one query about all pods.
type podQuery struct {
	metric     usage.Metric
	window     usage.Window
	unit       source.Unit
	expression string
	builtIn    bool // as for a nodeQuery
}

// podQueries returns the queries about pods: always the means, and the samples only if
// nodes are queried for samples.
func (c *settings) podQueries() []podQuery {
	if c.NodesOnly {
		return nil
	}
	windows := []usage.Window{usage.Avg5m}
	if slices.Contains(c.Windows, usage.Last) {
		windows = append(windows, usage.Last)
	}
	var queries []podQuery
	for _, window := range windows {
		for _, metric := range []usage.Metric{usage.CPU, usage.Memory} {
			override := c.Queries.Pods[metric]
			now := cmp.Or(override.Expr, c.podBase(metric))
			expression := cmp.Or(override.Windows[window], over(now, window, podStep))
			builtIn := override.Expr == "" && override.Windows[window] == ""
			queries = append(queries, podQuery{metric, window, override.unit(metric), expression, builtIn})
		}
	}
	return queries
}
