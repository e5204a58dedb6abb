package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

func madeSchema(t *testing.T) []byte {
	t.Helper()
	text, err := schemaOf(filepath.Join(root, "policy"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSchemaIsUpToDate(t *testing.T) {
	got, err := os.ReadFile(schemaTarget(root))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(madeSchema(t)), string(got)); diff != "" {
		t.Errorf("docs/policy.schema.json is not what `go run ./hack/policyref` writes (-want +got):\n%s", diff)
	}
}

// mistakes validates each document of a text, as an editor does.
func mistakes(t *testing.T, made []byte, text string) string {
	t.Helper()
	var by spec.Schema
	if err := json.Unmarshal(made, &by); err != nil {
		t.Fatal(err)
	}
	parts, err := policy.ReadParts("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	for _, part := range parts {
		if part.Object == nil {
			continue
		}
		raw, err := json.Marshal(part.Object)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(raw, &plain); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range validate.NewSchemaValidator(&by, nil, "", strfmt.Default).Validate(plain).Errors {
			found.WriteString(wrong.Error() + "\n")
		}
	}
	return found.String()
}

// The schema accepts every policy that the project shows.
func TestSchemaAcceptsShippedPolicies(t *testing.T) {
	made := madeSchema(t)
	files := []string{filepath.Join(root, "policy.yaml")}
	for _, pattern := range []string{"examples/*.yaml", "policy/testdata/examples/*.yaml"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(more) == 0 {
			t.Fatalf("listing %s: %d files, %v", pattern, len(more), err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := mistakes(t, made, string(text)); wrong != "" {
			t.Errorf("%s:\n%s", file, wrong)
		}
	}
}

func TestSchemaFindsMistakes(t *testing.T) {
	const load, upstream = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n", "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
	cases := map[string]struct {
		right, wrong string
	}{
		"a field":             {load + "lines: {cpu: {reject: 60}}", load + "lines: {cpu: {rejct: 60}}"},
		"a kind":              {load, "apiVersion: evenkeel.io/v1alpha1\nkind: Loadpolicy\n"},
		"a section":           {load + "usage:\n", load + "usage: 3\n"},
		"a number":            {load + "minGapPercent: 3.5", load + "minGapPercent: three"},
		"a whole number":      {load + "hot: {consecutiveSamples: 3}", load + "hot: {consecutiveSamples: 3.5}"},
		"a duration":          {load + "usage: {timeout: 1m30s}", load + "usage: {timeout: 90}"},
		"a window":            {load + "hot: {windows: [last, p95_1h]}", load + "hot: {windows: [mean_5m]}"},
		"a window in seconds": {load + "hot: {windows: [last, avg_90s]}", load + "hot: {windows: [avg_90x]}"},
		"a metric alone":      {load + "lines: {cpu: , memory: {windows: {avg_1h: }}}", load + "lines: {cpu: 3}"},
		"a half minute":       {load + "hot: {startup: .5m}", load + "hot: {startup: .m}"},
		"no time":             {load + "hot: {startup: \"0\"}", load + "hot: {startup: 0}"},
		"a choice":            {load + "eviction: {steering: none}", load + "eviction: {steering: never}"},
		"a source":            {load + "usage: {sources: [{type: Kubelet}]}", load + "usage: {sources: [{type: Kubelets}]}"},
		"what must be given":  {load + "nodePools: [{name: a, selector: {matchLabels: {a: b}}}]", load + "nodePools: [{name: a}]"},
		"a weight":            {load + "scoring: {weights: {cpu: 2}}", load + "scoring: {weights: {gpu: 2}}"},
		"a profile":           {upstream + "profiles: [{name: p, pluginConfig: [{name: x, args: {any: 1}}]}]", upstream + "profiles: [{name: p, pluginConfigs: []}]"},
	}
	args := func(plugin, args string) string {
		return upstream + "profiles: [{name: p, pluginConfig: [{name: " + plugin + ", args: " + args + "}]}]"
	}
	for _, strategy := range registry.All { // whichever there are
		name := strategy.Describe().Name
		cases["an argument of "+name] = struct{ right, wrong string }{
			args(name, "{}"), args(name, "{noSuchArgument: 1}"),
		}
	}
	cases["a threshold"] = struct{ right, wrong string }{
		args("RealUsageLowNodeUtilization", "{thresholds: {cpu: 20.5}, numberOfNodes: }"), args("RealUsageLowNodeUtilization", "{thresholds: {gpu: 20.5}}"),
	}
	cases["a weight of preferences"] = struct{ right, wrong string }{
		args("ReturnPodsToPreferredNodes", "{minWeightGained: 5}"), args("ReturnPodsToPreferredNodes", "{minWeightGained: five}"),
	}
	made := madeSchema(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if wrong := mistakes(t, made, tc.right); wrong != "" {
				t.Errorf("the right one:\n%s", wrong)
			}
			if mistakes(t, made, tc.wrong) == "" {
				t.Errorf("nothing is wrong with:\n%s", tc.wrong)
			}
		})
	}
}
