package compat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

const kubeDescheduler = "apiVersion: operator.openshift.io/v1\nkind: KubeDescheduler\nmetadata: {name: cluster}\n" +
	"spec: {mode: Automatic, profiles: [KubeVirtRelieveAndMigrate, EvictPodsWithPVC], profileCustomizations: {namespaces: {included: [shop]}}}\n"

// FuzzFile checks that every file is either rejected with a policy.Error, or converted to a text
// that means the same and that another conversion leaves unchanged.
func FuzzFile(f *testing.F) {
	for _, text := range []string{v1alpha1, cranePolicy, rules, schedulerPolicy, schedulerBeta, kubeDescheduler, v1alpha1 + "---\n" + cranePolicy} {
		f.Add([]byte(text))
		f.Add([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  # c\n  p: |\n" + indent(text)))
	}
	f.Add([]byte("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{image: descheduler, args: [--x]}]}}}\n"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {}\n  stringData: {a: 'Rulename: {x: {Promsql: up, Threshold: 1}}'}\n"))
	f.Add([]byte("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n  values:\n    cmdOptions: {v: 3}\n    deschedulerPolicy:\n" + indent(indent(v1alpha1))))
	f.Add([]byte("apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: a}\nspec:\n  valuesContent: |\n    deschedulerPolicy: |\n" + indent(indent(v1alpha1))))
	f.Add([]byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {helm: {parameters: [{name: cmdOptions.node-selector, value: a=b}]," +
		" valuesObject: {deschedulerPolicy: {strategies: {}}}}}}\n"))
	f.Add([]byte("- {op: replace, path: /spec/template/spec/containers/0/args, value: [--max-pods-to-evict-per-node=1]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		result, err := ConvertFile("p.yaml", data, kinds.All)
		if err != nil {
			if !policy.IsInvalid(err) || !strings.HasPrefix(err.Error(), "p.yaml: ") {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := ConvertFile("p.yaml", result.Text, kinds.All)
		if err != nil {
			t.Fatalf("converted text is refused: %v\n%s", err, result.Text)
		}
		if string(again.Text) != string(result.Text) {
			t.Fatalf("converted once more (-once +twice):\n%s", cmp.Diff(string(result.Text), string(again.Text)))
		}
		for _, p := range result.Policies {
			if _, err := Load(p.Name, p.Data, kinds.All); err != nil {
				t.Fatalf("a policy found in it does not load: %v\n%s", err, p.Data)
			}
		}
		if want, err := Load("p.yaml", data, kinds.All); err == nil {
			got, err := Load("p.yaml", result.Text, kinds.All)
			if err != nil || cmp.Diff(want.Load, got.Load, sameFile) != "" {
				t.Fatalf("loaded: %v (-directly +converted):\n%s\n%s", err, cmp.Diff(want.Load, got.Load, sameFile), result.Text)
			}
		}
	})
}
