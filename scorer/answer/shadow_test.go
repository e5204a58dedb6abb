package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// newShadow shadows a bridge's Answerer.
func newShadow(t testing.TB, b *bridge) (*Shadow, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	s, err := NewShadow(b.Answerer, registry)
	if err != nil {
		t.Fatal(err)
	}
	return s, registry
}

// asks asks a Shadow about a pod that waits, by filter or by prioritize.
func asks(t testing.TB, s *Shadow, verb string, pod *extender.Pod, names ...string) {
	t.Helper()
	show(s.answerer.observer, pod)
	round, nodes := s.Begin(), make([]cluster.NodeIndex, len(names))
	for i, name := range names {
		nodes[i] = cluster.NodeIndex(round.Node([]byte(name)))
	}
	reasons, scores := make([]extender.Reject, len(names)), make([]int8, len(names))
	if verb == "filter" {
		round.Filter(pod, nodes, reasons)
	} else {
		round.Prioritize(pod, nodes, scores)
	}
	for i := range names {
		if reasons[i] != keep || scores[i] != 0 {
			t.Errorf("%s: %q got %v and %d points, want a neutral answer", verb, names[i], reasons[i], scores[i])
		}
	}
}

// place binds a pod of nobody's, as kube-scheduler does.
func (b *bridge) place(uid, node string) {
	b.observer.Store().SetPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)},
		Spec:       v1.PodSpec{NodeName: node},
	})
}

// sample observes once.
func (b *bridge) sample() {
	b.now = b.now.Add(15 * time.Second)
	b.observer.Sample(b.t.Context())
}

// shadowed is a cluster with nodes of each kind; the pod of the tests is
// expected to use 850m of 10 cores, 8.5 %.
func shadowed(t testing.TB) *bridge {
	b := newBridge(t)
	b.node("cool", 1000)   // 18.5 % with the pod
	b.node("cooler", 500)  // 13.5 %
	b.node("warm", 4000)   // 48.5 %
	b.node("hot", 7000)    // above the reject line of 60 %
	b.node("hotter", 8000) // likewise
	b.node("silent", -1)
	b.observe()
	return b
}

var everyNode = []string{"cool", "cooler", "warm", "hot", "hotter", "silent", "nobody-knows"}

// How the choice of kube-scheduler compares. Memory is not reported, so a
// node's load is (p + p/2) / 2 of its CPU.
//
//	score = 10·(hottest−load)/(hottest−coolest) = 10·(48.5−p)/(48.5−13.5): cooler 10, cool 8.6 = 9, warm 0, and the median 9
func TestVerdicts(t *testing.T) {
	hot := []RejectedNode{{Node: "hot", Reason: "Hot"}, {Node: "hotter", Reason: "Hot"}}
	at := func(node string, score int, cpu float64) *Considered {
		return &Considered{Node: node, Score: &score, Predicted: &PredictedPercent{CPU: cpu}}
	}
	gap := func(points int) *int { return &points }
	cooler := at("cooler", 10, 13.5)
	median := 9
	cases := map[string]struct {
		request []string
		chosen  string
		want    Placement
	}{
		"the best": {everyNode, "cooler", Placement{
			Comparison: Best, ScoreGap: gap(0), Chosen: *cooler, Best: cooler, Rejected: 2, RejectedNodes: hot,
		}},
		"one not so good": {everyNode, "cool", Placement{
			Comparison: BetterKnown, ScoreGap: gap(1), Chosen: *at("cool", 9, 18.5), Best: cooler, Rejected: 2, RejectedNodes: hot,
		}},
		"the worst that is not rejected": {everyNode, "warm", Placement{
			Comparison: BetterKnown, ScoreGap: gap(10), Chosen: *at("warm", 0, 48.5), Best: cooler, Rejected: 2, RejectedNodes: hot,
		}},
		"a hot one": {everyNode, "hot", Placement{
			Comparison: WouldReject, ScoreGap: gap(10), Best: cooler, Rejected: 2, RejectedNodes: hot,
			Chosen: Considered{Node: "hot", Rejected: "Hot", Predicted: &PredictedPercent{CPU: 78.5}},
		}},
		"a hot one beside nodes that nobody knows": {[]string{"hot", "nobody-knows"}, "hot", Placement{
			Comparison: WouldReject, Rejected: 1, RejectedNodes: hot[:1],
			Chosen: Considered{Node: "hot", Rejected: "Hot", Predicted: &PredictedPercent{CPU: 78.5}},
		}},
		"all are hot, so none is rejected": {[]string{"hotter", "hot"}, "hot", Placement{
			Comparison: Best, ScoreGap: gap(0), Chosen: *at("hot", 10, 78.5), Best: at("hot", 10, 78.5),
			Rejected: 2, RejectedNodes: []RejectedNode{hot[1], hot[0]}, AllRejected: true,
		}},
		"one whose usage is not known": {everyNode, "silent", Placement{
			Comparison: Unmeasured, Chosen: Considered{Node: "silent", Score: &median}, Best: cooler, Rejected: 2, RejectedNodes: hot,
		}},
		"one that was not known when it was asked": {everyNode, "nobody-knows", Placement{
			Comparison: Unmeasured, Chosen: Considered{Node: "nobody-knows"}, Best: cooler, Rejected: 2, RejectedNodes: hot,
		}},
		"one that was not in the request": {[]string{"cooler", "warm"}, "cool", Placement{
			Comparison: Unmeasured, Chosen: Considered{Node: "cool"}, Best: cooler,
		}},
		"the only one": {[]string{"warm"}, "warm", Placement{
			Comparison: Best, ScoreGap: gap(0), Chosen: *at("warm", 5, 48.5), Best: at("warm", 5, 48.5),
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := shadowed(t)
			b.node("nobody-knows", 0) // known to the watch, to no observation yet
			s, _ := newShadow(t, b)
			asked := b.now
			asks(t, s, "filter", strange("p", 1000), tc.request...)
			asks(t, s, "prioritize", strange("p", 1000), tc.request...)
			b.place("p", tc.chosen)
			b.sample()
			got := s.Settle(b.observer.Latest())
			tc.want.Namespace, tc.want.Pod, tc.want.UID = "ns", "p", "p"
			tc.want.Asked, tc.want.Seen, tc.want.Candidates = asked, b.now, len(tc.request)
			if diff := cmp.Diff([]Placement{tc.want}, got); diff != "" {
				t.Errorf("placements (-want +got):\n%s", diff)
			}
		})
	}
}

