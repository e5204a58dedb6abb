package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
)

const lowNodeUtilization = "LowNodeUtilization"

// metered is upstream's LowNodeUtilization in a profile where it goes by measured
// usage. Its type pulls in a client.
type metered struct {
	profile int
	field   string

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

// metered returns every enabled LowNodeUtilization that goes by measured usage.
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
		if u := m.MetricsUtilization; u != nil && (u.MetricsServer || u.Source != "" || u.Prometheus != nil) {
			found = append(found, m)
		}
	}
	return found
}

// words say what the plugin does.
func (m *metered) words() string {
	by := "metrics-server measures"
	if u := m.MetricsUtilization; u.Source == "Prometheus" || u.Prometheus != nil {
		by = "Prometheus measures"
		if u.Prometheus != nil && u.Prometheus.Query != "" {
			by = fmt.Sprintf("Prometheus answers to %q", u.Prometheus.Query)
		}
	}
	of := ""
	if m.UseDeviationThresholds {
		of = " from the mean of all nodes"
	}
	return fmt.Sprintf("LowNodeUtilization evicts by the usage that %s: off nodes above %s in any (targetThresholds), while there are nodes below %s in all (thresholds)%s",
		by, percentsOf(m.TargetThresholds), percentsOf(m.Thresholds), of)
}

// percentsOf lists thresholds, such as "cpu 50%, memory 50%".
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
