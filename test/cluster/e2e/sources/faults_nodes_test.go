package sources

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// Kubelets that do not respond affect only their own nodes, however they fail.
func faultsOfKubelets(t *testing.T, f *stage.Fixture, skew stage.Skewed) {
	f.Component("kubelet-source")
	kubelets, err := exporters.StartKubelets(t.Context(), exporters.KubeletsConfig{Cluster: f.Cluster, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	source := fmt.Sprintf("{type: Kubelet, kubelet: {tls: {caFile: %q}}}", kubelets.CAFile())
	p := admit(t, f, skew, fmt.Sprintf(spoiltLoad, 50, source, "avg_1m"))
	p.evicts(60*time.Second, skew.Hot...)
	well := p.Filter(p.listen, skew.Nodes)
	begin, want := p.mark(), symptoms{unknown: "UsageStale", nodes: []int{0, 2, 3}}
	kubelets.SetFault(fault.OfKind(fault.Down), skew.Nodes[0])
	kubelets.SetFault(fault.WithStatus(http.StatusUnauthorized), skew.Nodes[2])
	kubelets.SetFault(fault.SlowBy(time.Minute), skew.Nodes[3])
	p.until(40*time.Second, "the kubelets' reasons", func() string {
		status := p.status()
		if diff := cmp.Diff(map[string][]string{want.unknown: want.unknownNodes(skew.Nodes)}, p.unknown()); diff != "" {
			return "unknown nodes (-want +got): " + diff
		}
		for _, part := range []string{"EOF", "401", "deadline exceeded"} {
			if said := status.says(0); !strings.Contains(said, part) {
				return fmt.Sprintf("the source says %q, want %q", said, part)
			}
		}
		if p.skipped("Kubelet", "unreachable") == 0 {
			return "no metric of skipped samples"
		}
		return ""
	})
	want.checkMoves(p, p.twoCycles(p.mark()))
	want.checkExtender(p, well)
	kubelets.SetFault(fault.Fault{})
	p.evicts(40*time.Second, skew.Hot...)
	if moves := p.wrongful(p.since(begin, false).moves); len(moves) > 0 {
		t.Errorf("evictions that only the faults caused: %v", moves)
	}
	if err := kubelets.Stop(); err != nil {
		t.Error(err)
	}
}

// patientChain is a policy with a source that does not report pods, followed by metrics-server.
func patientChain(source string) string {
	return fmt.Sprintf(spoiltLoad, 80, source+", {type: MetricsServer, maxAge: 35s}", "avg_5m")
}

// Fractions that exporters report as percentages are rejected. metrics-server takes over until the
// exporters are fixed.
func faultsOfStatistics(t *testing.T, f *stage.Fixture, skew stage.Skewed) {
	statistics, err := exporters.StartStatistics(t.Context(), exporters.StatisticsConfig{Cluster: f.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	p := admit(t, f, skew, patientChain("{type: NodeMetrics}"))
	p.passed(func(what fault.Fault) { statistics.SetFault(what) }, fault.OfKind(fault.Hundredth), "contradictory", "fractions")
	if err := statistics.Stop(); err != nil {
		t.Error(err)
	}
}

// Annotations that are eight hours ahead, or contain a hundredth of the true values, are rejected
// as well.
func faultsOfAnnotations(t *testing.T, f *stage.Fixture, skew stage.Skewed) {
	annotator, err := exporters.StartAnnotator(t.Context(), exporters.AnnotatorConfig{Cluster: f.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer annotator.Stop()
	write := func(what fault.Fault) {
		annotator.SetFault(what)
		if err := annotator.Write(t.Context()); err != nil {
			t.Error(err)
		}
	}
	write(fault.Fault{})
	p := admit(t, f, skew, patientChain("{type: Annotations, annotations: {timezone: Asia/Shanghai}}"))
	p.passed(write, fault.ShiftedBy(8*time.Hour), "future", "cpu_usage_avg_5m")
	p.passed(write, fault.OfKind(fault.Hundredth), "contradictory", "far less than its pods")
	write(fault.OfKind(fault.Missing))
}

// passed checks that the first of two sources is skipped while it has a fault, and that the only
// moves are those that true usage requires.
func (p *patient) passed(set func(fault.Fault), what fault.Fault, cause, says string) {
	p.T.Helper()
	chosen := func(place int) func() string {
		return func() string {
			sources := p.status().Sources
			if len(sources) <= place || sources[place].ChosenNodes != len(p.skew.Nodes) {
				return fmt.Sprintf("%+v", sources)
			}
			return ""
		}
	}
	p.until(40*time.Second, "all nodes to be taken from the first source", chosen(0))
	p.evicts(40*time.Second, p.skew.Hot...)
	begin := p.mark()
	set(what)
	p.until(40*time.Second, "all nodes to be taken from the second source", chosen(1))
	status := p.status()
	if said := status.says(0); status.Sources[0].Problems[cause].Count == 0 || !strings.Contains(said, says) {
		p.T.Errorf("the source reports %q, want %q as %s: %+v", said, says, cause, status.Sources[0].Problems)
	}
	if p.skipped(status.Sources[0].Name, cause) == 0 {
		p.T.Errorf("no metric of samples skipped as %s", cause)
	}
	p.evicts(40*time.Second, p.skew.Hot...)
	if diff := cmp.Diff(p.skew.Nodes[2:], p.Filter(p.listen, p.skew.Nodes)); diff != "" {
		p.T.Errorf("nodes kept with the fault (-want +got):\n%s", diff)
	}
	set(fault.Fault{})
	p.until(40*time.Second, "all nodes to be taken from the first source again", chosen(0))
	if moves := p.wrongful(p.since(begin, false).moves); len(moves) > 0 {
		p.T.Errorf("evictions that only the fault caused: %v", moves)
	}
}
