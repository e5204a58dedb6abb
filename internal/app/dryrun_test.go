package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/status/announce"
)

const restarts, duplicates, spread = "RemovePodsHavingTooManyRestarts", "RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"

// trying is a cluster on which one plugin evicts by itself, and then others, in the given order, ask for
// evictions of the same pods, which are planned. At most two pods may be evicted in a cycle, which is
// what each of them alone asks for.
func trying(balance string, dryRun ...string) *landings.Scenario {
	return &landings.Scenario{
		Nodes: []landings.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}},
		Workloads: []landings.Workload{
			{Name: "flaky", On: []string{"n1", "n2"}, Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", Ready: true, RestartCount: 150}}}},
			{Name: "twin", On: []string{"n1", "n1", "n1"}, Spec: v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "twin"}},
			}}}},
		},
		Policy: `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictTotal: 2
profiles:
  - name: p
    pluginConfig:
      - {name: DefaultEvictor}
      - {name: RemovePodsHavingTooManyRestarts, args: {podRestartThreshold: 100, includingInitContainers: true}}
      - {name: RemoveDuplicates}
      - {name: RemovePodsViolatingTopologySpreadConstraint, args: {constraints: [ScheduleAnyway]}}
    plugins:
      deschedule: {enabled: [RemovePodsHavingTooManyRestarts]}
      balance: {enabled: [` + balance + `]}
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
eviction: {dryRunPlugins: [` + strings.Join(dryRun, ", ") + `], maxMovesPerHourOfOwner: 0, maxInFlightPercentOfOwner: 100}
`,
	}
}

// seenCycle is what users see of a cycle.
type seenCycle struct {
	// Evicted holds the workloads of evicted pods. Logged and WouldBe hold the plugins whose
	// evictions are logged, and Recorded those in the ledger.
	Evicted, Logged, WouldBe, Recorded []string
	// Events is the number of Events on evicted pods, and Counted the metric's values.
	Events  int
	Counted map[string]float64
}

// oneCycle runs a cycle of a process.
func oneCycle(t *testing.T, s *landings.Scenario, dryRun bool) (got seenCycle) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
		stage := newStage(ctx, t, s)
		setup := offline(t, stage, s.Policy, func(o *flags.Options) { o.Interval, o.Namespace, o.DryRun = landingsInterval, "kube-system", dryRun })
		recorded := make(chan string, 100)
		e, err := newEvicting(ctx, setup, &announce.Unsent{FakeRecorder: events.FakeRecorder{Events: recorded}}, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.process.equip(ctx, e.process.current()), e.startInformers(ctx)); err != nil {
			t.Fatal(err)
		}
		e.process.tell(e.process.current())
		if err := e.cycle(ctx); err != nil {
			t.Error(err)
		}
		for _, left := range stage.evicted {
			got.Evicted = append(got.Evicted, left.workload)
		}
		sink, ok := logger.GetSink().(ktesting.Underlier)
		if !ok {
			t.Fatal("no log to look at")
		}
		for _, entry := range sink.GetBuffer().Data() {
			plugin := slices.Index(entry.ParameterKVList, any("plugin"))
			if plugin < 0 || !slices.Contains(entry.ParameterKVList, any("podUID")) {
				continue
			}
			by, _ := entry.ParameterKVList[plugin+1].(string)
			switch entry.Message {
			case "Evicted pod":
				got.Logged = append(got.Logged, by)
			case "Would evict pod":
				got.WouldBe = append(got.WouldBe, by)
			}
		}
		inFlight, ended := e.process.observer.Ledger().Moves()
		for _, move := range slices.Concat(inFlight, ended) {
			got.Recorded = append(got.Recorded, move.Decision.Plugin)
		}
		got.Events, got.Counted = len(recorded), counted(t, e.process.registry)
		stop()
		e.process.stop()
		time.Sleep(time.Minute)
	})
	return got
}

// counted returns the counts of evictions by strategy and result.
func counted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "evenkeel_pod_evictions_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			counts[labels["strategy"]+" "+labels["result"]] = metric.GetCounter().GetValue()
		}
	}
	return counts
}

// A plugin in dry run only says what it would do. It evicts nothing, is not in the ledger, creates no Event, and
// takes no eviction from another plugin's limit. It has the limit that the other plugins leave.
func TestAPluginInDryRunOnlySaysWhatItWouldDo(t *testing.T) {
	two := func(name string) []string { return []string{name, name} }
	for name, tc := range map[string]struct {
		scenario *landings.Scenario
		dryRun   bool
		want     seenCycle
	}{
		"none": {trying(duplicates), false, seenCycle{
			Evicted: two("flaky"), Logged: two(restarts), Recorded: append(two(restarts), two(duplicates)...), Events: 2, // the limit cancels moves
			Counted: map[string]float64{restarts + " success": 2},
		}},
		"one that evicts by itself, first": {trying(duplicates, restarts), false, seenCycle{
			Evicted: two("twin"), Logged: two(duplicates), WouldBe: two(restarts), Recorded: two(duplicates), Events: 2,
			Counted: map[string]float64{restarts + " dry_run": 2, duplicates + " success": 2},
		}},
		"one that is planned, last": {trying(duplicates, duplicates), false, seenCycle{
			Evicted: two("flaky"), Logged: two(restarts), Recorded: two(restarts), Events: 2,
			Counted: map[string]float64{restarts + " success": 2},
		}},
		"two, before one that wants the same as the second": {trying(duplicates+", "+spread, restarts, duplicates), false, seenCycle{
			Evicted: two("twin"), Logged: two(spread), WouldBe: append(two(restarts), two(duplicates)...), Recorded: two(spread), Events: 2,
			Counted: map[string]float64{restarts + " dry_run": 2, duplicates + " dry_run": 2, spread + " success": 2},
		}},
		"one, in a dry run of the process": {trying(duplicates, restarts), true, seenCycle{
			WouldBe: append(two(restarts), two(duplicates)...), Counted: map[string]float64{restarts + " dry_run": 2, duplicates + " dry_run": 2},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, oneCycle(t, tc.scenario, tc.dryRun)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
