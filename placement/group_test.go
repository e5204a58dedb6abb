package placement

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
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

// Pods that share their containers, as replicas do, may still differ in what else counts.
func TestRequestsOfPodsThatShareContainers(t *testing.T) {
	replica := aPod("p", "n", cpu("500m"))
	resized("700m")(replica)
	told := requesting("900m", "100Mi")
	for name, change := range map[string]func(*v1.Pod){
		"a replica": func(*v1.Pod) {},
		"a resize": func(p *v1.Pod) {
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Resources: &told}}
		},
		"an impossible resize": func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Reason: v1.PodReasonInfeasible}}
		},
		"overhead":            func(p *v1.Pod) { p.Spec.Overhead = told.Requests },
		"requests of the pod": func(p *v1.Pod) { p.Spec.Resources = &told },
		"no containers":       func(p *v1.Pod) { p.Spec.Containers = nil },
		"an init container":   func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{{Name: "init", Resources: told}} },
		"a resized sidecar": func(p *v1.Pod) {
			p.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "init", Resources: &told}}
		},
		"a resize of the pod": func(p *v1.Pod) { p.Spec.Resources = &told; p.Status.Resources = new(requesting("2", "1Gi")) },
		"claims that count there": func(p *v1.Pod) {
			p.Status.NodeAllocatableResourceClaimStatuses = []v1.NodeAllocatableResourceClaimStatus{{}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := *replica
			change(&other)
			g := newGroup(replica)
			g.shareRequests(replica)
			want := (&framework.PodInfo{Pod: &other}).CalculateResource()
			if got := g.shareRequests(&other); !sameRequests(got, &want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	g := newGroup(replica)
	g.shareRequests(replica)
	if allocated := testing.AllocsPerRun(100, func() { g.shareRequests(replica) }); allocated > 0 {
		t.Errorf("the requests of a replica are calculated again, with %v allocations", allocated)
	}
}
