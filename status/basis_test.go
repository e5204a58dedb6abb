package status

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

func unsettled(t *testing.T) *Facts {
	h := testkit.Unsettled(t)
	return &Facts{View: h.View, Lines: h.Lines, States: h.States, Board: scorer.NewBoard(h.View, h.Lines, scorer.Config{}), SamplesNeeded: 3, NoPlan: "no plan"}
}

// If a node's measured usage suggests another state, its basis explains why the node is not hot, or
// not cool: what is measured, what counts, why the two differ, and until when.
func TestBasis(t *testing.T) {
	want := map[string]string{
		testkit.StartingNode: "starting is warm since 05:26 UTC, not hot yet: cpu avg_5m is measured at 96.6%, above the evict line 65%, and counts as 12.2%: " +
			"84.4 points are from 12 pods that started 4 min ago and count from 05:30 UTC on. No plan.",
		testkit.EstimatedNode: "estimated is warm since 05:26 UTC, not hot: it is under its evict lines. Not cool: cpu avg_5m is predicted at 53.0%, " +
			"above the low line 45%, and measured at 10.0%: 43.0 points are estimated, by requests or by pods like them, for 10 pods that started 4 min ago " +
			"and are measured from 05:30 UTC on. No plan.",
		testkit.EndedNode: "ended is cool since 05:28 UTC, not hot: cpu avg_5m is measured at 72.0%, above the evict line 65%, and counts as 12.0%: " +
			"60.0 points are from pods that ended, which stay in the measurement for 5 min after their end. It is predicted under every low line. No plan.",
		testkit.UnseenNode: "unseen is warm since 05:26 UTC, not hot yet: cpu avg_5m is measured at 67.0%, above the evict line 65%, and counts as 2.0%: " +
			"65.0 points are from 1 pod that started 3 min ago and counts from 05:31 UTC on. No plan.",
		testkit.SpikeNode: "spike is cool since 05:26 UTC, not hot: cpu is measured at 95.0% by the newest reading, above the evict line 65%, " +
			"but avg_5m 15.3% and p50_5m 10.0% are not, and every window of a metric has to be. It is predicted under every low line. No plan.",
		testkit.CalmNode: "calm is cool since 05:26 UTC: it is predicted under every low line. No plan.",
	}
	f := unsettled(t)
	for name, want := range want {
		got, err := OfNode(f, name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Summary); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	basis, _ := f.Bases(f.View.Snapshot.Index(testkit.StartingNode))
	if basis == nil || *basis.Measured != 96.6 || *basis.Current != 12.2 || basis.Pods.Count != 12 || basis.Pods.Points != 84.4 ||
		basis.Pods.From.Sub(testkit.UnsettledAt).Round(15*time.Second) != 105*time.Second {
		t.Errorf("as values: %+v", basis)
	}
}

// A node also has a basis if it has not been judged yet, became ready too recently, or is above its
// evict line in only some windows. A node that is hot or unknown needs none.
func TestBasisOfStates(t *testing.T) {
	cases := map[string]struct {
		play      func(*harbor)
		want      string
		byMeasure bool
	}{
		"filling": {func(h *harbor) {
			h.node("n1", thresholds.Unknown, 9000, 9000, 9000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Unknown = reasons.WindowTooShort })
			h.state("n1", func(s *thresholds.NodeState) { s.Unknown = reasons.WindowTooShort })
		}, "the newest reading of cpu, 90.0%, is above the evict line 65%, and its usage has not been watched for long enough (WindowTooShort)", true},
		"not for long": {func(h *harbor) {
			h.node("n1", thresholds.Warm, 0, 7000, 6600)
			h.state("n1", func(s *thresholds.NodeState) { s.Over = 1 })
		}, "cpu avg_5m 70.0% and p50_5m 66.0% are above the evict line 65%, in 1 of the 3 samples in a row that make it hot", true},
		"in one window": {
			func(h *harbor) { h.node("n1", thresholds.Warm, 0, 7000, 3000) },
			"cpu avg_5m 70.0% is above the evict line 65%, but p50_5m 30.0% is not, and every window of a metric has to be", true,
		},
		"in one window, which does not count": {func(h *harbor) {
			h.node("n1", thresholds.Warm, 0, 7000, 3000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Current[1] = cluster.Amounts{4000, 20 * gib} })
			h.pod("going", 3000, func(p *cluster.Pod, _ *usage.PodUsage) { p.Terminating = true })
		}, "cpu avg_5m is measured at 70.0%, above the evict line 65%, and counts as 40.0%: 30.0 points are from pods that ended or are terminating (1), " +
			"which stay in the measurement for 5 min after their end; p50_5m 30.0% is not above it", true},
		"ended, beside a pod that never has a sample": {
			func(h *harbor) {
				h.node("n1", thresholds.Warm, 0, 7000, 7000, func(_ *cluster.Node, u *usage.NodeUsage) {
					u.Current[1], u.Current[2] = cluster.Amounts{4000, 20 * gib}, cluster.Amounts{4000, 20 * gib}
				})
				h.pod("unsampled", 3000, func(_ *cluster.Pod, u *usage.PodUsage) { u.Measured = false })
			}, "cpu avg_5m is measured at 70.0%, above the evict line 65%, and counts as 40.0%: 30.0 points are from pods that ended, " +
				"which stay in the measurement for 5 min after their end", true,
		},
		"less is worse": {func(h *harbor) {
			h.node("n1", thresholds.Warm, 0, 0, 0, func(_ *cluster.Node, u *usage.NodeUsage) { u.Measured[1] = cluster.Amounts{0, 95 * gib} })
		}, "memory.available avg_5m is measured at 5.0%, below the evict line 10%, and counts as 80.0%: 75.0 points are from pods that ended, " +
			"which stay in the measurement for 5 min after their end", true},
		"predicted": {func(h *harbor) {
			h.node("n1", thresholds.Warm, 800, 800, 800, func(_ *cluster.Node, u *usage.NodeUsage) {
				u.Predicted = slices.Repeat([]cluster.Amounts{{7980, 20 * gib}}, 3)
			})
			h.pod("new", 7180, func(p *cluster.Pod, u *usage.PodUsage) { u.Measured = false })
		}, "cpu avg_5m is predicted at 79.8%, above the evict line 65%, and measured at 8.0%: 71.8 points are estimated, by requests or by pods like them, " +
			"for 1 pod that has not started", false},
		"predicted, and not by estimates alone": {func(h *harbor) {
			h.node("n1", thresholds.Warm, 800, 800, 800, func(_ *cluster.Node, u *usage.NodeUsage) {
				u.Predicted = slices.Repeat([]cluster.Amounts{{7980, 20 * gib}}, 3)
			})
			h.pod("new", 3000, func(p *cluster.Pod, u *usage.PodUsage) { u.Measured = false })
			h.pod("growing", 4980)
		}, "cpu avg_5m is predicted at 79.8%, above the evict line 65%, and measured at 8.0%: 30.0 points are estimated, by requests or by pods like them, " +
			"for 1 pod that has not started; its other pods use 41.8 points more now than this window shows", false},
		"by the newest reading, with a pod that ended": {func(h *harbor) {
			h.node("n1", thresholds.Warm, 9000, 2000, 2000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Current[0] = cluster.Amounts{2000, 20 * gib} })
		}, "cpu is measured at 90.0% by the newest reading, above the evict line 65%, but avg_5m 20.0% and p50_5m 20.0% are not, and every window of a metric " +
			"has to be; 90.0% cpu of that reading, and counts as 20.0%: 70.0 points are from pods that ended, which stay in the measurement until the next reading", true},
		"in a long window": {func(h *harbor) {
			hour := usage.Window{Kind: usage.KindAvg, Over: time.Hour}
			h.view.Windows[2], h.rules[1].Window = hour, hour
			h.node("n1", thresholds.Warm, 0, 2000, 7000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Current[2] = cluster.Amounts{4000, 20 * gib} })
		}, "cpu avg_1h is measured at 70.0%, above the evict line 65%, and counts as 40.0%: 30.0 points are from pods that ended, " +
			"which stay in the measurement for 60 min after their end; avg_5m 20.0% is not above it", true},
		"hot":  {func(h *harbor) { h.node("n1", thresholds.Hot, 0, 7000, 6600) }, "", false},
		"cool": {func(h *harbor) { h.node("n1", thresholds.Cool, 0, 1000, 1000) }, "", false},
		"too old": {func(h *harbor) {
			h.node("n1", thresholds.Unknown, 9000, 9000, 9000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Unknown = reasons.UsageStale })
		}, "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			tc.play(h)
			got, _ := h.facts().Bases(0)
			if got == nil {
				got = &Basis{OnlyPredicted: true}
			}
			if diff := cmp.Diff(tc.want, got.Text); diff != "" || got.ByMeasure() != tc.byMeasure {
				t.Errorf("by measure %v, (-want +got):\n%s", got.ByMeasure(), diff)
			}
		})
	}
}

