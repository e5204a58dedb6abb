package extender

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	answerer := newFakeAnswerer("a", "b", "c").reject(RejectHot, "a", "b")
	s := newTestServer(t, Config{Answerer: answerer, Registerer: reg, MaxBodyBytes: 1000, Budget: time.Nanosecond})
	post(t, s, "/filter", []byte(`{"Pod":{},"NodeNames":["a","b","c"]}`))
	post(t, s, "/filter", []byte(`{"Pod":{},"NodeNames":["a","b"]}`))
	post(t, s, "/filter", []byte(`{"Pod":{},"NodeNames":["a"]}`))
	post(t, s, "/filter", []byte(`{`))
	post(t, s, "/prioritize", []byte(`{"Pod":{},"NodeNames":["a","b","c"]}`))
	post(t, s, "/prioritize", make([]byte, 1001))
	answerer.before = func(*Pod) { panic("boom") }
	if code, _ := post(t, s, "/prioritize", []byte(`{"Pod":{},"NodeNames":["a"]}`)); code != http.StatusInternalServerError {
		t.Errorf("status %d, want 500", code)
	}
	want := `
# HELP evenkeel_extender_neutral_responses_total Responses that did not follow the scorer, by reason.
# TYPE evenkeel_extender_neutral_responses_total counter
evenkeel_extender_neutral_responses_total{reason="all_rejected"} 1
evenkeel_extender_neutral_responses_total{reason="busy"} 0
evenkeel_extender_neutral_responses_total{reason="one_node"} 1
# HELP evenkeel_extender_over_budget_total Requests that took longer than the budget.
# TYPE evenkeel_extender_over_budget_total counter
evenkeel_extender_over_budget_total{verb="filter"} 4
evenkeel_extender_over_budget_total{verb="prioritize"} 3
# HELP evenkeel_extender_nodes_rejected_total Nodes rejected by responses to filter requests, by reason.
# TYPE evenkeel_extender_nodes_rejected_total counter
evenkeel_extender_nodes_rejected_total{reason="hot"} 2
evenkeel_extender_nodes_rejected_total{reason="load"} 0
evenkeel_extender_nodes_rejected_total{reason="not_destination"} 0
evenkeel_extender_nodes_rejected_total{reason="source"} 0
evenkeel_extender_nodes_rejected_total{reason="unknown"} 0
# HELP evenkeel_extender_responses_total Responses to kube-scheduler by verb and result.
# TYPE evenkeel_extender_responses_total counter
evenkeel_extender_responses_total{result="client_gone",verb="filter"} 0
evenkeel_extender_responses_total{result="client_gone",verb="prioritize"} 0
evenkeel_extender_responses_total{result="invalid",verb="filter"} 1
evenkeel_extender_responses_total{result="invalid",verb="prioritize"} 0
evenkeel_extender_responses_total{result="neutral",verb="filter"} 2
evenkeel_extender_responses_total{result="neutral",verb="prioritize"} 0
evenkeel_extender_responses_total{result="ok",verb="filter"} 1
evenkeel_extender_responses_total{result="ok",verb="prioritize"} 1
evenkeel_extender_responses_total{result="overloaded",verb="filter"} 0
evenkeel_extender_responses_total{result="overloaded",verb="prioritize"} 0
evenkeel_extender_responses_total{result="panic",verb="filter"} 0
evenkeel_extender_responses_total{result="panic",verb="prioritize"} 1
evenkeel_extender_responses_total{result="too_large",verb="filter"} 0
evenkeel_extender_responses_total{result="too_large",verb="prioritize"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want),
		"evenkeel_extender_neutral_responses_total", "evenkeel_extender_over_budget_total",
		"evenkeel_extender_nodes_rejected_total", "evenkeel_extender_responses_total"); err != nil {
		t.Error(err)
	}
	if _, err := NewServer(Config{Answerer: answerer, Registerer: reg}); err == nil {
		t.Error("registering twice is not an error")
	}
}
