package placement

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func archIn(preferred bool, key string, values ...string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}}
		nodes := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}
		if preferred {
			nodes = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: term}}}
		}
		affinityOf(p).NodeAffinity = nodes
	}
}

func ready(p *v1.Pod) {
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
}

func tolerating(t v1.Toleration) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, t) }
}

// A replacement goes only to nodes that can run it: nodes with the operating system on which the
// pod runs, and with its architecture unless the pod or a replica shows that it can run on another.
func TestReplacementsStayOnTheirPlatform(t *testing.T) {
	const beta = "beta.kubernetes.io/arch"
	image := func(name string) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.Containers[0].Image = name } }
	for name, tc := range map[string]struct {
		pod      []func(*v1.Pod)
		replica  *v1.Pod // beside the pod
		takesArm bool
	}{
		"says nothing":         {},
		"requires its own":     {pod: []func(*v1.Pod){archIn(false, v1.LabelArchStable, "amd64")}},
		"selects its own":      {pod: []func(*v1.Pod){nodeSelector(v1.LabelArchStable, "amd64")}},
		"requires one of both": {pod: []func(*v1.Pod){archIn(false, v1.LabelArchStable, "amd64", "arm64")}, takesArm: true},
		"requires one of both, by the earlier label":  {pod: []func(*v1.Pod){archIn(false, beta, "amd64", "arm64")}, takesArm: true},
		"prefers the other":                           {pod: []func(*v1.Pod){archIn(true, v1.LabelArchStable, "arm64")}, takesArm: true},
		"prefers its own":                             {pod: []func(*v1.Pod){archIn(true, v1.LabelArchStable, "amd64")}},
		"tolerates the other's taint":                 {pod: []func(*v1.Pod){tolerating(v1.Toleration{Key: v1.LabelArchStable, Value: "arm64"})}, takesArm: true},
		"tolerates everything":                        {pod: []func(*v1.Pod){tolerating(v1.Toleration{Operator: v1.TolerationOpExists})}},
		"a replica is ready there":                    {replica: aPod("other", "arm-2", ready), takesArm: true},
		"a replica is not ready there":                {replica: aPod("other", "arm-2")},
		"a replica is on the pod's own":               {replica: aPod("other", "amd-2", ready)},
		"a replica with another image is ready there": {replica: aPod("other", "arm-2", ready, image("v2"))},
		"another owner's pod is ready there":          {replica: aPod("other", "arm-2", ready, func(p *v1.Pod) { p.OwnerReferences = ownedBy("ReplicaSet", "api") })},
		"another namespace's pod is ready there":      {replica: aPod("other", "arm-2", ready, inNamespace("x"))},
		"a StatefulSet's pod is ready there": {
			pod: []func(*v1.Pod){statefulSet, podLabel("name", "db-0")}, replica: aPod("other", "arm-2", ready, statefulSet, podLabel("name", "db-1")), takesArm: true,
		},
	} {
		linux := func(name, arch string) *v1.Node {
			return aNode(name, nodeLabel(v1.LabelOSStable, "linux"), nodeLabel(v1.LabelArchStable, arch), nodeLabel(beta, arch))
		}
		nodes := []*v1.Node{
			linux("amd-1", "amd64"), linux("amd-2", "amd64"), linux("arm-1", "arm64"), linux("arm-2", "arm64"),
			aNode("arm-beta", nodeLabel("beta.kubernetes.io/os", "linux"), nodeLabel(beta, "arm64")),
			aNode("windows", nodeLabel(v1.LabelOSStable, "windows"), nodeLabel(v1.LabelArchStable, "amd64"), nodeLabel(beta, "amd64")),
			aNode("unlabelled"),
		}
		pod := aPod("p", "amd-1", tc.pod...)
		pods := []*v1.Pod{pod}
		if tc.replica != nil {
			pods = append(pods, tc.replica)
		}
		f, err := New(t.Context(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(nodes, pods); err != nil {
			t.Fatal(err)
		}
		s := f.Begin()
		for node, want := range map[string]bool{"amd-2": true, "arm-1": tc.takesArm, "windows": false, "unlabelled": false} {
			if got := s.Fits(pod, node); got.OK != want {
				t.Errorf("%s: %s accepts it: %t, want %t (%s)", name, node, got.OK, want, got.Reason)
			}
		}
		if tc.replica != nil && s.Fits(pod, "arm-beta").OK != tc.takesArm {
			t.Errorf("%s: a node with labels of earlier releases accepts it: %t", name, !tc.takesArm)
		}
		s.Close()
	}
}

// A Windows container starts only on the build for which it was made. A replacement therefore stays
// on that build, unless the pod or a replica shows that it can run on another.
func TestReplacementsStayOnTheirWindowsBuild(t *testing.T) {
	const older, newer = "10.0.17763", "10.0.20348"
	for name, tc := range map[string]struct {
		pod        []func(*v1.Pod)
		replica    *v1.Pod // beside the pod
		takesNewer bool
	}{
		"says nothing":                       {},
		"requires its own":                   {pod: []func(*v1.Pod){archIn(false, v1.LabelWindowsBuild, older)}},
		"requires one of both":               {pod: []func(*v1.Pod){archIn(false, v1.LabelWindowsBuild, older, newer)}, takesNewer: true},
		"prefers the newer":                  {pod: []func(*v1.Pod){archIn(true, v1.LabelWindowsBuild, newer)}, takesNewer: true},
		"tolerates the newer's taint":        {pod: []func(*v1.Pod){tolerating(v1.Toleration{Key: v1.LabelWindowsBuild, Value: newer})}, takesNewer: true},
		"names the architecture alone":       {pod: []func(*v1.Pod){archIn(false, v1.LabelArchStable, "amd64")}},
		"is for Windows":                     {pod: []func(*v1.Pod){func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }}},
		"a replica is ready there":           {replica: aPod("other", "newer-2", ready), takesNewer: true},
		"a replica is not ready there":       {replica: aPod("other", "newer-2")},
		"a replica is on its own":            {replica: aPod("other", "older-2", ready)},
		"a replica is on an unlabelled node": {replica: aPod("other", "unlabelled-2", ready)},
	} {
		windows := func(name string, labels ...func(*v1.Node)) *v1.Node {
			return aNode(name, append(labels, nodeLabel(v1.LabelOSStable, "windows"), nodeLabel(v1.LabelArchStable, "amd64"))...)
		}
		nodes := []*v1.Node{windows("unlabelled-1"), windows("unlabelled-2")}
		for _, n := range []string{"1", "2"} {
			nodes = append(nodes, windows("older-"+n, nodeLabel(v1.LabelWindowsBuild, older)), windows("newer-"+n, nodeLabel(v1.LabelWindowsBuild, newer)))
		}
		pod := aPod("p", "older-1", tc.pod...)
		pods := []*v1.Pod{pod}
		if tc.replica != nil {
			pods = append(pods, tc.replica)
		}
		f, err := New(t.Context(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(nodes, pods); err != nil {
			t.Fatal(err)
		}
		s := f.Begin()
		for node, want := range map[string]bool{"older-2": true, "newer-1": tc.takesNewer, "unlabelled-1": false} {
			if got := s.Fits(pod, node); got.OK != want {
				t.Errorf("%s: %s accepts it: %t, want %t (%s)", name, node, got.OK, want, got.Reason)
			}
		}
		s.Close()
	}
}

// If nodes have no labels, the operating system in the pod's spec counts.
func TestPodOSCountsWithoutLabelsOfItsNode(t *testing.T) {
	pod := aPod("p", "plain", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Linux} })
	f, err := New(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sync([]*v1.Node{aNode("plain"), aNode("same"), aNode("windows", nodeLabel(v1.LabelOSStable, "windows"))}, []*v1.Pod{pod}); err != nil {
		t.Fatal(err)
	}
	s := f.Begin()
	defer s.Close()
	if got := s.Fits(pod, "windows"); got.OK || got.Reason != "the pod is for linux, the node runs windows" {
		t.Errorf("on windows: %+v", got)
	}
	if got := s.Fits(pod, "same"); !got.OK {
		t.Errorf("on a node like its own: %+v", got)
	}
}
