package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// meter is a source that reports one node.
type meter struct{}

func (meter) Name() string { return "meter" }

func (meter) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	now := time.Now()
	return usage.Batch{Source: "meter", Received: now, Nodes: []usage.NodeSample{{Name: "n1", Readings: []usage.Reading{
		{Metric: usage.CPU, Window: usage.Last, At: now, Value: 7000}, {Metric: usage.Memory, Window: usage.Last, At: now, Value: 1 << 30},
		{Metric: usage.CPU, Window: usage.Avg5m, At: now, Value: 7000}, {Metric: usage.Memory, Window: usage.Avg5m, At: now, Value: 1 << 30},
	}}}}, nil
}

// watching returns an observer that knows a single node.
func watching(t *testing.T) *observer.Observer {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	load := policy.Default(kinds.All)
	o, err := observer.New(observer.Config{
		Sources: []observer.Source{meter{}}, Lines: set, SampleInterval: time.Second, Now: time.Now,
		Usage: settings.Usage(&load), HotWindows: []usage.Window{usage.Avg5m},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Store().SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{
		Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
		Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
	}})
	o.Sample(t.Context())
	return o
}

// At V(2), a cycle logs hot nodes with their numbers, and nodes that are above an evict line but not hot.
func TestJudgedIsLogged(t *testing.T) {
	o := watching(t)
	d, latest := New(o, nil, nil, &Terms{}), o.Latest()
	by, made := newPlugin(t, &realusage.Args{}), strategies.Made{Observed: strategies.Observed{View: latest.View, Board: latest.Board, Lines: latest.Lines, States: map[string]thresholds.NodeState{}}}
	for verbosity := range 3 {
		for _, state := range []thresholds.State{thresholds.Warm, thresholds.Hot} {
			want := 0
			if state == thresholds.Hot && verbosity == 2 {
				want = 1
			}
			var out bytes.Buffer
			logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out), textlogger.Verbosity(verbosity)))
			made.Observed.States["n1"] = thresholds.NodeState{State: state, Since: time.Now()}
			d.Judged(klog.NewContext(t.Context(), logger), by, &made)
			if got := strings.Count(out.String(), `"Node judged" node="n1" state="hot"`); got != want {
				t.Errorf("-v=%d, %s: %d lines, want %d:\n%s", verbosity, state, got, want, out.String())
			}
			above := strings.Count(out.String(), `state="warm" since=`)
			if want := map[bool]int{true: 1}[state == thresholds.Warm && verbosity == 2]; above != want {
				t.Errorf("-v=%d, %s: %d lines about a warm node above its evict line, want %d:\n%s", verbosity, state, above, want, out.String())
			}
			if want == 1 && !strings.Contains(out.String(), `hasToLeave="500m cpu, 0Mi memory"`) {
				t.Errorf("no numbers in %s", out.String())
			}
		}
	}
}

