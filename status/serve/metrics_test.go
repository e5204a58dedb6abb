package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/leadership"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// newGauges returns the gauges of a process that has watched three nodes for two minutes. One node
// is unknown, and of another only the CPU usage is known.
func newGauges(t *testing.T, client *fake.Clientset) *Gauges {
	t.Helper()
	return gaugesOf(t, client, map[string]cluster.Amounts{"burning": {7000, 10 * gib}, "idle": {1000}})
}

// gaugesOf is newGauges, for nodes with the given usage.
func gaugesOf(t *testing.T, client *fake.Clientset, used map[string]cluster.Amounts) *Gauges {
	t.Helper()
	f := &fleet{now: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC), used: used}
	clock, o := func() time.Time { return f.now }, f.watching(t)
	for range 8 {
		f.now = f.now.Add(15 * time.Second)
		o.Sample(t.Context())
	}
	lease, err := leadership.NewLease(leadership.LeaseConfig{Client: client, Namespace: "ns", Name: "lease"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := leadership.New(leadership.Config{
		Client: client, Namespace: "ns", Lease: lease, Switch: pause.NewSwitch(client, "ns", evictor.ConfigMapName, prometheus.NewRegistry()),
		Moves: o, Clock: servertime.New(clock), Registry: prometheus.NewRegistry(), Report: func(error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Gauges{Observer: o, Authority: a, Now: clock, Nodes: 3}
}

// Up to a limit, each node has its own series. Unknown values are never shown as 0.
func TestNodeSeries(t *testing.T) {
	g := newGauges(t, fake.NewClientset())
	want := `
# HELP evenkeel_node_state 1 for the state that a node is in: hot, warm, cool or unknown. Missing in clusters with more than --metrics-node-limit nodes.
# TYPE evenkeel_node_state gauge
evenkeel_node_state{node="burning",state="hot"} 1
evenkeel_node_state{node="idle",state="cool"} 1
evenkeel_node_state{node="silent",state="unknown"} 1
# HELP evenkeel_node_usage_ratio Real usage of a node over five minutes, as a ratio of its allocatable. Missing if unknown, and in clusters with more than --metrics-node-limit nodes.
# TYPE evenkeel_node_usage_ratio gauge
evenkeel_node_usage_ratio{node="burning",resource="cpu"} 0.7
evenkeel_node_usage_ratio{node="burning",resource="memory"} 0.1
evenkeel_node_usage_ratio{node="idle",resource="cpu"} 0.1
`
	if err := testutil.CollectAndCompare(g, strings.NewReader(want), "evenkeel_node_usage_ratio", "evenkeel_node_state"); err != nil {
		t.Error(err)
	}
	g.Nodes = 2
	if n := testutil.CollectAndCount(g, "evenkeel_node_usage_ratio", "evenkeel_node_state"); n != 0 {
		t.Errorf("%d series of nodes beyond the limit", n)
	}
}

// ownerSeries gathers the series by owner.
func ownerSeries(t *testing.T, g *Gauges) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry() // fails for equal labels and for text that is not UTF-8
	registry.MustRegister(owners{g})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var series []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range metric.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			series = append(series, fmt.Sprintf("%s/%s/%s %s %v", labels["namespace"], labels["owner_kind"], labels["owner"], labels["outcome"], metric.GetGauge().GetValue()))
		}
	}
	slices.Sort(series)
	return series
}

// owners is the part of gauges about owners, as in a leader.
type owners struct{ *Gauges }

func (o owners) Collect(out chan<- prometheus.Metric) {
	o.collectOwners(func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	})
}

