package app

import (
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
)

const ruleFile = "Rulename: {busy: {Promsql: busy, Threshold: 90}}"

// Only a process that does nothing but publish can rely on signals alone, and only if the policy
// needs nothing else. A process that evicts or answers kube-scheduler would take unmeasured usage
// for zero.
func TestSignalsOnly(t *testing.T) {
	policyfile.SetupPlugins()
	const figures = "\nnodesync: {annotations: {enabled: true}}\n"
	own := "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nusage:\n" +
		"  sources: [{type: Prometheus, prometheus: {address: 'http://p', queries: {nodes: {busy: {expr: busy}}}}}]\n" +
		"  metrics: [{name: busy, relieves: none}]\n"
	cases := map[string]struct {
		publishes bool
		file      string
		want      bool
	}{
		"rules":                     {true, ruleFile, true},
		"a metric, evicting":        {false, strings.TrimSuffix(byDuplicates, loadPolicyHead) + own + "lines: {busy: {evict: 1}}", false},
		"rules, answering":          {false, ruleFile, false},
		"a custom metric":           {true, own + "lines: {busy: {evict: 1}}", true},
		"cpu as well":               {true, own + "lines: {busy: {evict: 1}, cpu: {}}", false},
		"usage annotations as well": {true, own + "lines: {busy: {evict: 1}}" + figures, false},
		"the shipped policy":        {true, "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := compat.Load("policy.yaml", []byte(tc.file), kinds.All)
			if err != nil {
				t.Fatal(err)
			}
			if rules, ok := file.Load.Usage.Sources[0].Config.(*prometheus.Config); ok && rules.Address == "" {
				rules.Address = "http://p" // as with --prom
			}
			s := offline(t, fake.NewClientset(), byUsage)
			s.mode.onlyPublishes = tc.publishes
			s.file = file
			p, err := newProcess(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			g := p.current()
			if got := g.signalsOnly; got != tc.want || g.observing.Usage.SignalsOnly != tc.want {
				t.Errorf("signals only: %v, want %v", got, tc.want)
			}
		})
	}
}
