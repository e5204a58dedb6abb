// Package monitoring reads the shipped alerts and dashboard, and evaluates them with the
// metrics of real processes.
//
// An alert fires when its condition has lasted for minutes or an hour. No test waits that
// long. Instead, a test brings a process into the state and records its metrics, and
// promtool evaluates the rules with series that continue like the recorded ones
// (Recording, CheckFiring). A real Prometheus that runs long enough uses the rules
// themselves (RulesFile).
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

// labels holds the labels that a scrape adds.
var labels = map[string]string{"job": "evenkeel", "namespace": evenkeel.Namespace}

// Watch starts a Prometheus that scrapes processes at their metrics addresses and
// evaluates the shipped alerts.
func Watch(ctx context.Context, dir string, every time.Duration, processes ...string) (*prometheus.Server, error) {
	rules, err := RulesFile(ctx)
	if err != nil {
		return nil, err
	}
	return prometheus.Start(ctx, prometheus.Config{
		Dir: dir, ScrapeInterval: every, Processes: processes, Labels: labels, RuleFiles: []string{rules},
	})
}

// Fired returns the alerts that fired within the given duration before now.
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

// Empty returns the dashboard queries that had no data at any time within the given
// duration before now, so that their panels are empty.
func Empty(ctx context.Context, server *prometheus.Server, within time.Duration) (empty []Query, err error) {
	queries, err := Queries(ctx)
	if err != nil {
		return nil, err
	}
	for _, query := range queries {
		// Comparisons with NaN are false, so this excludes series without a value.
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

// chosen replaces Grafana's variables: it selects the whole range of a short run, and all
// processes.
var chosen = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$namespace", ".*", "$job", ".*")

// Queries returns the queries of the shipped dashboard, with variables replaced as
// Grafana would.
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

// shipped returns the path of a file in the chart.
func shipped(ctx context.Context, name string) (string, error) {
	root, err := evenkeel.Root(ctx)
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "charts", "evenkeel", "files", name), nil
}
