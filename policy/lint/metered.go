package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
)

const lowNodeUtilization = "LowNodeUtilization"

// metered is an enabled LowNodeUtilization of upstream that is configured to use measured usage. Upstream's own type is
// not used because it pulls in a client.
type metered struct {
	profile int
	field   string
	// fails explains why the plugin fails in every cycle; empty if it can read usage.
	fails string

	Thresholds             map[string]float64 `json:"thresholds"`
	TargetThresholds       map[string]float64 `json:"targetThresholds"`
	UseDeviationThresholds bool               `json:"useDeviationThresholds"`
	MetricsUtilization     *struct {
		MetricsServer bool   `json:"metricsServer"` // deprecated
		Source        string `json:"source"`
		Prometheus    *struct {
			Query string `json:"query"`
		} `json:"prometheus"`
	} `json:"metricsUtilization"`
}

// metered returns every enabled LowNodeUtilization that uses measured usage.
func (s *survey) metered() (found []metered) {
	if s.Profiles == nil {
		return nil
	}
	for i := range s.Profiles.Profiles {
		profile := &s.Profiles.Profiles[i]
		given, ok := policy.ArgsOf(profile, lowNodeUtilization)
		if !ok || !slices.Contains(profile.Plugins.Balance.Enabled, lowNodeUtilization) {
			continue
		}
		m := metered{profile: i, field: fmt.Sprintf("profiles[%d].pluginConfig", i)}
		raw, err := json.Marshal(given)
		if err != nil || json.Unmarshal(raw, &m) != nil {
			continue
		}
		if m.MetricsUtilization == nil {
			continue
		}
		m.fails = m.lacks(s.Profiles)
		found = append(found, m)
	}
	return found
}

// lacks explains what is missing in the policy for the plugin to read usage. Upstream
// notices this only when the plugin runs.
func (m *metered) lacks(p *api.DeschedulerPolicy) string {
	provided := func(source api.MetricsSource) bool {
		return slices.ContainsFunc(p.MetricsProviders, func(given api.MetricsProvider) bool {
			return given.Source == source && (source != api.PrometheusMetrics || given.Prometheus != nil && given.Prometheus.URL != "")
		})
	}
	switch u := m.MetricsUtilization; {
	case u.MetricsServer, u.Source == string(api.KubernetesMetrics):
		if !provided(api.KubernetesMetrics) && (p.MetricsCollector == nil || !p.MetricsCollector.Enabled) {
			return "the policy does not say that metrics-server is read: add `metricsProviders: [{source: KubernetesMetrics}]`"
		}
		if others := m.resourcesBut("cpu", "memory", "pods"); len(others) > 0 {
			return fmt.Sprintf("metrics-server does not measure %s; allowed are thresholds of cpu, memory and pods", strings.Join(others, ", "))
		}
	case u.Source != string(api.PrometheusMetrics):
		return fmt.Sprintf("its metricsUtilization.source is %q; allowed are %s and %s", u.Source, api.KubernetesMetrics, api.PrometheusMetrics)
	case !provided(api.PrometheusMetrics):
		return "the policy does not say where Prometheus is: add `metricsProviders: [{source: Prometheus, prometheus: {url: …}}]`"
	default:
		if others := m.resourcesBut(metricResource); len(others) > 0 {
			return fmt.Sprintf("its query gives one value per node, so its only threshold must be %s, not %s", metricResource, strings.Join(others, ", "))
		}
	}
	return ""
}

// metricResource is the resource name that upstream uses for the value of a query.
const metricResource = "MetricResource"

// resourcesBut returns the resources with thresholds that are not in readable. Both kinds
// of thresholds have the same resources.
func (m *metered) resourcesBut(readable ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.Thresholds)), func(name string) bool { return slices.Contains(readable, name) })
}

// words describes what the plugin does.
func (m *metered) words() string {
	by := "metrics-server measures"
	if u := m.MetricsUtilization; u.Source == "Prometheus" || u.Prometheus != nil {
		by = "Prometheus measures"
		if u.Prometheus != nil && u.Prometheus.Query != "" {
			by = fmt.Sprintf("Prometheus answers to %q", u.Prometheus.Query)
		}
	}
	above, below := "", ""
	if m.UseDeviationThresholds {
		above, below = "the mean of all nodes by ", "it by "
	}
	return fmt.Sprintf("LowNodeUtilization evicts by the usage that %s: off nodes above %s%s in any (targetThresholds), while there are nodes below %s%s in all (thresholds)",
		by, above, percentsOf(m.TargetThresholds), below, percentsOf(m.Thresholds))
}

// percentsOf formats thresholds, for example "cpu 50%, memory 50%".
func percentsOf(thresholds map[string]float64) string {
	var words []string
	for resource, percent := range thresholds {
		words = append(words, fmt.Sprintf("%s %s%%", resource, number(percent)))
	}
	slices.Sort(words)
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