// Before the first observation nothing can be compared; what is asked then is
// settled all the same.
func TestVerdictBeforeTheFirstObservation(t *testing.T) {
	b := newBridge(t)
	b.node("a", 100)
	s, _ := newShadow(t, b)
	asks(t, s, "filter", strange("p", 1000), "a", "b")
	b.place("p", "a")
	b.sample()
	got := s.Settle(b.observer.Latest())
	if len(got) != 1 || got[0].Comparison != Unmeasured || got[0].ScoreGap != nil || got[0].Best != nil || got[0].Candidates != 2 {
		t.Errorf("placements %+v, want one unknown", got)
	}
}

// What was asked last counts: prioritize is asked about the nodes that are
// left, and a pod that fits nowhere is asked about again and again.
func TestLastAnswerCounts(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	asks(t, s, "filter", strange("p", 1000), everyNode...)
	asks(t, s, "prioritize", strange("p", 1000), "cool", "warm")
	if got := s.Summary(); got.Pending != 1 || got.Asked != 2 {
		t.Errorf("summary %+v, want two requests about one pod", got)
	}
	b.place("p", "cool")
	b.sample()
	got := s.Settle(b.observer.Latest())
	if len(got) != 1 || got[0].Comparison != Best || got[0].Candidates != 2 || got[0].Rejected != 0 {
		t.Errorf("placements %+v, want the best of two", got)
	}
	if again := s.Settle(b.observer.Latest()); len(again) != 0 {
		t.Errorf("settled again: %+v", again)
	}
}

// What one answer was worked out in is used again, and leaves nothing behind.
func TestAnswersDoNotMix(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	for i := range 20 {
		asks(t, s, "filter", strange(fmt.Sprintf("h%d", i), 1000), "hot", "cool")
		asks(t, s, "filter", strange(fmt.Sprintf("c%d", i), 1000), "cool", "hot")
	}
	for i := range 20 { // once all were asked about: a pod that is bound counts at once
		b.place(fmt.Sprintf("h%d", i), "cool")
		b.place(fmt.Sprintf("c%d", i), "cool")
	}
	b.sample()
	s.Settle(b.observer.Latest())
	recent := s.Report().Recent
	for _, placement := range recent {
		if placement.Comparison != Best || placement.Rejected != 1 || placement.AllRejected {
			t.Errorf("%+v, want the only cool node to be the best and the hot one rejected", placement)
		}
	}
	if len(recent) != 40 {
		t.Errorf("%d placements, want 40", len(recent))
	}
}

