package placement

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestRequestsAreCountedBySpecWhereTheStatusTellsNothingElse(t *testing.T) {
	as := func(told, allocated string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			resized(told)(p)
			p.Status.ContainerStatuses[0].AllocatedResources = requesting(allocated, "100Mi").Requests
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1.Pod)
		want   bool
	}{
		"a status that tells nothing":     {func(*v1.Pod) {}, true},
		"runs with what it asked for":     {resized("500m"), true},
		"and was given as much":           {as("500m", "0.5"), true},
		"runs with more":                  {resized("700m"), false},
		"was given more":                  {as("500m", "700m"), false},
		"a container that is not its":     {func(p *v1.Pod) { resized("500m")(p); p.Spec.Containers[0].Name = "other" }, false},
		"the pod as a whole has a status": {func(p *v1.Pod) { p.Status.Resources = &v1.ResourceRequirements{} }, false},
		"its claims count on the node": {func(p *v1.Pod) {
			p.Status.NodeAllocatableResourceClaimStatuses = []v1.NodeAllocatableResourceClaimStatus{{}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := aPod("p", "n", cpu("500m"))
			tc.change(pod)
			if got := countedBySpec(pod); got != tc.want {
				t.Errorf("counted by its spec: %v, want %v", got, tc.want)
			}
		})
	}
}
