package realusage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

func TestValidateArgs(t *testing.T) {
	const named = "RealUsageLowNodeUtilization: "
	cases := map[string]struct {
		args runtime.Object
		want string
	}{
		"nothing set": {
			args: &Args{},
		},
		"everything set": {
			args: fullArgs(),
		},
		"deviations may cross, they are distances": {
			args: &Args{
				UseDeviationThresholds: true,
				Thresholds:             api.ResourceThresholds{v1.ResourceCPU: 20},
				TargetThresholds:       api.ResourceThresholds{v1.ResourceCPU: 10},
			},
		},
		"deviations without a number": {
			args: &Args{UseDeviationThresholds: true},
			want: named + "thresholds: Required value: useDeviationThresholds needs thresholds, targetThresholds or both",
		},
		"low at the evict line": {
			args: &Args{
				Thresholds:       api.ResourceThresholds{v1.ResourceCPU: 50},
				TargetThresholds: api.ResourceThresholds{v1.ResourceCPU: 50},
			},
			want: named + "thresholds[cpu]: Invalid value: 50: must be below targetThresholds[cpu] (50)",
		},
		"a resource without usage and a percentage out of range": {
			args: &Args{
				Thresholds:       api.ResourceThresholds{v1.ResourcePods: 20},
				TargetThresholds: api.ResourceThresholds{v1.ResourceMemory: 101},
			},
			want: named + `thresholds[pods]: Unsupported value: "pods": supported values: "cpu", "memory"` + "\n" +
				named + "targetThresholds[memory]: Invalid value: 101: must be a percentage from 0 to 100",
		},
		"included namespaces": {
			args: &Args{EvictableNamespaces: &api.Namespaces{Include: []string{"a", "b"}, Exclude: []string{}}},
		},
		"namespaces included and excluded": {
			args: &Args{EvictableNamespaces: &api.Namespaces{Include: []string{"a"}, Exclude: []string{"b", "c"}}},
			want: named + `evictableNamespaces.exclude: Invalid value: "b, c": must be left out where include is set: only one of the two may be`,
		},
		"names that no namespace has": {
			args: &Args{EvictableNamespaces: &api.Namespaces{Include: []string{"a", "kube-*"}}},
			want: named + `evictableNamespaces.include[1]: Invalid value: "kube-*": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
		},
		"a negative number of nodes": {
			args: &Args{NumberOfNodes: -1},
			want: named + "numberOfNodes: Invalid value: -1: must be from 0 to 1000000",
		},
		"arguments of another plugin": {
			args: &runtime.Unknown{},
			want: "arguments of type *runtime.Unknown given to RealUsageLowNodeUtilization",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := registered(t).PluginArgValidator(tc.args); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func fullArgs() *Args {
	limit := uint(3)
	return &Args{
		Thresholds:          api.ResourceThresholds{v1.ResourceCPU: 40, v1.ResourceMemory: 50},
		TargetThresholds:    api.ResourceThresholds{v1.ResourceCPU: 65, v1.ResourceMemory: 80},
		NumberOfNodes:       1,
		EvictableNamespaces: &api.Namespaces{Exclude: []string{"kube-system"}},
		EvictionLimits:      &api.EvictionLimits{Node: &limit},
	}
}

func TestDeepCopySharesNothing(t *testing.T) {
	args := fullArgs()
	copied, ok := args.DeepCopyObject().(*Args)
	if !ok {
		t.Fatalf("DeepCopyObject returned %T", args.DeepCopyObject())
	}
	if diff := cmp.Diff(args, copied); diff != "" {
		t.Fatalf("copy (-original +copy):\n%s", diff)
	}
	copied.Thresholds[v1.ResourceCPU] = 1
	copied.TargetThresholds[v1.ResourceCPU] = 1
	copied.EvictableNamespaces.Exclude[0] = "changed"
	*copied.EvictionLimits.Node = 1
	if diff := cmp.Diff(fullArgs(), args); diff != "" {
		t.Errorf("original after changing the copy (-want +got):\n%s", diff)
	}
	if got := (*Args)(nil).DeepCopyObject(); got != nil {
		t.Errorf("copy of nil is %v", got)
	}
}

// registered returns the strategy as it is in the framework's registry.
func registered(t *testing.T) pluginregistry.PluginUtilities {
	t.Helper()
	registry := pluginregistry.NewRegistry()
	plugin.Register(registry, []plugin.Strategy{new(Args)})
	return registry[Name]
}

// FuzzRealUsageOverlay verifies that arguments that pass their validator result in lines that
// follow the LoadPolicy's rules, or in an error. They never result in lines that break the rules.
// Deviations result in an error only if there is no space for a gap.
func FuzzRealUsageOverlay(f *testing.F) {
	f.Add(10.0, 15.0, 3.0, true, false)
	f.Add(100.0, 0.0, 50.0, true, true)
	f.Add(20.0, 50.0, 1.0, false, true)
	f.Add(21.6, 20.166666666666668, 3.5555555555555554, true, true) // evict - (evict - gap) is less than gap
	f.Fuzz(func(t *testing.T, low, evict, gap float64, deviation, over bool) {
		load := policy.Default(kinds.All)
		load.MinGapPercent = gap
		load.Lines = policy.Lines{usage.CPU: {Levels: policy.Levels{Low: new(10.0), Reject: new(40.0), Evict: new(95.0), Leave: new(90.0)}, Deviation: over}}
		args := Args{
			UseDeviationThresholds: deviation,
			Thresholds:             api.ResourceThresholds{v1.ResourceCPU: api.Percentage(low)},
			TargetThresholds:       api.ResourceThresholds{v1.ResourceCPU: api.Percentage(evict)},
		}
		if len(policy.Validate(&load, kinds.All)) > 0 || len(args.Validate()) > 0 {
			return // not possible in a policy
		}
		lines, err := policy.Overlay(&load, &args)
		if err != nil {
			if deviation && evict >= gap {
				t.Fatal(err)
			}
			return
		}
		load.Lines = lines
		if errs := policy.Validate(&load, kinds.All); len(errs) > 0 {
			t.Fatalf("lines %+v: %v", lines, errs)
		}
	})
}
