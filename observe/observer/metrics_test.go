package observer

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

func metered(registry *prometheus.Registry) func(*harbor, *Config) {
	return func(_ *harbor, config *Config) { config.Metrics = NewMetrics(registry) }
}

func compare(t *testing.T, registry *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// Metrics contain the states, the gate and the samples left out. A nil Metrics does nothing.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := newHarbor(t, metered(registry))
	h.node("n1", 7000)
	h.node("n2", 1000)
	h.meter.nodes["ghost"] = cluster.Amounts{1, 1}
	h.pass(2 * time.Minute)
	h.fail = errSource
	h.pass(15 * time.Second)
	compare(t, registry, `
# HELP evenkeel_clock_steps_total Clock steps of more than five seconds between two observations, by direction.
# TYPE evenkeel_clock_steps_total counter
evenkeel_clock_steps_total{direction="back"} 0
evenkeel_clock_steps_total{direction="forward"} 0
# HELP evenkeel_hottest_node_usage_ratio Real usage of the hottest known node, as a ratio of its allocatable.
# TYPE evenkeel_hottest_node_usage_ratio gauge
evenkeel_hottest_node_usage_ratio{resource="cpu"} 0.7
evenkeel_hottest_node_usage_ratio{resource="memory"} 0
# HELP evenkeel_nodes Nodes by state.
# TYPE evenkeel_nodes gauge
evenkeel_nodes{state="cool"} 1
evenkeel_nodes{state="hot"} 1
evenkeel_nodes{state="unknown"} 0
evenkeel_nodes{state="warm"} 0
# HELP evenkeel_observation_timestamp_seconds When the newest observation was published.
# TYPE evenkeel_observation_timestamp_seconds gauge
evenkeel_observation_timestamp_seconds 1.772366535e+09
# HELP evenkeel_usage_insufficient 1 while usage is not known well enough to evict anything, by reason.
# TYPE evenkeel_usage_insufficient gauge
evenkeel_usage_insufficient{reason="no_usage_data"} 0
evenkeel_usage_insufficient{reason="usage_coverage_too_low"} 0
evenkeel_usage_insufficient{reason="usage_source_unavailable"} 0
evenkeel_usage_insufficient{reason="usage_windows_filling"} 0
# HELP evenkeel_usage_readings_total Readings of usage sources by result.
# TYPE evenkeel_usage_readings_total counter
evenkeel_usage_readings_total{result="error",source="test"} 1
evenkeel_usage_readings_total{result="success",source="test"} 8
# HELP evenkeel_usage_samples_skipped_total Samples of a source that were rejected, by cause.
# TYPE evenkeel_usage_samples_skipped_total counter
evenkeel_usage_samples_skipped_total{cause="absurd",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="contradictory",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="duplicate",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="foreign",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="future",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="several_clusters",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="stale",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="unmatched_node",source="test"} 8
evenkeel_usage_samples_skipped_total{cause="unmatched_pod",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="unreachable",source="test"} 0
evenkeel_usage_samples_skipped_total{cause="unreadable",source="test"} 0
# HELP evenkeel_usage_source_nodes Known nodes by the source that their usage comes from.
# TYPE evenkeel_usage_source_nodes gauge
evenkeel_usage_source_nodes{source="test"} 2
`, "evenkeel_nodes", "evenkeel_usage_insufficient", "evenkeel_hottest_node_usage_ratio", "evenkeel_usage_readings_total",
		"evenkeel_usage_samples_skipped_total", "evenkeel_usage_source_nodes", "evenkeel_nodes_unknown", "evenkeel_observation_timestamp_seconds")
	if n := testutil.CollectAndCount(h.metrics.duration); n != 1 {
		t.Errorf("%d histograms of the duration", n)
	}
}

