package monitoring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// lasts is how long a state continues, in minutes. It exceeds every alert's waiting time
// plus the range of its expression.
const lasts = 4 * 60

// Installed reports whether promtool is on the PATH.
func Installed() bool {
	_, err := exec.LookPath("promtool")
	return err == nil
}

// CheckFiring returns an error unless exactly the given ones of the shipped alerts fire
// when processes continue for hours as they were recorded. Without a recording,
// Prometheus has nothing to scrape.
func CheckFiring(ctx context.Context, dir string, want []string, recordings ...Recording) error {
	rules, err := RulesFile(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(rules)
	if err != nil {
		return fmt.Errorf("reading the alerts: %w", err)
	}
	content, err := yaml.Marshal(ruleTest(rules, named(string(text)), want, recordings))
	if err != nil {
		return fmt.Errorf("writing a test of rules: %w", err)
	}
	path := filepath.Join(dir, "firing.yaml")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing a test of rules: %w", err)
	}
	out, err := exec.CommandContext(ctx, "promtool", "test", "rules", path).CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("want these alerts to fire: %q", want), fmt.Errorf("promtool: %w: %s", err, bytes.TrimSpace(out)))
	}
	return nil
}

// metric matches the name of a metric in an expression.
var metric = regexp.MustCompile(`\b(evenkeel|process|go|rest_client)_[a-z_]+`)

// named returns the names of the metrics that rules use.
func named(rules string) map[string]bool {
	names := map[string]bool{}
	for _, name := range metric.FindAllString(rules, -1) {
		names[name] = true
	}
	return names
}

type object = map[string]any

// sample formats a value for promtool's rule tests, where _ means no value.
func sample(value float64) string {
	if math.IsNaN(value) {
		return "_"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// ruleTest returns a test for promtool that expects exactly the given alerts to fire at
// its end.
func ruleTest(rules string, names map[string]bool, want []string, recordings []Recording) object {
	series := []object{}
	for i := range recordings {
		r := &recordings[i]
		for _, one := range r.series() {
			name, _, _ := strings.Cut(one, "{")
			if !names[name] {
				continue
			}
			values := []string{}
			for _, value := range r.goOn(one, lasts) {
				values = append(values, sample(value))
			}
			series = append(series, object{"series": r.labelled(one), "values": strings.Join(values, " ")})
		}
	}
	samples := []object{}
	for _, alert := range want {
		samples = append(samples, object{"labels": fmt.Sprintf("{alertname=%q}", alert), "value": 1})
	}
	return object{
		"rule_files": []string{rules}, "evaluation_interval": "1m",
		"tests": []object{{
			"interval": "1m", "input_series": series,
			"promql_expr_test": []object{{
				"expr": `group by (alertname) (ALERTS{alertstate="firing"})`, "eval_time": fmt.Sprintf("%dm", lasts), "exp_samples": samples,
			}},
		}},
	}
}
