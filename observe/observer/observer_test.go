package observer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

func TestConfigIsChecked(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an Observer of nothing")
	}
	bad := newHarbor(t).at.config
	bad.Usage.MaxAge = 0
	if _, err := New(bad); err == nil {
		t.Error("an Observer without a maximum age")
	}
}

// Nodes turn hot and cool as samples arrive, evicting waits for enough samples, and a source that
// keeps failing finally makes every node unknown.
func TestObservations(t *testing.T) {
	h := newHarbor(t)
	if h.Latest() != nil {
		t.Fatal("an observation before the first sample")
	}
	for i := range 5 {
		h.node(fmt.Sprintf("n%d", i), 3000)
	}
	h.nodes["n0"] = cluster.Amounts{7000, 0}
	first := h.now.Add(15 * time.Second)
	steps := []struct {
		name   string
		do     func()
		gate   reasons.Reason
		hot    thresholds.State // of n0
		cool   thresholds.State // of n1
		ready  int
		failed bool
	}{
		{"the first sample is no window", func() { h.pass(15 * time.Second) }, reasons.UsageWindowsFilling, thresholds.Unknown, thresholds.Unknown, 5, false},
		{"after 75 s all is known", func() { h.pass(75 * time.Second) }, "", thresholds.Hot, thresholds.Cool, 5, false},
		{"one of five is no longer measured", func() { delete(h.nodes, "n4"); h.pass(2 * time.Minute) }, "", thresholds.Hot, thresholds.Cool, 5, false},
		{"nor another: too few", func() { delete(h.nodes, "n3"); h.pass(2 * time.Minute) }, reasons.UsageCoverageTooLow, thresholds.Hot, thresholds.Cool, 5, false},
		{"the source fails: what is known ages", func() { h.fail = errSource; h.pass(75 * time.Second) }, reasons.UsageCoverageTooLow, thresholds.Hot, thresholds.Cool, 5, true},
		{"until it is too old", func() { h.pass(30 * time.Second) }, reasons.UsageSourceUnavailable, thresholds.Unknown, thresholds.Unknown, 5, true},
		{"it comes back", func() { h.fail = nil; h.node("n3", 3000); h.pass(2 * time.Minute) }, "", thresholds.Hot, thresholds.Cool, 5, false},
	}
	for _, step := range steps {
		step.do()
		latest := h.Latest()
		if latest.Blocked != step.gate || latest.States["n0"].State != step.hot || latest.States["n1"].State != step.cool || latest.Ready != step.ready {
			t.Errorf("%s: gate %q, n0 %q, n1 %q, %d ready, %d fresh", step.name, latest.Blocked, latest.States["n0"].State,
				latest.States["n1"].State, latest.Ready, latest.Fresh)
		}
		if errors.Is(latest.SourceError(), errSource) != step.failed || !latest.First.Equal(first) {
			t.Errorf("%s: error %v, first at %v", step.name, latest.SourceError(), latest.First)
		}
	}
}

// A failed reading does not count: a node stays hot until a sample shows otherwise, even if a pod
// has left it in the meantime.
func TestStatesWithoutAReading(t *testing.T) {
	h := newHarbor(t)
	h.node("n1", 7000)
	h.pod("a", "n1", "web")
	h.pods["a"] = cluster.Amounts{4000, 0}
	h.pass(5 * time.Minute)
	since := h.Latest().States["n1"].Since
	h.fail = errSource
	h.Store().DeletePod("ns", "a")
	h.pass(time.Minute)
	if got := h.Latest().States["n1"]; got.State != thresholds.Hot || !got.Since.Equal(since) {
		t.Errorf("%s since %v, want hot since %v", got.State, got.Since, since)
	}
	if got := h.predicted("n1"); got != 3000 {
		t.Errorf("predicted %d, want 3000", got)
	}
	h.fail = nil
	h.nodes["n1"] = cluster.Amounts{3000, 0}
	h.pass(15 * time.Second)
	if got := h.Latest().States["n1"]; got.State != thresholds.Cool {
		t.Errorf("%s after a sample, want cool", got.State)
	}
}

// A cluster without nodes, or without a single reading, allows no evictions.
func TestGateWithoutAnything(t *testing.T) {
	h := newHarbor(t)
	h.fail = errSource
	h.Observer.Sample(t.Context())
	if got := h.Latest(); got.Blocked != reasons.UsageSourceUnavailable || got.Batches != 0 {
		t.Errorf("gate %q after %d readings", got.Blocked, got.Batches)
	}
}

