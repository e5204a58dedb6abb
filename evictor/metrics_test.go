package evictor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Evictions are counted by namespace, plugin and result.
func TestEvictionsAreCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	gate := newGate(t, newAPI(t, aPod("web-1")))
	gate.evictor.config.Metrics = metrics.New(registry)
	for _, name := range []string{"web-1", "web-2"} {
		eviction := evictionOf(name)
		eviction.Annotations = map[string]string{"reason": "triggered by default/RemoveDuplicates: RemoveDuplicates"}
		_ = gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), eviction)
	}
	want := `
# HELP evenkeel_pod_evictions_total Eviction attempts by namespace, strategy and result.
# TYPE evenkeel_pod_evictions_total counter
evenkeel_pod_evictions_total{namespace="ns",result="pod_changed",strategy="RemoveDuplicates"} 1
evenkeel_pod_evictions_total{namespace="ns",result="success",strategy="RemoveDuplicates"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "evenkeel_pod_evictions_total"); err != nil {
		t.Error(err)
	}
}

// What holds up evictions, and how many moves are left in the hour, can be read without running a
// cycle's checks.
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
	for _, namespace := range []string{"a", "b", "c"} { // of several tenants
		gate.ended(&ledger.Intent{Namespace: namespace}, errors.New("broken"))
	}
	e.BeginCycle(t.Context())
	e.allowance()
	check("a failed call", 1, reasons.APIErrors)
	gate.config.Ledger.Record(time.Now(), moveOf("web-2").Intent)
	check("the budget is used up", 0, reasons.MovesPerHour)
}
