package placement

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestReplacementRequestsWhatTheSpecSays(t *testing.T) {
	as := func(told, allocated string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			resized(told)(p)
			p.Status.ContainerStatuses[0].AllocatedResources = requesting(allocated, "100Mi").Requests
		}
	}
	for name, change := range map[string]func(*v1.Pod){
		"a status without requests":       func(*v1.Pod) {},
		"runs with its requests":          resized("500m"),
		"and was given as much":           as("500m", "0.5"),
		"runs with more":                  resized("700m"),
		"was given more":                  as("500m", "700m"),
		"a container that is not its":     func(p *v1.Pod) { resized("500m")(p); p.Spec.Containers[0].Name = "other" },
		"the pod as a whole has a status": func(p *v1.Pod) { p.Status.Resources = &v1.ResourceRequirements{} },
		"its claims count on the node": func(p *v1.Pod) {
			p.Status.NodeAllocatableResourceClaimStatuses = []v1.NodeAllocatableResourceClaimStatus{{}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := aPod("p", "n", cpu("500m"))
			change(pod)
			group := newGroup(pod)
			group.shareRequests(pod)
			if got := group.shareRequests(replacementOf(pod)).Resource.GetMilliCPU(); got != 500 {
				t.Errorf("the replacement requests %dm, want 500m", got)
			}
		})
	}
}

// Versions come and go during a process's lifetime. After pod-by-pod updates, only so few empty
// groups remain that removing them would not be worthwhile.
func TestUpdatesForgetEmptyGroups(t *testing.T) {
	f := offline(t)
	syncAll(t, f, []*v1.Node{aNode("a")}, nil)
	var last *v1.Pod
	var gone []types.UID
	for i := range 10 * minCompaction {
		next := []*v1.Pod{aPod(numbered("pod", i), "a", podLabel("pod-template-hash", numbered("hash", i)))}
		if err := f.snapshot.update(nil, next, gone); err != nil {
			t.Fatal(err)
		}
		last, gone = next[0], []types.UID{keyOf(next[0])}
	}
	if groups := len(f.snapshot.index.byHash); groups > minCompaction {
		t.Errorf("%d groups are kept of one pod", groups)
	}
	s := f.Begin()
	defer s.Close()
	if got := s.Fits(last, "a"); !got.OK {
		t.Errorf("the only pod does not fit: %+v", got)
	}
}