// Pods that arrive on a node or leave it between two samples are on the board at once, and each is
// counted once.
func TestBoardBetweenSamples(t *testing.T) {
	h := newHarbor(t)
	h.node("n1", 3000)
	h.node("n2", 1000)
	a, b := h.pod("a", "n1", "web"), h.pod("b", "n1", "web")
	h.pods["a"], h.pods["b"] = cluster.Amounts{900, 0}, cluster.Amounts{1100, 0}
	h.pass(5 * time.Minute)

	move := ledger.Intent{
		Namespace: "ns", Pod: "a", PodUID: "uid-a", Owner: cluster.Owner{UID: "web", Kind: "ReplicaSet", Name: "web"}, TemplateHash: "h1",
		Usage: cluster.Amounts{900, 0}, From: "n1", To: "n2", TTL: time.Minute,
	}
	const id = "uid-a"
	steps := []struct {
		name   string
		do     func()
		n1, n2 int64
	}{
		{"as measured", func() {}, 3000, 1000},
		{"a move is recorded", func() { h.Ledger().Record(h.now, move) }, 3000, 1900},
		{"its pod is terminating and still counts", func() {
			a.DeletionTimestamp = &metav1.Time{Time: h.now}
			h.Store().SetPod(a.DeepCopy())
		}, 3000, 1900},
		{"its pod is gone", func() { h.Store().DeletePod("ns", "a") }, 2100, 1900},
		{"gone twice", func() { h.Store().DeletePod("ns", "a") }, 2100, 1900},
		{"its replacement came", func() { h.pod("c", "", "web") }, 2100, 1900},
		{"booked on the other node", func() { h.Ledger().Book(id, "uid-c", "n1", cluster.Amounts{}, h.now) }, 3000, 1000},
		{"booked back", func() { h.Ledger().Book(id, "uid-c", "n2", cluster.Amounts{}, h.now) }, 2100, 1900},
		{"the replacement is bound: its usage instead of the reservation", func() { h.pod("c", "n2", "web") }, 2100, 1900},
		{"told again", func() { h.pod("c", "n2", "web") }, 2100, 1900},
		{"a scale-up is bound: what its siblings use", func() { h.pod("d", "n2", "web") }, 2100, 2900},
		{"a pod of nobody's kind is bound: 85 % of its request", func() { h.pod("e", "n1", "other") }, 2950, 2900},
		{"and goes again", func() { h.Store().DeletePod("ns", "e") }, 2100, 2900},
		{"so does a measured one", func() { h.Store().DeletePod("ns", b.Name) }, 1000, 2900},
		{"an unknown node", func() { h.pod("f", "n9", "web"); h.Store().DeletePod("ns", "f") }, 1000, 2900},
	}
	for _, step := range steps {
		step.do()
		if n1, n2 := h.predicted("n1"), h.predicted("n2"); n1 != step.n1 || n2 != step.n2 {
			t.Errorf("%s: predicted %d and %d, want %d and %d", step.name, n1, n2, step.n1, step.n2)
		}
	}
	// The next observation starts with the same figures, although b and a have left n1, whose own
	// window still includes them.
	h.nodes["n1"], h.nodes["n2"] = cluster.Amounts{1000, 0}, cluster.Amounts{1000, 0}
	h.pods = map[string]cluster.Amounts{}
	h.pass(15 * time.Second)
	if n1, n2 := h.predicted("n1"), h.predicted("n2"); n1 != 1000 || n2 != 1000+900+850 { // d's siblings are gone, so its request counts
		t.Errorf("next sample: predicted %d and %d, want 1000 and 2750", n1, n2)
	}
}

// A replacement came with a node only if it was created with one, in which case its kubelet accepts
// it later. A replacement that a scheduler bound did not come with a node, even if this process
// first sees it bound, because the watch may have had a gap or a delay.
func TestReplacementsThatCameWithANode(t *testing.T) {
	const scheduled = true
	type report struct {
		node      string
		scheduled bool
	}
	for name, tc := range map[string]struct {
		reports []report
		want    bool
	}{
		"created, then bound by a scheduler":              {[]report{{"", false}, {"n2", scheduled}}, false},
		"bound by a scheduler during a gap in the watch":  {[]report{{"n2", scheduled}}, false},
		"created with a node":                             {[]report{{"n2", false}}, true},
		"created with a node, and adopted by its kubelet": {[]report{{"n2", false}, {"n2", scheduled}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			h.node("n1", 3000)
			h.node("n2", 1000)
			h.pod("a", "n1", "web")
			h.Ledger().Record(h.now, ledger.Intent{
				Namespace: "ns", Pod: "a", PodUID: "uid-a", Owner: cluster.Owner{UID: "web", Kind: "ReplicaSet", Name: "web"}, TemplateHash: "h1",
				Usage: cluster.Amounts{900, 0}, From: "n1", To: "n2", TTL: time.Minute,
			})
			h.Store().DeletePod("ns", "a")
			for _, r := range tc.reports {
				pod := h.podOf("b", r.node, "web")
				if r.scheduled {
					pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue})
				}
				h.Store().SetPod(pod)
			}
			if move, _ := h.Ledger().Get("uid-a"); move.State != ledger.Landed || move.CameBound != tc.want {
				t.Errorf("%s, came bound: %t, want %t", move.State, move.CameBound, tc.want)
			}
		})
	}
}