// If starting pods alone do not explain why a node is not hot, the text is "not hot" instead of "not hot yet".
func TestNotHotYet(t *testing.T) {
	for name, tc := range map[string]struct {
		starting int64 // of 40 points that do not count; the others belong to pods that have ended
		yet      bool
	}{
		"by starting pods":                  {4000, true},
		"by starting pods, beside the line": {2600, true},
		"without pods that ended":           {2000, false},
		"by pods that ended":                {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			h.node("n1", thresholds.Warm, 0, 8000, 8000, func(_ *cluster.Node, u *usage.NodeUsage) {
				u.Current[1], u.Current[2] = cluster.Amounts{4000, 20 * gib}, cluster.Amounts{4000, 20 * gib}
			})
			h.pod("starting", tc.starting, func(p *cluster.Pod, u *usage.PodUsage) {
				p.Started, u.Uncounted, u.MeasuredIn = now.Add(-time.Minute), cluster.Amounts{tc.starting, 0}, time.Minute
			})
			if got, _ := h.facts().Bases(0); got == nil || got.Yet != tc.yet {
				t.Errorf("got %+v, want yet: %v", got, tc.yet)
			}
		})
	}
}

// A basis decoded from another process's JSON results in the same text.
func TestBasisByJSON(t *testing.T) {
	f := unsettled(t)
	for i := range f.View.Nodes {
		want, _ := f.Bases(i)
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got *Basis
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if want != nil && (got.Sentence("n") != want.Sentence("n") || got.ByMeasure() != want.ByMeasure()) {
			t.Errorf("%q, by measure %v, want %q, %v", got.Sentence("n"), got.ByMeasure(), want.Sentence("n"), want.ByMeasure())
		}
	}
}

// The basis also contains the line that the newest reading exceeds.
func TestBasisHasTheLine(t *testing.T) {
	h := newHarbor(t)
	h.node("n1", thresholds.Unknown, 9000, 9000, 9000, func(_ *cluster.Node, u *usage.NodeUsage) { u.Unknown = reasons.WindowTooShort })
	if got, _ := h.facts().Bases(0); got == nil || got.Evict == nil || *got.Evict != 65 {
		t.Errorf("got %+v, want an evict line of 65", got)
	}
}
