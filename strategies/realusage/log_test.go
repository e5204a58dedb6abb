package realusage

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
)

// If a cycle leaves 15,000 pods on 500 hot nodes, it logs one line per reason at the verbosity of
// the manifests, and one per pod at verbosity 4.
func TestPodsThatStayAreSummedUp(t *testing.T) {
	const hot, shipped = 500, 2
	f := newFleetOf(t, hot, 1, plain)
	refused := map[string]reasons.Reason{}
	for i, pod := range f.pods {
		refused[pod.Name] = []reasons.Reason{reasons.OwnerCoolingDown, reasons.PodDisruptionBudgetExhausted, reasons.JobPod}[i%3]
	}
	cycle := func(verbosity int) (lines []string) {
		p, err := plugin.New(&Args{}, f.handle(t, false), plugin.Deps{
			Half: &plugintest.Half{Observed: &f.observed, Refused: refused, Open: f.begin},
		})
		if err != nil {
			t.Fatal(err)
		}
		logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: verbosity})
		if _, err := p.Plan(klog.NewContext(t.Context(), logger), &f.observed, f.nodes); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	lines := cycle(shipped)
	if len(lines) != 1+3 {
		t.Errorf("%d lines, want one of the plan and one for each of 3 reasons", len(lines))
	}
	for _, want := range []string{`"reason"="JobPod" "pods"=5000 "example"={"name"="app-`, `"reason"="OwnerCoolingDown" "pods"=5000`, `"reason"="PodDisruptionBudgetExhausted" "pods"=5000`} {
		if !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("no line has %q:\n%s", want, strings.Join(lines[:min(len(lines), 9)], "\n"))
		}
	}
	if got := len(cycle(4)); got != 1+3+hot*benchPods {
		t.Errorf("%d lines at verbosity 4, want one per pod as well", got)
	}
}