// Whatever is created, deleted, recorded, booked, cancelled and bound between two samples, the
// published board predicts the same as a newly built one.
func TestBoardStaysTrue(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 51))
		h := newHarbor(t)
		for i := range 4 {
			h.node(fmt.Sprintf("n%d", i), 5000)
		}
		for i := range 8 {
			name := fmt.Sprintf("p%d", i)
			h.pod(name, fmt.Sprintf("n%d", i%4), fmt.Sprintf("rs%d", i%2))
			h.pods[name] = cluster.Amounts{500 + 300*int64(i%2), 0} // equal among siblings, so that their mean stays the same
		}
		h.pass(5 * time.Minute)
		for step := range 60 {
			h.happen(rng, step)
			if diff := cmp.Diff(h.anew(), h.published()); diff != "" {
				t.Fatalf("seed %d, step %d: board (-anew +published):\n%s", seed, step, diff)
			}
		}
	}
}

// nodeOf returns the node of a pod; empty if the pod does not exist.
func (h *harbor) nodeOf(pod string) (node string) {
	h.Store().Observe(func(snapshot *cluster.Snapshot) {
		for _, info := range snapshot.Nodes {
			for _, other := range info.Pods {
				if other.Name == pod {
					node = info.Node.Name
				}
			}
		}
	})
	return node
}

// happen causes one random event.
func (h *harbor) happen(rng *rand.Rand, step int) {
	h.now = h.now.Add(time.Duration(rng.IntN(500)) * time.Millisecond)
	node, k := fmt.Sprintf("n%d", rng.IntN(4)), rng.IntN(12)
	owner, name := fmt.Sprintf("rs%d", k%2), fmt.Sprintf("p%d", k)
	switch rng.IntN(8) {
	case 0, 1:
		h.pod(fmt.Sprintf("new%d", k), node, owner)
	case 2:
		if k > 1 { // one measured pod of each owner stays, so that its estimate stays the same
			h.Store().DeletePod("ns", name)
		}
	case 3:
		h.Store().DeletePod("ns", fmt.Sprintf("new%d", k))
	case 4:
		from := h.nodeOf(name)
		if from == "" {
			return
		}
		h.Ledger().Record(h.now, ledger.Intent{
			Namespace: "ns", Pod: name, PodUID: "uid-" + name, Owner: cluster.Owner{UID: owner, Kind: "ReplicaSet"}, TemplateHash: "h1",
			Usage: cluster.Amounts{rng.Int64N(900), 0}, From: from, To: []string{node, ""}[rng.IntN(2)], TTL: time.Hour,
		})
	case 5:
		if inFlight, _ := h.Ledger().Moves(); len(inFlight) > 0 {
			move := inFlight[rng.IntN(len(inFlight))]
			h.Ledger().Book(move.PodUID, move.Replacement, node, cluster.Amounts{300, 0}, h.now)
		}
	case 6:
		h.Ledger().Cancel("uid-"+name, h.now)
	case 7:
		h.Ledger().Match(ledger.Pod{
			UID: fmt.Sprintf("uid-new%d", k), Namespace: "ns", OwnerUID: owner, OwnerKind: "ReplicaSet", TemplateHash: "h1",
		}, h.now)
	}
}

// published returns the predictions of the published board, and anew those of a board that is built
// from the current cluster.
func (h *harbor) published() map[string]int64 {
	predicted := map[string]int64{}
	for i := range 4 {
		predicted[fmt.Sprintf("n%d", i)] = h.predicted(fmt.Sprintf("n%d", i))
	}
	return predicted
}

func (h *harbor) anew() map[string]int64 {
	predicted := map[string]int64{}
	h.store.Observe(func(snapshot *cluster.Snapshot) {
		view := h.at.usage.View(snapshot, h.Latest().At, h.ledger.Expected())
		board := scorer.NewBoard(view, h.at.config.Lines.Resolve(view), scorer.Config{})
		h.ledger.Reserved(board.Adjust, func() {})
		for i := range cluster.NodeIndex(4) {
			amounts, _ := board.Predicted(i)
			predicted[board.Name(i)] = amounts[cluster.CPU]
		}
	})
	return predicted
}

// Run samples as soon as nodes and pods are known, and then at a steady interval. It ends with its
// context.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarbor(t)
		var taken atomic.Int64
		h.at.config.Sources[0] = sourceFunc(func(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
			taken.Add(1)
			return h.meter.Sample(ctx, snapshot)
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		time.Sleep(time.Minute)
		if samples := taken.Load(); samples != 0 {
			t.Fatalf("%d samples before nodes and pods are known", samples)
		}
		factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		synced, err := h.Store().Attach(factory)
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		for !synced() {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if samples := taken.Load(); samples != 1 {
			t.Errorf("%d samples at the start, want 1", samples)
		}
		time.Sleep(time.Minute)
		if samples := taken.Load(); samples != 5 {
			t.Errorf("%d samples after a minute, want 5", samples)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		factory.Shutdown()
	})
}

// A sample that is cut off because the process ends publishes nothing.
func TestSampleAtTheEnd(t *testing.T) {
	h := newHarbor(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.Observer.Sample(ctx)
	if h.Latest() != nil {
		t.Error("an observation of a reading that was cut off")
	}
}