// The last cycle is kept even if it planned nothing.
func TestCycle(t *testing.T) {
	o := watching(t)
	e, latest := New(o, nil, nil, &Terms{}), o.Latest()
	if got := e.Cycle(); got != nil {
		t.Errorf("before the first there is %+v", got)
	}
	plan, by := strategies.Plan{Nodes: []strategies.NodeReport{{Name: "n1", State: thresholds.Hot}}}, newPlugin(t, &realusage.Args{})
	for _, want := range []status.Cycle{{At: latest.At, Plan: plan}, {At: latest.At, Closed: "the window is shut"}} {
		e.Judged(t.Context(), by, &strategies.Made{Plan: want.Plan, Closed: want.Closed})
		if diff := cmp.Diff(&want, e.Cycle()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// If several profiles move pods by real usage, the plan of the first one is shown, as by the
// command plan, although a cycle judges the others later. A new policy may have a different first
// profile.
func TestThePlanOfTheFirstProfileIsShown(t *testing.T) {
	args, later := &realusage.Args{}, &realusage.Args{}
	first, second := newPlugin(t, args), newPlugin(t, later)
	judge := func(e *Explainer) {
		e.Judged(t.Context(), first, &strategies.Made{Closed: "first"})
		e.Judged(t.Context(), second, &strategies.Made{Closed: "second"})
	}
	e := New(watching(t), nil, nil, &Terms{MovesByUsage: true, Shown: []policy.Strategy{args}, OtherProfiles: []string{"batch"}})
	if judge(e); e.Cycle().Closed != "first" || !slices.Equal(e.planners(), []*plugin.Plugin{first}) || !slices.Equal(e.OtherProfiles(), []string{"batch"}) {
		t.Errorf("shown is the plan of the %s, and not that of %v", e.Cycle().Closed, e.OtherProfiles())
	}
	e.Follow(&Terms{MovesByUsage: true, Shown: []policy.Strategy{later}})
	if judge(e); e.Cycle().Closed != "second" || !slices.Equal(e.planners(), []*plugin.Plugin{second}) {
		t.Errorf("after the policy has changed the plan of the %s is shown", e.Cycle().Closed)
	}
}

// idle is an evicting half that is never used.
type idle struct{ plugin.Half }

func newPlugin(t *testing.T, args plugin.Strategy) *plugin.Plugin {
	t.Helper()
	p, err := plugin.New(args, nil, plugin.Deps{Half: idle{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Only one plan is made at a time, nobody waits for longer than five seconds, and a plan that
// panics affects nothing else.
func TestDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Explainer
		release := make(chan struct{})
		began := time.Now()
		slow := func(context.Context) (*status.Facts, error) { <-release; return &status.Facts{}, nil }
		if _, err := d.study(t.Context(), slow); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != Timeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := d.study(t.Context(), slow); err == nil || !strings.Contains(err.Error(), "ask again") {
			t.Errorf("a second plan beside the first: %v", err)
		}
		close(release)
		synctest.Wait()
		if f, err := d.study(t.Context(), slow); f == nil || err != nil {
			t.Errorf("after the first was made: %v", err)
		}
		synctest.Wait()
		if _, err := d.study(t.Context(), func(context.Context) (*status.Facts, error) { panic("oh") }); err == nil || !strings.Contains(err.Error(), "oh") {
			t.Errorf("a panic: %v", err)
		}
	})
}

// Explanations sent over the network have the same values as local ones.
func TestExplanationsSurviveTheWire(t *testing.T) {
	response, err := http.Get(answering(t) + "/explain/node/n1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var got status.NodeExplanation
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := []string{"cpu 70.0% (avg_5m) is above the 65% evict line"}
	if diff := cmp.Diff(want, got.Over); diff != "" || got.HasToLeave.CPUMilli != 500 || got.Predicted.CPUMilli != 7000 {
		t.Errorf("over (-want +got):\n%s\n%+v", diff, got)
	}
}

// answering serves explanations about its only node, at the returned URL.
func answering(t *testing.T) string {
	t.Helper()
	listening := httptest.NewServer(extender.Report(New(watching(t), nil, nil, &Terms{}).Explain))
	t.Cleanup(listening.Close)
	return listening.URL
}

// A client that has received its answer may ask again at once.
func TestOneExplanationAfterTheOther(t *testing.T) {
	var e Explainer
	for i := range 100_000 {
		_, err := e.study(t.Context(), func(context.Context) (*status.Facts, error) { return &status.Facts{}, nil })
		if err != nil {
			t.Fatalf("explanation %d: %v", i, err)
		}
	}
}

// A process that evicts only with other plugins reports that, whatever was planned under an earlier
// policy. A process that evicts nothing has a different message.
func TestNothingByUsage(t *testing.T) {
	o, nodes := watching(t), listers.NewNodeLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil))
	e := New(o, nodes, nil, &Terms{MovesByUsage: true})
	e.Judged(t.Context(), newPlugin(t, &realusage.Args{}), &strategies.Made{Plan: strategies.Plan{Nodes: []strategies.NodeReport{{Name: "n1"}}}})
	if e.NothingByUsage() != "" || e.Cycle() == nil {
		t.Errorf("%q, cycle %v", e.NothingByUsage(), e.Cycle())
	}
	e.Follow(&Terms{})
	f, err := e.knowing(t.Context(), status.Subject{Kind: status.KindNode, Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.NoPlan, status.NothingByUsage) || e.Cycle() != nil {
		t.Errorf("%q, cycle %v", f.NoPlan, e.Cycle())
	}
	if e.Follow(&Terms{PlansUpstream: true}); e.NothingByUsage() != "" || e.Moves() != (status.Moves{ByPlugins: true}) {
		t.Errorf("a process that plans the evictions of plugins: %q, %+v", e.NothingByUsage(), e.Moves())
	}
	if got := New(o, nil, nil, &Terms{}).NothingByUsage(); got != "" {
		t.Errorf("a process that evicts nothing: %q", got)
	}
}
