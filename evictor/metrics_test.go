package evictor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
)

// Evictions are counted by namespace, plugin and result; by result alone under
// the name that they had before.
func TestEvictionsAreCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	gate := newGate(t, newAPI(t, aPod("web-1")), func(c *ClientConfig) { c.Metrics = NewMetrics(registry) })
	for _, name := range []string{"web-1", "web-2"} {
		eviction := evictionOf(name)
		eviction.Annotations = map[string]string{"reason": "triggered by default/RemoveDuplicates: RemoveDuplicates"}
		_ = gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), eviction)
	}
	want := `
# HELP evenkeel_evictions_total Deprecated: use evenkeel_pod_evictions_total.
# TYPE evenkeel_evictions_total counter
evenkeel_evictions_total{result="PodChanged"} 1
evenkeel_evictions_total{result="success"} 1
# HELP evenkeel_pod_evictions_total Evictions by namespace, by the plugin that asked for them, and by result: success, or why there was none.
# TYPE evenkeel_pod_evictions_total counter
evenkeel_pod_evictions_total{namespace="ns",result="pod_changed",strategy="RemoveDuplicates"} 1
evenkeel_pod_evictions_total{namespace="ns",result="success",strategy="RemoveDuplicates"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "evenkeel_evictions_total", "evenkeel_pod_evictions_total"); err != nil {
		t.Error(err)
	}
}

// However many namespaces there are, the series are not: those that come late
// are counted together.
func TestNamespacesAreBounded(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	for i := range 3 * mostNamespaces {
		for range 2 {
			m.evicted(fmt.Sprintf("ns-%d", i), "triggered by p/RealUsageLowNodeUtilization: NodeHot", nil)
		}
	}
	if got := testutil.CollectAndCount(m.evictions); got != mostNamespaces+1 {
		t.Errorf("%d series, want %d", got, mostNamespaces+1)
	}
	first := testutil.ToFloat64(m.evictions.WithLabelValues("ns-0", "RealUsageLowNodeUtilization", success))
	others := testutil.ToFloat64(m.evictions.WithLabelValues(otherNamespaces, "RealUsageLowNodeUtilization", success))
	if first != 2 || others != 4*mostNamespaces {
		t.Errorf("%v in the first namespace and %v in others, want 2 and %d", first, others, 4*mostNamespaces)
	}
}

func TestStrategyOf(t *testing.T) {
	for words, want := range map[string]string{
		"triggered by default/RealUsageLowNodeUtilization: " + string(reasons.NodeHot): "RealUsageLowNodeUtilization",
		"triggered by /PodLifeTime: ": "PodLifeTime",
		"triggered by p/: why":        "unknown",
		"":                            "unknown",
	} {
		if got := strategyOf(words); got != want {
			t.Errorf("%q is by %q, want %q", words, got, want)
		}
	}
}

// What holds evictions up, and what is left of the hour, is known without asking
// as a cycle does.
func TestStanding(t *testing.T) {
	gate := newGate(t, newAPI(t, aPod("web-1")))
	e := gate.evictor
	check := func(step string, wantLeft int, want reasons.Reason) {
		t.Helper()
		if left, why := e.Standing(); left != wantLeft || why != want {
			t.Errorf("%s: %d are left, held up by %q; want %d and %q", step, left, why, wantLeft, want)
		}
	}
	check("no budget", -1, "")
	failing := lenient
	failing.MaxErrors, failing.Rest = 1, time.Hour
	e.config.Settings.Safeguards = safeguards.New(safeguards.Config{MaxPerHour: 2, Breaker: failing})
	gate.config.Ledger.Record(time.Now(), moveOf("web-1").Intent)
	check("a move", 1, "")
	gate.ended(errors.New("broken"))
	e.BeginCycle(t.Context())
	e.allowance()
	check("a failed call", 1, reasons.APIErrors)
	gate.config.Ledger.Record(time.Now(), moveOf("web-2").Intent)
	check("the budget is used up", 0, reasons.MovesPerHour)
}
