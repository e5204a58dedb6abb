// Package monitoring reads the shipped alerts and dashboard, and evaluates them
// on the metrics of real processes.
//
// An alert fires when its condition has lasted for minutes or an hour. No test
// waits that long: a process is brought into the state, its metrics are
// recorded, and promtool evaluates the rules on series that continue as these
// did (Recording, CheckFiring). Where a real Prometheus runs long enough, it
// has the rules as they are (RulesFile).
package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// labels are the labels of a scrape.
var labels = map[string]string{"job": "evenkeel", "namespace": evenkeel.Namespace}

// Watch starts a Prometheus that scrapes processes at their metrics addresses
// and has the shipped alerts.
func Watch(ctx context.Context, dir string, every time.Duration, processes ...string) (*prometheus.Server, error) {
	rules, err := RulesFile(ctx)
	if err != nil {
		return nil, err
	}
	return prometheus.Start(ctx, prometheus.Config{
		Dir: dir, ScrapeInterval: every, Processes: processes, Labels: labels, RuleFiles: []string{rules},
	})
}

// Fired returns the alerts that fired during the last period of this length.
func Fired(ctx context.Context, server *prometheus.Server, within time.Duration) (alerts []string, err error) {
	expr := fmt.Sprintf(`group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[%ds]))`, int(within.Seconds())+1)
	samples, err := server.Query(ctx, expr)
	if err != nil {
		return nil, err
	}
	for _, sample := range samples {
		alerts = append(alerts, sample.Labels["alertname"])
	}
	slices.Sort(alerts)
	return alerts, nil
}

// Empty returns the dashboard's queries that had no data at any time during the
// last period of this length: their panels are empty.
func Empty(ctx context.Context, server *prometheus.Server, within time.Duration) (empty []Query, err error) {
	queries, err := Queries(ctx)
	if err != nil {
		return nil, err
	}
	for _, query := range queries {
		// Comparisons with NaN are false, so series without a value are left out.
		expr := fmt.Sprintf("count_over_time(((%s) > -Inf)[%ds:5s])", query.Expr, int(within.Seconds())+1)
		samples, err := server.Query(ctx, expr)
		if err != nil {
			return nil, err
		}
		if len(samples) == 0 {
			empty = append(empty, query)
		}
	}
	return empty, nil
}

// Alert is a shipped alert. It fires when its condition has held for the duration After.
type Alert struct {
	Name  string
	After time.Duration
}

// RulesFile returns the path of the shipped alerts, a rule file of Prometheus.
func RulesFile(ctx context.Context) (string, error) { return shipped(ctx, "alerts.yaml") }

// Alerts returns the shipped alerts.
func Alerts(ctx context.Context) ([]Alert, error) {
	path, err := RulesFile(ctx)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the alerts: %w", err)
	}
	return readAlerts(content)
}

func readAlerts(content []byte) (alerts []Alert, err error) {
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, For string }
		}
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("reading the alerts: %w", err)
	}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			after, err := time.ParseDuration(rule.For)
			if err != nil || rule.Alert == "" {
				return nil, fmt.Errorf("reading alert %q: for %q: %w", rule.Alert, rule.For, err)
			}
			alerts = append(alerts, Alert{Name: rule.Alert, After: after})
		}
	}
	return alerts, nil
}

// Query is a query of the shipped dashboard.
type Query struct{ Panel, Expr string }

// chosen are Grafana's variables: the whole range of a short run, of every
// process.
var chosen = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$namespace", ".*", "$job", ".*")

// Queries returns the queries of the shipped dashboard, as Grafana would ask.
func Queries(ctx context.Context) ([]Query, error) {
	path, err := shipped(ctx, "dashboard.json")
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the dashboard: %w", err)
	}
	return readQueries(content)
}

func readQueries(content []byte) (queries []Query, err error) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		return nil, fmt.Errorf("reading the dashboard: %w", err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, Query{Panel: panel.Title, Expr: chosen.Replace(target.Expr)})
		}
	}
	return queries, nil
}

// shipped returns the path of a file of the chart.
func shipped(ctx context.Context, name string) (string, error) {
	root, err := evenkeel.Root(ctx)
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "charts", "evenkeel", "files", name), nil
}
