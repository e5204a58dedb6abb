package status

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

// limited is a cluster whose policy also limits measured windows. n1 and n3 exceed a limit.
func limited(t testing.TB) *harbor {
	h := fleet(t)
	for i := range h.view.Nodes {
		read := &h.view.Nodes[i]
		for _, used := range read.Measured {
			read.Reported = append(read.Reported, [2]float64{float64(used[cluster.CPU]), float64(used[cluster.Memory])})
		}
	}
	h.view.Nodes[2].Reported[0] = [2]float64{math.NaN(), 20 * gib}
	h.limits = []scorer.Limit{
		{Resource: cluster.CPU, Window: usage.Avg5m, Percent: 65},
		{Resource: cluster.CPU, Window: usage.Last, Percent: 83, From: true},
		{Resource: cluster.Memory, Window: usage.Avg5m, Percent: 20, From: true},
		{Resource: cluster.Memory, Window: usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}, Percent: 50},
	}
	return h
}

// The reported limits are those that the board applies: a node that exceeds one is rejected.
func TestLimits(t *testing.T) {
	h := limited(t)
	h.limits[2].Percent = 21
	f := h.facts()
	n, err := OfNode(f, "n1")
	if err != nil {
		t.Fatal(err)
	}
	percent := func(v float64) *float64 { return &v }
	want := []Limit{
		{Metric: "cpu", Window: "avg_5m", Percent: percent(81.2), AbovePercent: percent(65), Passed: true},
		{Metric: "cpu", Window: "last", Percent: percent(83), FromPercent: percent(83), Passed: true},
		{Metric: "memory", Window: "avg_5m", Percent: percent(20), FromPercent: percent(21)},
		{Metric: "memory", Window: "max_avg_1h", AbovePercent: percent(50)},
	}
	if diff := cmp.Diff(want, n.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	for i := range f.View.Nodes {
		passed := false
		for _, l := range f.limits(i) {
			passed = passed || l.Passed
		}
		if refused := slices.Contains(f.Board.AppendRefused(nil, cluster.Amounts{}), cluster.NodeIndex(i)); passed != refused {
			t.Errorf("%s passes a limit: %t, refused: %t", f.View.Snapshot.Nodes[i].Node.Name, passed, refused)
		}
	}
	if n, err = OfNode(fleet(t).facts(), "n1"); err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(n); err != nil || strings.Contains(string(text), "measuredLimits") {
		t.Errorf("without limits: %s, %v", text, err)
	}
}

// If a limit closes a node to a pod, the explanation names that limit.
func TestLandingBeyondALimit(t *testing.T) {
	p, err := OfPod(limited(t).facts(), "shop", "web-3")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range p.Landings {
		if l.Node != "n3" {
			continue
		}
		want := "its memory avg_5m is 20.0%, and measured limits keep pods off from 20%"
		if l.Refused != string(reasons.AboveRejectLine) || l.Detail != want {
			t.Errorf("refused by %q, %q, want %q", l.Refused, l.Detail, want)
		}
		return
	}
	t.Error("n3 is not listed")
}