// The nodes that a request was about are found when others came in between and
// all are at other places.
func TestVerdictAfterNodesCame(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	asks(t, s, "filter", strange("p", 1000), everyNode...)
	for i := range 20 {
		b.node(fmt.Sprintf("a%02d", i), 9000)
	}
	b.sample()
	b.place("p", "warm")
	b.sample()
	got := s.Settle(b.observer.Latest())
	if len(got) != 1 || got[0].Comparison != BetterKnown || got[0].Best.Node != "cooler" || *got[0].ScoreGap != 10 {
		t.Errorf("placements %+v, want warm 10 points below cooler", got)
	}
}

// A pod that a move evicted is kept off its source in what would have been
// answered; the move itself is left as it is, and nobody takes the requests for
// steering.
func TestShadowTakesUpNoMove(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	b.bind("old", "cooler")
	b.sample()
	b.record(1, "cooler", "warm")
	show(b.observer, webPod("new"))
	before, _ := b.observer.Ledger().Moves()
	asks(t, s, "filter", webPod("new"), everyNode...)
	asks(t, s, "prioritize", webPod("new"), everyNode...)
	after, _ := b.observer.Ledger().Moves()
	if diff := cmp.Diff(before, after, cmpopts.IgnoreUnexported(ledger.Move{})); diff != "" || len(after) != 1 || after[0].Asked {
		t.Errorf("moves (-before +after):\n%s", diff)
	}
	if b.Asked() != 0 || b.AskedAbout("new") || !b.LastAsked().IsZero() {
		t.Error("the Answerer counts as asked")
	}
	b.bind("new", "cooler")
	b.sample()
	got := s.Settle(b.observer.Latest())
	if len(got) != 1 || got[0].Comparison != WouldReject || got[0].Chosen.Rejected != "Source" {
		t.Errorf("placements %+v, want the source rejected", got)
	}
}

// neutral answers as if there were no extender.
type neutral struct{}

func (neutral) Begin() extender.Round                                             { return neutral{} }
func (neutral) Node([]byte) cluster.NodeIndex                                     { return -1 }
func (neutral) Filter(*extender.Pod, []cluster.NodeIndex, []extender.Reject)      {}
func (neutral) Prioritize(pod *extender.Pod, nodes []cluster.NodeIndex, _ []int8) {}

// Whatever is known, a Shadow's replies are byte for byte those of a server
// that knows nothing: before and after the first observation, by names and by
// whole nodes, in full and in short, for pods that are moved and others.
func TestShadowIsNeutralByteForByte(t *testing.T) {
	early, late := newBridge(t), shadowed(t)
	late.record(1, "cool", "warm")
	for stage, b := range map[string]*bridge{"before the first observation": early, "with observations": late} {
		shadow, _ := newShadow(t, b)
		for _, pod := range []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}}, replacement(), {}} {
			for _, body := range [][]byte{named(t, pod, everyNode...), named(t, pod, "hot"), whole(t, pod, everyNode...)} {
				for _, path := range []string{"/filter", "/prioritize", "/filter?full", "/prioritize?full"} {
					want, got := reply(t, neutral{}, path, body), reply(t, shadow, path, body)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, %s of pod %q (-neutral +shadow):\n%s", stage, path, pod.UID, diff)
					}
				}
			}
		}
	}
	// and the Answerer itself would have answered otherwise, or this test could
	// not fail
	body := named(t, replacement(), everyNode...)
	if reply(t, late.Answerer, "/filter", body) == reply(t, neutral{}, "/filter", body) {
		t.Error("the Answerer is neutral")
	}
}

func replacement() *v1.Pod {
	yes := true
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web-new", UID: "web-new", Labels: map[string]string{"pod-template-hash": "h1"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: &yes}},
	}}
}

