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
# HELP evenkeel_extender_neutral_replies_total Replies that did not follow the scorer, by reason.
# TYPE evenkeel_extender_neutral_replies_total counter
evenkeel_extender_neutral_replies_total{reason="AllRejected"} 1
evenkeel_extender_neutral_replies_total{reason="Busy"} 0
evenkeel_extender_neutral_replies_total{reason="OneNode"} 1
# HELP evenkeel_extender_over_budget_total Requests that took longer than the budget.
# TYPE evenkeel_extender_over_budget_total counter
evenkeel_extender_over_budget_total{verb="filter"} 4
evenkeel_extender_over_budget_total{verb="prioritize"} 3
# HELP evenkeel_extender_rejected_nodes_total Nodes rejected by filter replies, by reason.
# TYPE evenkeel_extender_rejected_nodes_total counter
evenkeel_extender_rejected_nodes_total{reason="Hot"} 2
evenkeel_extender_rejected_nodes_total{reason="Load"} 0
evenkeel_extender_rejected_nodes_total{reason="NotDestination"} 0
evenkeel_extender_rejected_nodes_total{reason="Source"} 0
evenkeel_extender_rejected_nodes_total{reason="Unknown"} 0
# HELP evenkeel_extender_requests_total Requests by verb and how they ended.
# TYPE evenkeel_extender_requests_total counter
evenkeel_extender_requests_total{result="ClientGone",verb="filter"} 0
evenkeel_extender_requests_total{result="ClientGone",verb="prioritize"} 0
evenkeel_extender_requests_total{result="Invalid",verb="filter"} 1
evenkeel_extender_requests_total{result="Invalid",verb="prioritize"} 0
evenkeel_extender_requests_total{result="Neutral",verb="filter"} 2
evenkeel_extender_requests_total{result="Neutral",verb="prioritize"} 0
evenkeel_extender_requests_total{result="OK",verb="filter"} 1
evenkeel_extender_requests_total{result="OK",verb="prioritize"} 1
evenkeel_extender_requests_total{result="Overloaded",verb="filter"} 0
evenkeel_extender_requests_total{result="Overloaded",verb="prioritize"} 0
evenkeel_extender_requests_total{result="Panic",verb="filter"} 0
evenkeel_extender_requests_total{result="Panic",verb="prioritize"} 1
evenkeel_extender_requests_total{result="TooLarge",verb="filter"} 0
evenkeel_extender_requests_total{result="TooLarge",verb="prioritize"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want),
		"evenkeel_extender_neutral_replies_total", "evenkeel_extender_over_budget_total",
		"evenkeel_extender_rejected_nodes_total", "evenkeel_extender_requests_total"); err != nil {
		t.Error(err)
	}
	if _, err := NewServer(Config{Answerer: answerer, Registerer: reg}); err == nil {
		t.Error("registering twice is not an error")
	}
}
