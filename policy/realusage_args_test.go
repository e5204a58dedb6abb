package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/api"
)

func TestValidateRealUsageLowNodeUtilizationArgs(t *testing.T) {
	const plugin = "RealUsageLowNodeUtilization: "
	cases := map[string]struct {
		args runtime.Object
		want string
	}{
		"nothing set": {
			args: &RealUsageLowNodeUtilizationArgs{},
		},
		"everything set": {
			args: fullArgs(),
		},
		"deviations may cross, they are distances": {
			args: &RealUsageLowNodeUtilizationArgs{
				UseDeviationThresholds: true,
				Thresholds:             api.ResourceThresholds{v1.ResourceCPU: 20},
				TargetThresholds:       api.ResourceThresholds{v1.ResourceCPU: 10},
			},
		},
		"deviations without a number": {
			args: &RealUsageLowNodeUtilizationArgs{UseDeviationThresholds: true},
			want: plugin + "thresholds: Required value: useDeviationThresholds needs thresholds, targetThresholds or both",
		},
		"low at the evict line": {
			args: &RealUsageLowNodeUtilizationArgs{
				Thresholds:       api.ResourceThresholds{v1.ResourceCPU: 50},
				TargetThresholds: api.ResourceThresholds{v1.ResourceCPU: 50},
			},
			want: plugin + "thresholds[cpu]: Invalid value: 50: must be below targetThresholds[cpu] (50)",
		},
		"a resource without usage and a percentage out of range": {
			args: &RealUsageLowNodeUtilizationArgs{
				Thresholds:       api.ResourceThresholds{v1.ResourcePods: 20},
				TargetThresholds: api.ResourceThresholds{v1.ResourceMemory: 101},
			},
			want: plugin + `thresholds[pods]: Unsupported value: "pods": supported values: "cpu", "memory"` + "\n" +
				plugin + "targetThresholds[memory]: Invalid value: 101: must be a percentage from 0 to 100",
		},
		"included namespaces": {
			args: &RealUsageLowNodeUtilizationArgs{EvictableNamespaces: &api.Namespaces{Include: []string{"a", "b"}, Exclude: []string{}}},
		},
		"namespaces included and excluded": {
			args: &RealUsageLowNodeUtilizationArgs{EvictableNamespaces: &api.Namespaces{Include: []string{"a"}, Exclude: []string{"b", "c"}}},
			want: plugin + `evictableNamespaces.exclude: Invalid value: "b, c": must be left out where include is set: only one of the two may be`,
		},
		"names that no namespace has": {
			args: &RealUsageLowNodeUtilizationArgs{EvictableNamespaces: &api.Namespaces{Include: []string{"a", "kube-*"}}},
			want: plugin + `evictableNamespaces.include[1]: Invalid value: "kube-*": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
		},
		"a negative number of nodes": {
			args: &RealUsageLowNodeUtilizationArgs{NumberOfNodes: -1},
			want: plugin + "numberOfNodes: Invalid value: -1: must be from 0 to 1000000",
		},
		"arguments of another plugin": {
			args: &runtime.Unknown{},
			want: "arguments of type *runtime.Unknown given to RealUsageLowNodeUtilization",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := ValidateRealUsageLowNodeUtilizationArgs(tc.args); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSparedNamespaces(t *testing.T) {
	cases := map[string]struct {
		given *api.Namespaces
		want  []string // of a, b and c
	}{
		"nothing given":    {nil, nil},
		"empty lists":      {&api.Namespaces{Include: []string{}, Exclude: []string{}}, nil},
		"some included":    {&api.Namespaces{Include: []string{"a", "c"}}, []string{"b"}},
		"some excluded":    {&api.Namespaces{Exclude: []string{"a", "c"}}, []string{"a", "c"}},
		"one that is gone": {&api.Namespaces{Include: []string{"gone"}}, []string{"a", "b", "c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := &RealUsageLowNodeUtilizationArgs{EvictableNamespaces: tc.given}
			var spared []string
			for _, namespace := range []string{"a", "b", "c"} {
				if args.Spares(namespace) {
					spared = append(spared, namespace)
				}
			}
			if diff := cmp.Diff(tc.want, spared); diff != "" {
				t.Errorf("spared (-want +got):\n%s", diff)
			}
		})
	}
}

func fullArgs() *RealUsageLowNodeUtilizationArgs {
	limit := uint(3)
	return &RealUsageLowNodeUtilizationArgs{
		Thresholds:          api.ResourceThresholds{v1.ResourceCPU: 40, v1.ResourceMemory: 50},
		TargetThresholds:    api.ResourceThresholds{v1.ResourceCPU: 65, v1.ResourceMemory: 80},
		NumberOfNodes:       1,
		EvictableNamespaces: &api.Namespaces{Exclude: []string{"kube-system"}},
		EvictionLimits:      &api.EvictionLimits{Node: &limit},
	}
}

func TestDeepCopySharesNothing(t *testing.T) {
	args := fullArgs()
	copied, ok := args.DeepCopyObject().(*RealUsageLowNodeUtilizationArgs)
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
	if got := (*RealUsageLowNodeUtilizationArgs)(nil).DeepCopyObject(); got != nil {
		t.Errorf("copy of nil is %v", got)
	}
}