func named(t testing.TB, pod *v1.Pod, names ...string) []byte {
	t.Helper()
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func whole(t testing.TB, pod *v1.Pod, names ...string) []byte {
	t.Helper()
	nodes := &v1.NodeList{}
	for _, name := range names {
		nodes.Items = append(nodes.Items, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// reply is the status and the body.
func reply(t testing.TB, answerer extender.Answerer, path string, body []byte) string {
	t.Helper()
	server, err := extender.NewServer(extender.Config{Answerer: answerer})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body)))
	return fmt.Sprintf("%d %s", w.Code, w.Body)
}

// The metrics and the report agree.
func TestShadowTells(t *testing.T) {
	b := shadowed(t)
	s, registry := newShadow(t, b)
	for uid, node := range map[string]string{"p1": "cooler", "p2": "warm", "p3": "hot", "p4": ""} {
		asks(t, s, "filter", strange(uid, 1000), everyNode...)
		if node != "" {
			b.place(uid, node)
		}
	}
	asked := b.now
	b.sample()
	s.Settle(b.observer.Latest())
	const want = `
# HELP evenkeel_shadow_pending Pods that were asked about and not seen on a node yet.
# TYPE evenkeel_shadow_pending gauge
evenkeel_shadow_pending 1
# HELP evenkeel_shadow_placements_total Pods that kube-scheduler asked about while answers were neutral, by how its choice compares with what it would have been told.
# TYPE evenkeel_shadow_placements_total counter
evenkeel_shadow_placements_total{verdict="best"} 1
evenkeel_shadow_placements_total{verdict="better_known"} 1
evenkeel_shadow_placements_total{verdict="dropped"} 0
evenkeel_shadow_placements_total{verdict="unbound"} 0
evenkeel_shadow_placements_total{verdict="unknown"} 0
evenkeel_shadow_placements_total{verdict="would_reject"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "evenkeel_shadow_pending", "evenkeel_shadow_placements_total"); err != nil {
		t.Error(err)
	}
	if got := gaps(t, registry); got != "3 in all 20" {
		t.Errorf("score gaps: %s, want 0, 10 and 10", got)
	}
	report := s.Report()
	wantSummary := ShadowSummary{Asked: 4, LastAsked: asked, Pending: 1, Placements: map[Comparison]int64{
		Best: 1, BetterKnown: 1, WouldReject: 1, Unmeasured: 0, Unbound: 0, Dropped: 0,
	}}
	if diff := cmp.Diff(wantSummary, report.ShadowSummary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	var pods []string
	for _, placement := range report.Recent {
		pods = append(pods, placement.Pod)
	}
	if diff := cmp.Diff([]string{"p3", "p2", "p1"}, pods); diff != "" {
		t.Errorf("recent placements (-want +got):\n%s", diff)
	}
	if _, err := json.Marshal(report); err != nil {
		t.Errorf("encoding the report: %v", err)
	}
}

// gaps is how many score gaps were observed and what they are together.
func gaps(t testing.TB, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "evenkeel_shadow_score_gap" {
			histogram := family.GetMetric()[0].GetHistogram()
			return fmt.Sprintf("%d in all %g", histogram.GetSampleCount(), histogram.GetSampleSum())
		}
	}
	return "none"
}

// Metrics are registered once per process.
func TestNewShadowRefuses(t *testing.T) {
	b := newBridge(t)
	_, registry := newShadow(t, b)
	if _, err := NewShadow(b.Answerer, registry); err == nil {
		t.Error("want an error for metrics that are registered already")
	}
	if _, err := NewShadow(nil, nil); err == nil {
		t.Error("want an error without an Answerer")
	}
	if _, err := NewShadow(b.Answerer, nil); err != nil {
		t.Errorf("without a registerer: %v", err)
	}
}

// Run settles what each new observation shows, until it is stopped.
func TestShadowRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shadowed(t)
		s, _ := newShadow(t, b)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		asks(t, s, "filter", strange("p", 1000), everyNode...)
		time.Sleep(time.Minute)
		b.place("p", "warm")
		synctest.Wait()
		if got := s.Summary(); got.Pending != 1 {
			t.Errorf("settled without an observation: %+v", got)
		}
		b.sample()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := s.Summary(); got.Pending != 0 || got.Placements[BetterKnown] != 1 {
			t.Errorf("summary %+v, want one placement", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stopped with %v", err)
		}
	})
}

// BenchmarkShadow answers requests of so many names about ever new pods on an
// observation of 5,000 nodes.
func BenchmarkShadow(b *testing.B) {
	for _, path := range []string{"/filter", "/prioritize"} {
		for _, names := range []int{100, 500, 5000} {
			b.Run(fmt.Sprintf("%s/names=%d", path[1:], names), func(b *testing.B) { benchmarkShadow(b, path, names) })
		}
	}
}

func benchmarkShadow(b *testing.B, path string, names int) {
	shadow, _ := newShadow(b, benchBridge(b))
	server, err := extender.NewServer(extender.Config{Answerer: shadow})
	if err != nil {
		b.Fatal(err)
	}
	body := benchRequest(b, names, false)
	at := bytes.Index(body, []byte(`"uid":"other-x"`)) + len(`"uid":"`)
	reader, w := bytes.NewReader(body), &discard{header: http.Header{}}
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, nil)
	request.Body, request.ContentLength = io.NopCloser(reader), int64(len(body))
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		copy(body[at:], fmt.Sprintf("%07d", n%1e7))
		reader.Reset(body)
		server.ServeHTTP(w, request)
	}
	if w.code != 0 {
		b.Fatalf("status %d", w.code)
	}
}
