package crane_test

import (
	"errors"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// Whatever follows the head of a policy, the document is either rejected as a mistake of the user,
// or becomes a policy that can be loaded.
func FuzzConvert(f *testing.F) {
	f.Add(whole("0.65", "0.75")[len(head):])
	f.Add(whole("65", "75")[len(head):])
	f.Add("spec: {syncPolicy: [{name: mem_usage_max_avg_1d, period: 3h}], predicate: [{name: mem_usage_max_avg_1d, maxLimitPecent: 1e-300}]}")
	f.Add("spec: {syncPolicy: [{name: cpu_usage_avg_5m, period: 10s}], predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 99.9999999999}], priority: [{name: cpu_usage_avg_5m, weight: 1e-320}]}")
	f.Fuzz(func(t *testing.T, rest string) {
		file, err := compat.Load("policy.yaml", []byte(head+rest), kinds.All)
		if err != nil {
			if _, ok := errors.AsType[*policy.Error](err); !ok {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		for _, converted := range file.Converted {
			text, err := yaml.Marshal(converted.Object)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := compat.Load("again.yaml", text, kinds.All); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}
