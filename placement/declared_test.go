package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// restartsAll makes a pod need the feature RestartAllContainersOnContainerExits.
func restartsAll(p *v1.Pod) {
	p.Spec.Containers = []v1.Container{{Name: "main", RestartPolicyRules: []v1.ContainerRestartRule{
		{Action: v1.ContainerRestartRuleActionRestartAllContainers},
	}}}
}

// ownUsersOnHostNetwork makes a pod need the feature UserNamespacesHostNetworkSupport.
func ownUsersOnHostNetwork(p *v1.Pod) {
	p.Spec.HostNetwork, p.Spec.HostUsers = true, new(false)
}

func onHostNetwork(p *v1.Pod) { p.Spec.HostNetwork = true }

func restartsNothing(p *v1.Pod) { p.Spec.Containers = []v1.Container{{Name: "main"}} }

func declares(features ...string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.DeclaredFeatures = features }
}

// A replacement goes only to nodes that declare the features that it needs, as
// kube-scheduler has it from Kubernetes 1.36. Pods that differ only in what they
// need get results of their own.
func TestDeclaredFeaturesDecideFrom136(t *testing.T) {
	refused := Result{Plugin: "NodeDeclaredFeatures", Reason: "node(s) didn't match Pod's required features"}
	cases := map[string]struct {
		cfg  Config
		need func(*v1.Pod)
		want map[string]Result
	}{
		"restarts all containers": {
			cfg: Config{DeclaredFeatures: true}, need: restartsAll,
			want: map[string]Result{"declares nothing": refused, "restarts": {OK: true}, "users": refused},
		},
		"user namespaces on the host's network": {
			cfg: Config{DeclaredFeatures: true}, need: ownUsersOnHostNetwork,
			want: map[string]Result{"declares nothing": refused, "restarts": refused, "users": {OK: true}},
		},
		"before 1.36": {
			need: restartsAll,
			want: map[string]Result{"declares nothing": {OK: true}, "restarts": {OK: true}, "users": {OK: true}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFilters(t, tc.cfg)
			modest, network, pod := aPod("web-0", source, restartsNothing), aPod("web-1", source, onHostNetwork), aPod("web-2", source, tc.need)
			syncAll(t, f, []*v1.Node{
				aNode(source), aNode("declares nothing"),
				aNode("restarts", declares("RestartAllContainersOnContainerExits")),
				aNode("users", declares("UserNamespacesHostNetworkSupport")),
			}, []*v1.Pod{modest, network, pod})
			s := f.Begin()
			defer s.Close()
			got := map[string]Result{}
			for node := range tc.want {
				for _, other := range []*v1.Pod{modest, network} {
					if r := s.Fits(other, node); !r.OK {
						t.Errorf("pod %s, which needs no feature, on %q: %+v", other.Name, node, r)
					}
				}
				got[node] = s.Fits(pod, node)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}