// The owners with the most evictions have series, up to a limit that is 0 by default. Their names,
// which are not checked by the API server, cannot break the whole exposition.
func TestOwnerSeries(t *testing.T) {
	g := newGauges(t, fake.NewClientset())
	moves := g.Observer.Ledger()
	evicted := 0
	evict := func(owner string, times int) {
		for range times {
			evicted++
			uid := fmt.Sprint(evicted)
			moves.Record(g.Now(), ledger.Intent{
				Namespace: "shop", Pod: "pod-" + uid, PodUID: uid, Owner: cluster.Owner{Kind: "StatefulSet", Name: owner, UID: owner}, From: "n1", TTL: time.Hour,
			})
			moves.Accepted(uid, g.Now())
		}
	}
	long := strings.Repeat("n", 300)
	evict("web", 5)
	evict("bad\xff\n\"name/", 4)
	evict(long+"a", 2)
	evict(long+"b", 1) // the same once it is cut
	evict("least", 1)
	if got := ownerSeries(t, g); len(got) != 0 {
		t.Errorf("without a limit: %q", got)
	}
	if got := testutil.CollectAndCount(g, "evenkeel_owner_evictions"); got != 0 {
		t.Errorf("%d series of a process that does not evict", got)
	}
	g.Owners = 3
	if got := testutil.CollectAndCount(g, "evenkeel_owner_evictions"); got != 0 {
		t.Errorf("%d series of a process that does not evict", got)
	}
	want := []string{
		"shop/StatefulSet/bad\n\"name/ helped 0", "shop/StatefulSet/bad\n\"name/ not_helped 0", "shop/StatefulSet/bad\n\"name/ not_judged 4",
		"shop/StatefulSet/" + long[:241] + " helped 0", "shop/StatefulSet/" + long[:241] + " not_helped 0", "shop/StatefulSet/" + long[:241] + " not_judged 3",
		"shop/StatefulSet/web helped 0", "shop/StatefulSet/web not_helped 0", "shop/StatefulSet/web not_judged 5",
	}
	if diff := cmp.Diff(want, ownerSeries(t, g)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// onHoldNow returns the reasons why nothing is evicted.
func onHoldNow(t *testing.T, g *Gauges) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var on []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "evenkeel_evictions_on_hold" && metric.GetGauge().GetValue() == 1 {
				on = append(on, metric.GetLabel()[0].GetValue())
			}
		}
	}
	return on
}

// Every reason that holds evictions is exported for as long as it applies.
func TestOnHold(t *testing.T) {
	client := fake.NewClientset()
	g := newGauges(t, client)
	check := func(step string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, onHoldNow(t, g)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	check("all is well")
	g.Observer.Ledger().SetHold(ledger.Hold{Reason: string(reasons.SteeringAbsent), Until: g.Now().Add(time.Minute)})
	check("nothing steers", "steering_absent")
	switched := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pause.Name}}
	if _, err := client.CoreV1().ConfigMaps("ns").Create(t.Context(), switched, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := g.Authority.Paused(t.Context()); err == nil {
		t.Error("not paused")
	}
	check("and somebody pauses", "paused", "steering_absent")
	g.Observer.Ledger().SetHold(ledger.Hold{Reason: string(reasons.SteeringAbsent), Until: g.Now()})
	check("the hold is over", "paused")
	g.Observer.Ledger().Record(g.Now(), ledger.Intent{Namespace: "ns", Pod: "web-1", PodUID: "u", From: "n1", To: "n2", TTL: time.Minute})
	if got := testutil.ToFloat64(one{g, inFlight}); got != 1 {
		t.Errorf("%v moves in flight", got)
	}
}

// Missing usage holds evictions only if cycles need usage.
func TestMissingUsageHoldsOnlyWhatNeedsIt(t *testing.T) {
	g := gaugesOf(t, fake.NewClientset(), nil)
	missing := onHoldNow(t, g)
	if len(missing) != 1 {
		t.Fatalf("on hold: %q", missing)
	}
	g.Follow(nil, false)
	if got := onHoldNow(t, g); len(got) > 0 {
		t.Errorf("cycles that need no usage are on hold: %q", got)
	}
	g.Follow(nil, true)
	if diff := cmp.Diff(missing, onHoldNow(t, g)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// one is a single metric of gauges.
type one struct {
	*Gauges
	desc *prometheus.Desc
}

func (o one) Collect(out chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric)
	go func() {
		o.Gauges.Collect(all)
		close(all)
	}()
	for metric := range all {
		if metric.Desc() == o.desc {
			out <- metric
		}
	}
}

// The hold reasons apply to the whole process, and each is listed once.
func TestHoldReasons(t *testing.T) {
	all := holds()
	slices.Sort(all)
	if got := len(slices.Compact(slices.Clone(all))); got != len(all) || got < 15 {
		t.Errorf("%d of %d reasons are different", got, len(all))
	}
}