// A source that has never been asked has its series from the start, at zero.
func TestMetricsOfSources(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := newHarbor(t, also("second"), metered(registry))
	h.everybody(map[string]int64{"n1": 3000, "n2": 3000})
	h.pass(15 * time.Second)
	names := []string{"evenkeel_usage_readings_total", "evenkeel_usage_source_nodes", "evenkeel_nodes_unknown"}
	compare(t, registry, `
# HELP evenkeel_nodes_unknown Ready nodes whose real usage is not known, by reason.
# TYPE evenkeel_nodes_unknown gauge
evenkeel_nodes_unknown{reason="window_too_short"} 2
# HELP evenkeel_usage_readings_total Readings of usage sources by result.
# TYPE evenkeel_usage_readings_total counter
evenkeel_usage_readings_total{result="error",source="second"} 0
evenkeel_usage_readings_total{result="error",source="test"} 0
evenkeel_usage_readings_total{result="success",source="second"} 0
evenkeel_usage_readings_total{result="success",source="test"} 1
# HELP evenkeel_usage_source_nodes Known nodes by the source that their usage comes from.
# TYPE evenkeel_usage_source_nodes gauge
evenkeel_usage_source_nodes{source="second"} 0
evenkeel_usage_source_nodes{source="test"} 0
`, names...)
	if got, want := testutil.CollectAndCount(h.metrics.skipped), 2*len(usage.Causes()); got != want {
		t.Errorf("%d series of what was skipped, want one of each source and cause: %d", got, want)
	}
	h.pass(2 * time.Minute)
	h.fail = errSource
	h.pass(time.Minute)
	compare(t, registry, `
# HELP evenkeel_usage_readings_total Readings of usage sources by result.
# TYPE evenkeel_usage_readings_total counter
evenkeel_usage_readings_total{result="error",source="second"} 0
evenkeel_usage_readings_total{result="error",source="test"} 4
evenkeel_usage_readings_total{result="success",source="second"} 4
evenkeel_usage_readings_total{result="success",source="test"} 9
# HELP evenkeel_usage_source_nodes Known nodes by the source that their usage comes from.
# TYPE evenkeel_usage_source_nodes gauge
evenkeel_usage_source_nodes{source="second"} 2
evenkeel_usage_source_nodes{source="test"} 0
`, names...)
}

// Exactly one of the reasons for a closed gate is 1, and reasons that no longer apply to any node
// are removed.
func TestMetricsOfTheGate(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := newHarbor(t, metered(registry))
	h.node("n1", 3000)
	gate := func(noData, coverage, source, filling string) string {
		return `
# HELP evenkeel_usage_insufficient 1 while usage is not known well enough to evict anything, by reason.
# TYPE evenkeel_usage_insufficient gauge
evenkeel_usage_insufficient{reason="no_usage_data"} ` + noData + `
evenkeel_usage_insufficient{reason="usage_coverage_too_low"} ` + coverage + `
evenkeel_usage_insufficient{reason="usage_source_unavailable"} ` + source + `
evenkeel_usage_insufficient{reason="usage_windows_filling"} ` + filling + "\n"
	}
	names := []string{"evenkeel_usage_insufficient", "evenkeel_nodes_unknown"}
	unknown := func(reason string) string {
		return `
# HELP evenkeel_nodes_unknown Ready nodes whose real usage is not known, by reason.
# TYPE evenkeel_nodes_unknown gauge
evenkeel_nodes_unknown{reason="` + reason + `"} 1
`
	}
	h.pass(15 * time.Second)
	compare(t, registry, unknown("window_too_short")+gate("0", "0", "0", "1"), names...)
	h.pass(2 * time.Minute)
	compare(t, registry, gate("0", "0", "0", "0"), names...)
	h.fail = errSource
	h.pass(2 * time.Minute)
	compare(t, registry, unknown("usage_stale")+gate("0", "0", "1", "0"), names...)
	h.fail = nil
	h.node("n2", 3000)
	h.pass(15 * time.Second)
	compare(t, registry, unknown("window_too_short")+gate("0", "0", "0", "1"), names...)
}
