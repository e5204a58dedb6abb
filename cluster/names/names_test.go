package names

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func expression(key string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpExists}
}

func term(keys ...string) (t v1.NodeSelectorTerm) {
	for _, key := range keys {
		t.MatchExpressions = append(t.MatchExpressions, expression(key))
	}
	return t
}

func field(node string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{is(node)}}
}

func requiring(terms ...v1.NodeSelectorTerm) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms},
	}}}}
}

func with(pod *v1.Pod, change func(*v1.Pod)) *v1.Pod {
	change(pod)
	return pod
}

func steered(by string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Annotations = map[string]string{Annotation: by} }
}

// named returns a copy of the pod that is restricted to the nodes.
func named(t *testing.T, pod *v1.Pod, nodes ...string) *v1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	if !Add(pod, nodes) {
		t.Fatalf("%v was not restricted to %v", pod, nodes)
	}
	return pod
}

// Add combines each of the pod's own terms with each node. Nothing else in the pod changes except
// what the policy changes as well.
func TestAdd(t *testing.T) {
	spread := []v1.TopologySpreadConstraint{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}}
	many := make([]v1.NodeSelectorTerm, maxTerms/2)
	for i := range many {
		many[i] = term("a")
	}
	first := v1.PreferredSchedulingTerm{Weight: 100, Preference: field("n1")}
	for name, tc := range map[string]struct {
		pod    *v1.Pod
		nodes  []string
		want   *v1.NodeAffinity // nil for none
		policy v1.NodeInclusionPolicy
	}{
		"plain": {&v1.Pod{}, []string{"n1", "n2"}, &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{field("n1"), field("n2")}},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{first},
		}, ""},
		"own terms, one of them empty": {requiring(naming(term("a"), "own"), v1.NodeSelectorTerm{}, term("b")), []string{"n1", "n2"}, &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				naming(naming(term("a"), "own"), "n1"), naming(naming(term("a"), "own"), "n2"), naming(term("b"), "n1"), naming(term("b"), "n2"),
			}},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{first},
		}, ""},
		"a preference": {with(&v1.Pod{}, func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 3, Preference: term("p")}},
			}}
		}), []string{"n1"}, &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{field("n1")}},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 3, Preference: term("p")}, first},
		}, ""},
		"a spread": {with(&v1.Pod{}, func(p *v1.Pod) { p.Spec.TopologySpreadConstraints = spread }), []string{"n1"}, &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{field("n1")}},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{first},
		}, v1.NodeInclusionPolicyIgnore},
		"no node":             {&v1.Pod{}, nil, nil, ""},
		"unsuitable pods":     {requiring(v1.NodeSelectorTerm{}), []string{"n1"}, nil, ""},
		"more terms than fit": {requiring(many...), []string{"n1", "n2", "n3"}, nil, ""},
	} {
		got := tc.pod.DeepCopy()
		restricted := Add(got, tc.nodes)
		want := tc.pod.DeepCopy()
		if tc.want != nil {
			want.Annotations = map[string]string{Annotation: strings.Join(tc.nodes, ",")}
			want.Spec.Affinity = &v1.Affinity{NodeAffinity: tc.want}
			for i := range want.Spec.TopologySpreadConstraints {
				want.Spec.TopologySpreadConstraints[i].NodeAffinityPolicy = &tc.policy
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || restricted != (tc.want != nil) {
			t.Errorf("%s: restricted %v (-want +got):\n%s", name, restricted, diff)
		}
	}
}

// Remove removes what the API server added, whatever terms the pod had before.
func TestRemove(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		pod := &v1.Pod{}
		if random.IntN(3) > 0 {
			var terms []v1.NodeSelectorTerm
			for i := range 1 + random.IntN(3) {
				t := term([]string{"a", "b", fmt.Sprint(i)}[:1+random.IntN(3)]...)
				if random.IntN(2) == 0 {
					t.MatchFields = append(t.MatchFields, is(fmt.Sprint("own-", random.IntN(3))))
				}
				terms = append(terms, t)
			}
			pod = requiring(terms...)
		}
		if random.IntN(3) == 0 {
			if pod.Spec.Affinity == nil {
				pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}
			}
			pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: 3, Preference: term("p")}}
		}
		if random.IntN(3) == 0 {
			if pod.Spec.Affinity == nil {
				pod.Spec.Affinity = &v1.Affinity{}
			}
			pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{}
		}
		nodes := []string{"n1", "n2", "n3", "n4", "n5"}[:1+random.IntN(5)]
		got := named(t, pod, nodes...)
		Remove(got)
		if diff := cmp.Diff(pod.Spec, got.Spec); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", nodes, diff)
		}
	}
}

// Anyone may have set the annotation, so an affinity stays if the API server would not have written
// it like that.
func TestRemoveLeavesOthersAlone(t *testing.T) {
	for name, pod := range map[string]*v1.Pod{
		"no annotation":               requiring(field("n1")),
		"held by a gate":              with(requiring(field("gate")), steered(Gate)),
		"an empty annotation":         with(requiring(field("n1")), steered("")),
		"no affinity":                 with(&v1.Pod{}, steered("n1")),
		"other names":                 with(requiring(field("n1"), field("n3")), steered("n1,n2")),
		"another order":               with(requiring(field("n2"), field("n1")), steered("n1,n2")),
		"one name too few":            with(requiring(field("n1")), steered("n1,n2")),
		"one term without a name":     with(requiring(field("n1"), term("a")), steered("n1,n2")),
		"terms that differ otherwise": with(requiring(naming(term("a"), "n1"), naming(term("b"), "n2")), steered("n1,n2")),
		"an empty term of its own":    with(requiring(naming(term("a"), "n1"), field("n1")), steered("n1")),
		"no term at all":              with(requiring(), steered("n1")),
		"nothing but commas":          with(requiring(field("n1")), steered(",,,")),
	} {
		got := pod.DeepCopy()
		Remove(got)
		if diff := cmp.Diff(pod, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func naming(t v1.NodeSelectorTerm, node string) v1.NodeSelectorTerm {
	t.MatchFields = append(t.MatchFields, is(node))
	return t
}

// Restrictable reports whether the API server can restrict a pod to node names without changing what its
// spread constraints count.
func TestRestrictable(t *testing.T) {
	spread := func(pod *v1.Pod) {
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{LabelSelector: &metav1.LabelSelector{}}}
	}
	selecting := func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "ssd"} }
	for name, tc := range map[string]struct {
		pod  *v1.Pod
		want bool
	}{
		"plain":                     {&v1.Pod{}, true},
		"nodeSelector":              {with(&v1.Pod{}, selecting), true},
		"own terms":                 {requiring(term("a"), v1.NodeSelectorTerm{}), true},
		"empty terms alone":         {requiring(v1.NodeSelectorTerm{}), false},
		"spread":                    {with(&v1.Pod{}, spread), true},
		"spread and nodeSelector":   {with(with(&v1.Pod{}, spread), selecting), false},
		"spread and terms":          {with(requiring(term("a")), spread), false},
		"pod affinity alone":        {with(&v1.Pod{}, func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}} }), true},
		"spread and pod affinity":   {with(with(&v1.Pod{}, spread), func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}} }), true},
		"spread, preferences alone": {with(with(&v1.Pod{}, spread), func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}} }), true},
	} {
		if got := Restrictable(tc.pod); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
