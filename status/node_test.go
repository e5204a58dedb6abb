package status

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// The first sentences state a node's state, the numbers behind it, and what would be done.
func TestNodeSummary(t *testing.T) {
	cordoned := func(n *cluster.Node, _ *usage.NodeUsage) { n.Schedulable = false }
	memory := func(bytes int64) func(*cluster.Node, *usage.NodeUsage) {
		return func(_ *cluster.Node, u *usage.NodeUsage) {
			for w := range u.Current {
				u.Current[w][1], u.Predicted[w][1] = bytes, bytes
			}
		}
	}
	cases := map[string]struct {
		play func(*harbor)
		want string
	}{
		"hot, and it can be cooled": {
			func(h *harbor) {
				h.node("n1", thresholds.Hot, 0, 6700, 6600)
				h.pod("a", 500)
				h.node("n2", thresholds.Cool, 0, 0, 0)
			},
			"n1 is hot since 12:03 UTC: cpu avg_5m 67.0% and p50_5m 66.0% are above the evict line 65%. 1 pod would be moved.",
		},
		"hot by available memory": {
			func(h *harbor) { h.node("n1", thresholds.Hot, 0, 0, 0, memory(91*gib)) },
			"n1 is hot since 12:03 UTC: memory.available avg_5m 9.0% is below the evict line 10%. " +
				"No pod would be moved (HotThroughImmovable: moving every pod that may be moved would not bring it below its evict line).",
		},
		"hot, and no node takes its pods": {
			func(h *harbor) { h.node("n1", thresholds.Hot, 0, 6700, 6600); h.pod("a", 500) },
			"n1 is hot since 12:03 UTC: cpu avg_5m 67.0% and p50_5m 66.0% are above the evict line 65%. " +
				"No pod would be moved (NoLanding: the cool nodes do not take enough of its pods).",
		},
		"held hot by its leave lines": {
			func(h *harbor) { h.node("n1", thresholds.Hot, 0, 6200, 5900) },
			"n1 is hot since 12:03 UTC: it is no longer above an evict line in all windows; " +
				"cpu avg_5m 62.0% is above the leave line 60%. No pod has to be moved.",
		},
		"on its way to hot": {
			func(h *harbor) {
				h.node("n1", thresholds.Warm, 0, 7000, 6600)
				h.state("n1", func(s *thresholds.NodeState) { s.Over = 1 })
			},
			"n1 is warm since 12:03 UTC, not hot yet: cpu avg_5m 70.0% and p50_5m 66.0% are above the evict line 65%, in 1 of the 3 samples in a row that make it hot.",
		},
		"ready too recently": {
			func(h *harbor) {
				h.node("n1", thresholds.Warm, 0, 7000, 6600)
				h.state("n1", func(s *thresholds.NodeState) { s.Starting = now.Add(4 * time.Minute) })
			},
			"n1 is warm since 12:03 UTC, not hot yet: cpu avg_5m 70.0% and p50_5m 66.0% are above the evict line 65%, " +
				"but it became ready too recently for that to count before 12:34 UTC.",
		},
		"a spike that the median does not see": {
			func(h *harbor) { h.node("n1", thresholds.Warm, 0, 7000, 3000) },
			"n1 is warm since 12:03 UTC, not hot: cpu avg_5m 70.0% is above the evict line 65%, but p50_5m 30.0% is not, and every window of a metric has to be.",
		},
		"neither hot nor cool": {
			func(h *harbor) { h.node("n1", thresholds.Warm, 0, 5000, 4600) },
			"n1 is warm since 12:03 UTC, not hot: it is under its evict lines. Not cool: cpu avg_5m 50.0% and p50_5m 46.0% are above the low line 45%.",
		},
		"cool": {
			func(h *harbor) { h.node("n1", thresholds.Cool, 0, 1000, 1000) },
			"n1 is cool since 12:03 UTC: it is predicted under every low line.",
		},
		"cool and cordoned": {
			func(h *harbor) { h.node("n1", thresholds.Cool, 0, 1000, 1000, cordoned) },
			"n1 is cool since 12:03 UTC: it is predicted under every low line. It takes no moved pods: Cordoned.",
		},
		"unknown": {
			func(h *harbor) {
				h.node("n1", thresholds.Unknown, 0, 0, 0, func(_ *cluster.Node, u *usage.NodeUsage) { u.Unknown = reasons.UsageStale })
			},
			"n1 is unknown since 12:03 UTC (UsageStale): nothing is decided on its usage.",
		},
		"hot, and it takes a pod of a full one": {
			func(h *harbor) {
				h.node("n1", thresholds.Hot, 0, 6600, 6600)
				h.node("n2", thresholds.Hot, 9900, 9900, 9900)
				h.pod("a", 2000)
				h.pod("b", 7900)
			},
			"n1 is hot since 12:03 UTC: cpu avg_5m 66.0% and p50_5m 66.0% are above the evict line 65%. " +
				"No pod would be moved off it (HotThroughImmovable: moving every pod that may be moved would not bring it below its evict line), and 1 pod here.",
		},
		"since another day": {
			func(h *harbor) {
				h.node("n1", thresholds.Cool, 0, 0, 0)
				h.state("n1", func(s *thresholds.NodeState) { s.Since = now.AddDate(0, 0, -1) })
			},
			"n1 is cool since 2026-02-28 12:30 UTC: it is predicted under every low line.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			tc.play(h)
			got, err := OfNode(h.planned(""), "n1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Summary); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

// A process without a plan reports everything else, and states that there is no plan.
func TestNodeWithoutAPlan(t *testing.T) {
	f := fleet(t).facts()
	f.NoPlan = "this process only answers kube-scheduler"
	got, err := OfNode(f, "n1")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(got.Summary, "are above the evict line 65%. This process only answers kube-scheduler.") {
		t.Errorf("summary %q", got.Summary)
	}
	if got.HasToLeave.CPUMilli != 1590 || len(got.MovesFrom) != 1 || got.Leave == nil || got.NoPlan != f.NoPlan {
		t.Errorf("got %+v", got)
	}
	f.Planned = &Planned{Closed: "UsageCoverageTooLow: 1 of 3 ready nodes have fresh usage"}
	if got, _ = OfNode(f, "n1"); !strings.HasSuffix(got.Summary, " Nothing is planned: UsageCoverageTooLow: 1 of 3 ready nodes have fresh usage.") {
		t.Errorf("summary %q", got.Summary)
	}
}

// The windows that an explanation marks as exceeded are those that the lines judge to be, whatever
// their values.
func TestMetricsAgreeWithTheLines(t *testing.T) {
	for _, used := range [][2]int64{{0, 0}, {6500, 6500}, {6501, 6501}, {6501, 6500}, {9000, 100}, {100, 9000}, {20_000, 20_000}} {
		h := newHarbor(t)
		h.node("n1", thresholds.Warm, 0, used[0], used[1])
		f := h.facts()
		got, err := OfNode(f, "n1")
		if err != nil {
			t.Fatal(err)
		}
		over := true
		for _, w := range got.Metrics[0].Windows {
			over = over && (w.Evict == nil || w.AboveEvict)
		}
		if _, want := f.Lines.Over(0); over != want || got.Metrics[0].Over != want {
			t.Errorf("%v: windows say over %v, the metric %v, the lines %v", used, over, got.Metrics[0].Over, want)
		}
	}
}

// Unknown values are left out. Comparisons are reversed for a metric whose lower values are worse.
func TestMetrics(t *testing.T) {
	h := newHarbor(t)
	h.node("n1", thresholds.Warm, 1000, 2000, 3000)
	got, err := OfNode(h.facts(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	v := func(v float64) *float64 { return &v }
	want := []Metric{
		{Name: "cpu", Percent: true, Windows: []Window{
			{Window: "last", Measured: v(10), Current: v(10), Predicted: v(10)},
			{Window: "avg_5m", Measured: v(20), Current: v(20), Predicted: v(20), Lines: Lines{Low: v(45), Reject: v(60), Evict: v(65), Leave: v(60)}},
			{Window: "p50_5m", Measured: v(30), Current: v(30), Predicted: v(30), Lines: Lines{Low: v(45), Reject: v(60), Evict: v(65), Leave: v(60)}},
		}},
		{Name: "memory", Percent: true, Windows: []Window{
			{Window: "last", Measured: v(20), Current: v(20), Predicted: v(20)}, {Window: "avg_5m", Measured: v(20), Current: v(20), Predicted: v(20)},
			{Window: "p50_5m", Measured: v(20), Current: v(20), Predicted: v(20)},
		}},
		{Name: "memory.available", Percent: true, LowerIsWorse: true, Windows: []Window{
			{Window: "avg_5m", Measured: v(80), Current: v(80), Predicted: v(80), Lines: Lines{Reject: v(20), Evict: v(10), Leave: v(15)}},
		}},
		{Name: "io.pressure", Percent: true, Windows: []Window{{Window: "last", Measured: v(1.3)}}},
	}
	if diff := cmp.Diff(want, got.Metrics); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// Values that are too old, rejected or never measured are reported neither as zero nor as evidence.
func TestMissingIsNeverZero(t *testing.T) {
	for _, unknown := range []reasons.Reason{reasons.NoUsageSample, reasons.UsageStale, reasons.UsageAbsurd} {
		h := newHarbor(t)
		h.node("n1", thresholds.Unknown, 9000, 9000, 9000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Unknown = unknown })
		got, err := OfNode(h.facts(), "n1")
		if err != nil {
			t.Fatal(err)
		}
		if got.Predicted != nil || got.PredictedPercent != nil || len(got.Over) > 0 || got.HasToLeave != nil {
			t.Errorf("%s: %+v", unknown, got)
		}
		for _, w := range got.Metrics[0].Windows {
			if w.Measured != nil || w.Current != nil || w.Predicted != nil || w.AboveEvict {
				t.Errorf("%s: %+v", unknown, w)
			}
		}
	}
	h := newHarbor(t)
	h.node("n1", thresholds.Unknown, 9000, 9000, 9000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Unknown = reasons.WindowTooShort })
	if got, _ := OfNode(h.facts(), "n1"); len(got.Over) != 2 {
		t.Errorf("a window that is filling reports %v", got.Over)
	}
}

func TestUnknownNode(t *testing.T) {
	for _, name := range []string{"", "n9", "n1/../n2", "n1\n", strings.Repeat("x", 1<<16)} {
		if _, err := OfNode(fleet(t).planned(""), name); !errors.Is(err, ErrUnknown) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	if finite(math.NaN()) != nil || finite(math.Inf(-1)) != nil {
		t.Error("a number that JSON cannot hold is reported")
	}
}
