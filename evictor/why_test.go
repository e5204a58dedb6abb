package evictor

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/strategies"
)

// logging returns a context whose log is written to a buffer with the verbosity of the manifests.
func logging(t *testing.T) (context.Context, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	config := textlogger.NewConfig(textlogger.Output(&out), textlogger.Verbosity(2))
	return klog.NewContext(t.Context(), textlogger.NewLogger(config)), &out
}

func toldIn(t *testing.T, log *bytes.Buffer) []history.Entry {
	t.Helper()
	logs := history.NewLogs(history.Query{})
	if err := logs.Read(log); err != nil {
		t.Fatal(err)
	}
	return logs.Entries()
}

// entryOf returns the history entry of the move of aPod(name).
func entryOf(name string, change ...func(*history.Entry)) history.Entry {
	move := moveOf(name)
	e := history.Entry{
		Namespace: "ns", Pod: name, PodUID: "uid-" + name, Owner: "ReplicaSet/web", Node: "hot", Destination: "cool",
		CPUMilli: new(int64(2200)), MemoryBytes: new(int64(1 << 30)), Decision: *move.Decision,
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

var untimed = cmpopts.IgnoreFields(history.Entry{}, "At")

// Of a planned move, its sentence, the lines that its node exceeds, the policy and the cycle are
// kept in the ledger and in one line of the log. The sentence is also in its Event.
func TestWhyIsKept(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	recorder := events.NewFakeRecorder(1)
	gate := newGate(t, a, func(c *ClientConfig) { c.Events = recorder })
	gate.evictor.config.Settings.Policy = "0123456789ab"
	gate.evictor.BeginCycle(t.Context())
	plan := &strategies.Plan{Moves: []strategies.Move{{
		Pod:  strategies.Pod{Pod: &cluster.Pod{UID: "uid-web-1", Namespace: "ns", Name: "web-1"}, Usage: cluster.Amounts{2200, 1 << 30}},
		From: "hot", To: "cool",
	}}}
	move := moveFor(gate.evictor, &plan.Moves[0])
	want := &ledger.Decision{
		Message: "Node hot is hot: cpu 97.0% (avg_5m) is above the 65% evict line. Pod uses " +
			plan.Moves[0].Usage.InWords() + ". Planned destination: cool (cpu 0.0% → 0.0%).",
		Exceeded: []ledger.Exceeded{{Metric: "cpu", Window: "avg_5m", Value: 97, Line: 65, Percent: true}},
		Plugin:   "RealUsageLowNodeUtilization", Policy: "0123456789ab", Cycle: gate.evictor.CycleID(),
	}
	if diff := cmp.Diff(want, move.Decision); diff != "" {
		t.Fatalf("the decision (-want +got):\n%s", diff)
	}
	ctx, log := logging(t)
	gate.config.Ledger.Record(time.Now(), move.Intent)
	err := through(ctx, gate, move)
	if err != nil {
		t.Fatal(err)
	}
	if stored, _ := gate.config.Ledger.Get("uid-web-1"); !stored.Accepted || cmp.Diff(want, stored.Decision) != "" {
		t.Errorf("stored %+v", stored)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("%d lines of log, want one:\n%s", lines, log)
	}
	wantEntry := entryOf("web-1", func(e *history.Entry) { e.Decision, e.Owner = *want, "" })
	if diff := cmp.Diff([]history.Entry{wantEntry}, toldIn(t, log), untimed); diff != "" {
		t.Errorf("history from the log (-want +got):\n%s", diff)
	}
	if got := <-recorder.Events; got != "Normal EvictedFromHotNode "+want.Message {
		t.Errorf("Event %q", got)
	}
}

// An eviction by an upstream plugin has the framework's reason, what is known about its
// destination, and only the framework's Event.
func TestWhyOfUpstreamEvictions(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	gate := newGate(t, newAPI(t, aPod("web-1")), func(c *ClientConfig) { c.Events = recorder })
	eviction := evictionOf("web-1")
	eviction.Annotations = map[string]string{"reason": "triggered by p/RemoveDuplicates: twice"}
	if err := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	move, _ := gate.config.Ledger.Get("uid-web-1")
	want := &ledger.Decision{Plugin: "RemoveDuplicates", Message: "triggered by p/RemoveDuplicates: twice. No destination: no node fits.", Cycle: gate.evictor.CycleID()}
	if diff := cmp.Diff(want, move.Decision); diff != "" {
		t.Errorf("the decision (-want +got):\n%s", diff)
	}
	if len(recorder.Events) > 0 {
		t.Errorf("Event %q", <-recorder.Events)
	}
}

// A dry run logs its would-be moves like real ones, judges them later by the state of the nodes
// without them, and records none in the ledger.
func TestDryRunIsRecordedAndJudged(t *testing.T) {
	a := newAPI(t, aPod("web-1"), aPod("web-2"))
	gate := newGate(t, a, dryRun)
	ctx, log := logging(t)
	began := time.Now()
	for n, name := range []string{"web-1", "web-2", "web-1"} {
		gate.evictor.config.Cluster.(*play).config.now = func() time.Time { return began.Add(time.Duration(n) * time.Minute) }
		if err := through(ctx, gate, moveOf(name)); err != nil {
			t.Fatal(err)
		}
	}
	gate.evictor.config.Cluster.(*play).config.pod = func(_, name string) *v1.Pod {
		return map[string]*v1.Pod{"web-1": aPod("web-1")}[name]
	}
	gate.evictor.AssessMoves(ctx)
	gate.evictor.AssessMoves(ctx) // nothing is left to judge
	if judged := strings.Count(log.String(), `"Would-be move judged"`); judged != 2 {
		t.Errorf("%d judgements, want one for each pod:\n%s", judged, log)
	}
	good := history.Outcome{"sourceStillHot": true, "destinationTakes": true, "podStayed": true}
	gone := history.Outcome{"sourceStillHot": true, "destinationTakes": true, "podStayed": false}
	want := []history.Entry{
		entryOf("web-1", func(e *history.Entry) { e.DryRun, e.Times, e.Outcome = true, 2, good }),
		entryOf("web-2", func(e *history.Entry) { e.DryRun, e.Times, e.Outcome = true, 1, gone }),
	}
	if diff := cmp.Diff(want, toldIn(t, log), untimed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	inFlight, ended := gate.config.Ledger.Moves()
	if len(inFlight)+len(ended) > 0 {
		t.Errorf("the ledger has %d moves", len(inFlight)+len(ended))
	}
}
