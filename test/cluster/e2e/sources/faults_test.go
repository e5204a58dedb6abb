package sources

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/fault"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// spoiltLoad is a LoadPolicy that detects within two samples that its source is useless. The source
// is a parameter.
const spoiltLoad = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage:
  sampleInterval: 5s
  maxAge: 9s
  timeout: 2s
  observationPeriod: 20s
  queriesPerSecond: 100
  minCoveragePercent: %d
  sources: [%s]
hot: {windows: [%s], consecutiveSamples: 2, minWindow: 15s, startup: 0s}
lines:
  cpu: {low: 45, reject: 60, evict: 65, leave: 60}
  memory: {low: 45, reject: 60, evict: 65, leave: 60}
eviction: {maxMovesPerHourOfOwner: 0, ownerSettle: 0s, interval: 0s}
`

// spoiltPrometheus queries CPU in percent, because only a percentage can be mistaken for a
// fraction.
func spoiltPrometheus(url, nodeLabel string) string {
	source := fmt.Sprintf(`{type: Prometheus, prometheus: {address: %q, nodeMetrics: Kubelet, nodeLabel: %q, queries: {nodes: {cpu: {
    unit: percent, expr: "100 * irate(node_cpu_usage_seconds_total[2m]) / 32"}}}}}`, url, nodeLabel)
	return fmt.Sprintf(spoiltLoad, 80, source, "avg_1m")
}

// No fault of a source causes a wrongful eviction or rejects a node. Each fault is reported with
// its own reason, and Evenkeel recovers from all of them without a restart.
func TestFaults(t *testing.T) {
	f := stage.New(t)
	skew := spoiltSkew(t, f)
	tests := map[string]func(*testing.T, *stage.Fixture, stage.Skewed){
		"Prometheus": faultsOfPrometheus, "Kubelet": faultsOfKubelets, "NodeMetrics": faultsOfStatistics, "Annotations": faultsOfAnnotations,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, f, skew)
		})
	}
}

// symptoms are the effects that a fault must have.
type symptoms struct {
	fault fault.Fault
	// gate is why nothing may be evicted; empty if nodes that are still known are handled.
	gate string
	// unknown is why nodes become unknown, and nodes holds their indexes; nil for all nodes.
	unknown string
	nodes   []int
	// cause is the cause of skipped samples; empty if none are skipped or the whole reading fails.
	cause string
	// says is part of the source's error or, if cause is set, of an example. doctor is part of
	// doctor's output.
	says, doctor string
	// harmless reports whether doctor only warns.
	harmless bool
	// unscraped is the index of a node that Prometheus stops scraping, which replaces fault.
	unscraped int
}

// bed is a patient with its own Prometheus.
type bed struct {
	source  *spoilable
	patient *patient
}

// beds is how many Prometheus cases run at the same time. It can exceed the number of CPUs, because
// they mostly wait.
const beds = 3

func faultsOfPrometheus(t *testing.T, f *stage.Fixture, skew stage.Skewed) {
	if !prometheus.Installed() {
		t.Skip("prometheus is not in PATH")
	}
	free := make(chan bed, beds)
	for range beds {
		source := startSpoilable(t, f)
		if err := source.server.WaitScraped(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := admit(t, f, skew, spoiltPrometheus(source.url, ""))
		p.evicts(30*time.Second, skew.Hot...)
		free <- bed{source, p}
	}
	in := func(t *testing.T, test func(*patient, *spoilable)) {
		t.Parallel()
		b := <-free
		defer func() { free <- b }()
		test(b.patient.in(t), b.source)
	}
	const (
		unreadable = "UsageSourceUnavailable"
		empty      = "NoUsageData"
		stale      = "UsageStale"
	)
	tests := map[string]symptoms{
		"down":                 {fault: fault.OfKind(fault.Down), gate: unreadable, unknown: stale, says: "EOF", doctor: "EOF"},
		"slow":                 {fault: fault.SlowBy(time.Minute), gate: unreadable, unknown: stale, says: "deadline exceeded", doctor: "deadline exceeded"},
		"status 401":           {fault: fault.WithStatus(http.StatusUnauthorized), gate: unreadable, unknown: stale, says: "401", doctor: "401"},
		"status 500":           {fault: fault.WithStatus(http.StatusInternalServerError), gate: unreadable, unknown: stale, says: "500", doctor: "500"},
		"half of the JSON":     {fault: fault.OfKind(fault.Truncated), gate: unreadable, unknown: stale, says: "unexpected", doctor: "unexpected"},
		"200 MB":               {fault: fault.OfKind(fault.Huge), gate: unreadable, unknown: stale, says: " ", doctor: "gave no reading"},
		"an empty vector":      {fault: fault.OfKind(fault.Missing), gate: empty, unknown: stale, cause: "unreadable", says: "returned nothing", doctor: "returned no nodes"},
		"NaN":                  {fault: fault.OfKind(fault.NaN), gate: empty, unknown: stale, cause: "absurd", says: "NaN", doctor: "not a number"},
		"negative values":      {fault: fault.OfKind(fault.Negative), gate: empty, unknown: "UsageAbsurd", cause: "absurd", says: "pod shop/", doctor: "negative"},
		"1000 %":               {fault: fault.OfKind(fault.Tenfold), gate: empty, unknown: stale, cause: "absurd", says: "percent", doctor: "far more than the node has"},
		"fraction for percent": {fault: fault.OfKind(fault.Hundredth), gate: empty, unknown: stale, cause: "contradictory", says: "looks like a fraction", doctor: "looks like a fraction"},
		"8 h in the future":    {fault: fault.ShiftedBy(8 * time.Hour), gate: empty, unknown: "UsageFromTheFuture", cause: "future", says: "pod shop/", doctor: "from the future"},
		"8 h in the past":      {fault: fault.ShiftedBy(-8 * time.Hour), gate: empty, unknown: stale, cause: "stale", says: "node", doctor: "too old"},
		"every series twice":   {fault: fault.OfKind(fault.Duplicate), gate: empty, unknown: stale, cause: "duplicate", says: "both", doctor: "both"},
		"half of the nodes":    {fault: fault.OfKind(fault.HalfMissing), gate: "UsageCoverageTooLow", unknown: stale, nodes: []int{0, 2, 4}, doctor: "3 of 6 ready nodes have no sample"},
		"one hot node":         {fault: fault.OfKind(fault.OneMissing), unknown: stale, nodes: []int{0}, doctor: "1 of 6 ready nodes have no sample"},
		"one node unscraped":   {unscraped: 5, unknown: stale, nodes: []int{5}, cause: "stale", says: "no longer scraped", doctor: "no longer scraped", harmless: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in(t, func(p *patient, source *spoilable) { suffer(p, source, tc) })
		})
	}
	t.Run("a label that names no node", func(t *testing.T) {
		in(t, func(p *patient, source *spoilable) {
			report, code := p.examine(p.Policy(stage.RealUsage, spoiltPrometheus(source.url, "job")))
			if code != 1 || !report.tells("6 of 6 ready nodes have no sample") || !report.tells(`job="nodes"`) {
				t.Errorf("doctor: exit code %d: %+v", code, report)
			}
		})
	})
}

// suffer injects a fault into a healthy patient, checks the symptoms, and lets the patient recover.
func suffer(p *patient, source *spoilable, want symptoms) {
	t, nodes := p.T, p.skew.Nodes
	t.Helper()
	p.evicts(10*time.Second, p.skew.Hot...)
	well := p.Filter(p.listen, nodes)
	if diff := cmp.Diff(nodes[2:], well); diff != "" {
		t.Fatalf("nodes kept without a fault (-want +got):\n%s", diff)
	}
	begin, before := p.mark(), vitalsOf(p, want)

	mend := inject(t, source, want, nodes)
	defer mend()
	p.until(30*time.Second, "the fault's reason", func() string { return want.missing(p, before) })
	noticed := p.mark()
	report, code := p.examine(p.policy)
	if problem := code != 0; problem == want.harmless || !report.tells(want.doctor) {
		t.Errorf("doctor: exit code %d, want a finding about %q: %+v", code, want.doctor, report)
	}
	want.checkMoves(p, p.twoCycles(noticed))
	want.checkExtender(p, well)

	mend()
	p.evicts(30*time.Second, p.skew.Hot...)
	if report, code := p.examine(p.policy); code != 0 || report.Problems != 0 {
		t.Errorf("doctor: exit code %d with the fault mended: %+v", code, report)
	}
	if moves := p.wrongful(p.since(begin, false).moves); len(moves) > 0 {
		t.Errorf("evictions that only the fault caused: %v", moves)
	}
}

// inject causes a fault and returns a function that ends it.
func inject(t *testing.T, source *spoilable, want symptoms, nodes []string) (mend func()) {
	t.Helper()
	if want.unscraped == 0 {
		source.setFault(want.fault)
		return func() { source.setFault(fault.Fault{}) }
	}
	scrape := func(names ...string) {
		if err := source.server.SetTargets(t.Context(), names...); err != nil {
			t.Error(err)
		}
	}
	scrape(slices.Delete(slices.Clone(nodes), want.unscraped, want.unscraped+1)...)
	return func() { scrape(nodes...) }
}

// vitals are the values of counters before a fault.
type vitals struct{ skipped, failed float64 }

func vitalsOf(p *patient, want symptoms) vitals {
	p.T.Helper()
	return vitals{skipped: p.skipped("Prometheus", want.cause), failed: p.failed("Prometheus")}
}

// unknownNodes returns the names of the nodes that become unknown.
func (s *symptoms) unknownNodes(nodes []string) []string {
	if s.nodes == nil {
		return nodes
	}
	names := make([]string, len(s.nodes))
	for i, place := range s.nodes {
		names[i] = nodes[place]
	}
	return names
}

// missing describes a symptom that status, nodes and metrics do not show yet.
func (s *symptoms) missing(p *patient, before vitals) string {
	p.T.Helper()
	status := p.status()
	if status.Gate != s.gate {
		return fmt.Sprintf("gate %q, want %q: %s", status.Gate, s.gate, status.GateDetail)
	}
	want := map[string][]string{s.unknown: s.unknownNodes(p.skew.Nodes)}
	if diff := cmp.Diff(want, p.unknown()); diff != "" {
		return "unknown nodes (-want +got): " + diff
	}
	if said := status.says(0); !strings.Contains(said, s.says) {
		return fmt.Sprintf("the source says %q, want %q", said, s.says)
	}
	return s.unmeasured(p, before)
}

// unmeasured describes a metric that does not report the fault yet.
func (s *symptoms) unmeasured(p *patient, before vitals) string {
	p.T.Helper()
	now := vitalsOf(p, *s)
	switch {
	case s.gate != "" && p.Metric(p.metrics, fmt.Sprintf("evenkeel_usage_insufficient{reason=%q}", reasons.Reason(s.gate).Label())) != 1:
		return "no metric of the closed gate"
	case p.Metric(p.metrics, fmt.Sprintf("evenkeel_nodes_unknown{reason=%q}", reasons.Reason(s.unknown).Label())) != float64(len(s.unknownNodes(p.skew.Nodes))):
		return "no metric of the unknown nodes"
	case s.cause != "" && now.skipped <= before.skipped:
		return "no metric of skipped samples"
	case s.gate == "UsageSourceUnavailable" && now.failed <= before.failed:
		return "no metric of failed readings"
	}
	return ""
}

// checkMoves checks that there are no moves at all if the gate is closed, and otherwise none from
// or to unknown nodes.
func (s *symptoms) checkMoves(p *patient, moves []moved) {
	p.T.Helper()
	if s.gate != "" {
		if len(moves) > 0 {
			p.T.Errorf("with the gate closed it would evict %v", moves)
		}
		return
	}
	if len(moves) == 0 {
		p.T.Error("one node less stops everything")
	}
	unknown := s.unknownNodes(p.skew.Nodes)
	for _, m := range moves {
		if slices.Contains(unknown, m.from) || slices.Contains(unknown, m.to) {
			p.T.Errorf("it would evict from %s to %s, of which one is unknown", m.from, m.to)
		}
	}
}

// checkExtender checks that no node is rejected because it is unknown.
func (s *symptoms) checkExtender(p *patient, well []string) {
	p.T.Helper()
	if s.nodes == nil {
		p.WantNeutral(p.listen, p.skew.Nodes)
		return
	}
	kept := p.Filter(p.listen, p.skew.Nodes)
	for _, node := range append(s.unknownNodes(p.skew.Nodes), well...) {
		if !slices.Contains(kept, node) {
			p.T.Errorf("node %s is rejected, %v are kept", node, kept)
		}
	}
}
