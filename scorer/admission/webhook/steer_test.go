package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/scorer/admission"
)

func pod(kind, uid string, changes ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, UID: types.UID(uid), Controller: new(true)}}}}
	if kind == "StatefulSet" {
		p.Name = "db-0"
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func called(name string) func(*v1.Pod) { return func(p *v1.Pod) { p.Name = name } }

func labelled(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Labels = map[string]string{key: value} }
}

func requiring(terms ...v1.NodeSelectorTerm) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
	}
}

func zone(value string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}
}

func spread(p *v1.Pod) {
	constraint := v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{}}
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{constraint, constraint}
}

func selecting(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }

func annotated(key string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Annotations = map[string]string{key: "x"} }
}

func gated(gates ...string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		for _, gate := range gates {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: gate})
		}
	}
}

// outcome describes in words what happened to a pod.
type outcome struct {
	Steered                         string
	Gates, Terms, Preferred, Spread []string
}

func outcomeOf(p *v1.Pod) (o outcome) {
	o.Steered = p.Annotations[names.Annotation]
	for _, g := range p.Spec.SchedulingGates {
		o.Gates = append(o.Gates, g.Name)
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.NodeAffinityPolicy != nil {
			o.Spread = append(o.Spread, string(*c.NodeAffinityPolicy))
		}
	}
	words := func(term v1.NodeSelectorTerm) string {
		var all []string
		for _, r := range append(term.MatchExpressions, term.MatchFields...) {
			all = append(all, r.Key+"="+strings.Join(r.Values, "|"))
		}
		return strings.Join(all, " ")
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return o
	}
	if required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		for _, term := range required.NodeSelectorTerms {
			o.Terms = append(o.Terms, words(term))
		}
	}
	for _, preferred := range p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		o.Preferred = append(o.Preferred, fmt.Sprint(preferred.Weight, " ", words(preferred.Preference)))
	}
	return o
}

// applied applies a patch to a pod as the API server does, which rejects the pod if that fails.
func applied(t *testing.T, p *v1.Pod, patch []byte) *v1.Pod {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err == nil {
		text, err = decoded.Apply(text)
	}
	if err != nil {
		t.Fatalf("the API server would refuse the pod: %v, by %s", err, patch)
	}
	got := &v1.Pod{}
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	return got
}

// example is a pod of an owner that has a key with the nodes n1 and n2.
type example struct {
	pod  *v1.Pod
	want outcome
	// keyless reports whether there is no key for the pod.
	keyless bool
}

// examples returns the pods that TestAPIServerSteersPods creates, and some more. The UID of the
// owner determines how the pod is steered.
func examples() map[string]example {
	held := outcome{Steered: "gate", Gates: []string{admission.Gate}}
	named := outcome{Steered: "n1,n2", Terms: []string{"metadata.name=n1", "metadata.name=n2"}, Preferred: []string{"100 metadata.name=n1"}}
	ignoring, zoned, preferring := named, named, named
	ignoring.Spread = []string{"Ignore", "Ignore"}
	zoned.Terms = []string{"zone=a metadata.name=n1", "zone=a metadata.name=n2"}
	preferring.Preferred = []string{"7 zone=b", "100 metadata.name=n1"}
	preference := func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 7, Preference: zone("b")}}}}
	}
	return map[string]example{
		"gate":                                         {pod: pod("ReplicaSet", "gate"), want: held},
		"gate, StatefulSet":                            {pod: pod("StatefulSet", "gate"), want: held},
		"gate, another pod of the StatefulSet":         {pod: pod("StatefulSet", "gate", called("db-9")), keyless: true},
		"gate, a pod of the StatefulSet's name":        {pod: pod("ReplicaSet", "gate", called("db-0")), want: held},
		"names, another pod of the StatefulSet":        {pod: pod("StatefulSet", "names", called("db-9")), keyless: true},
		"revised":                                      {pod: pod("ReplicaSet", "revised", labelled("pod-template-hash", "v1")), want: named},
		"revised, another revision":                    {pod: pod("ReplicaSet", "revised", labelled("pod-template-hash", "v2")), keyless: true},
		"revised, no labels":                           {pod: pod("Job", "revised"), keyless: true},
		"revised, StatefulSet":                         {pod: pod("StatefulSet", "revised", labelled("controller-revision-hash", "v1")), want: named},
		"revised, a StatefulSet with another revision": {pod: pod("StatefulSet", "revised", labelled("controller-revision-hash", "v2")), keyless: true},
		"of any template":                              {pod: pod("ReplicaSet", "any", labelled("pod-template-hash", "v2")), want: held},
		"gate, spread with nodeSelector":               {pod: pod("ReplicaSet", "gate", spread, selecting), want: held},
		"gate, existing annotations":                   {pod: pod("ReplicaSet", "gate", annotated("a/b")), want: held},
		"gate, an existing gate":                       {pod: pod("ReplicaSet", "gate", gated("x/y")), want: outcome{Steered: "gate", Gates: []string{"x/y", admission.Gate}}},
		"gate, has it already":                         {pod: pod("ReplicaSet", "gate", gated(admission.Gate)), want: outcome{Gates: []string{admission.Gate}}},
		"gate, was steered":                            {pod: pod("ReplicaSet", "gate", annotated(names.Annotation)), want: outcome{Steered: "x"}},
		"gate, DaemonSet":                              {pod: pod("DaemonSet", "gate"), want: outcome{}},
		"gate, spec.nodeName":                          {pod: pod("ReplicaSet", "gate", func(p *v1.Pod) { p.Spec.NodeName = "n9" }), want: outcome{}},
		"names":                                        {pod: pod("ReplicaSet", "names"), want: named},
		"names, StatefulSet":                           {pod: pod("StatefulSet", "names"), want: named},
		"names, existing annotations":                  {pod: pod("ReplicaSet", "names", annotated("a/b")), want: named},
		"names, nodeSelector":                          {pod: pod("ReplicaSet", "names", selecting), want: named},
		"names, an existing term":                      {pod: pod("ReplicaSet", "names", requiring(zone("a"))), want: zoned},
		"names, an existing preference":                {pod: pod("ReplicaSet", "names", preference), want: preferring},
		"names, an empty affinity":                     {pod: pod("ReplicaSet", "names", func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{} }), want: named},
		"names, an empty term and another":             {pod: pod("ReplicaSet", "names", requiring(v1.NodeSelectorTerm{}, zone("a"))), want: zoned},
		"names, an empty term alone":                   {pod: pod("ReplicaSet", "names", requiring(v1.NodeSelectorTerm{})), want: outcome{Terms: []string{""}}},
		"names, spread":                                {pod: pod("ReplicaSet", "names", spread), want: ignoring},
		"names, spread with nodeSelector":              {pod: pod("ReplicaSet", "names", spread, selecting), want: outcome{}},
		"names, spread with own terms":                 {pod: pod("ReplicaSet", "names", spread, requiring(zone("a"))), want: outcome{Terms: []string{"zone=a"}}},
		"names, DaemonSet":                             {pod: pod("DaemonSet", "names"), want: outcome{}},
		"names, spec.nodeName":                         {pod: pod("ReplicaSet", "names", func(p *v1.Pod) { p.Spec.NodeName = "n9" }), want: outcome{}},
		"owner that is no controller":                  {pod: pod("ReplicaSet", "gate", func(p *v1.Pod) { p.OwnerReferences[0].Controller = nil }), want: outcome{}},
		"no owner":                                     {pod: pod("ReplicaSet", "gate", func(p *v1.Pod) { p.OwnerReferences = nil }), want: outcome{}},
	}
}

// Each pod is steered as the policy would steer it or is not changed, and no patch makes the API
// server reject a pod.
func TestSteer(t *testing.T) {
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			got := e.pod
			if by := metav1.GetControllerOfNoCopy(e.pod); steerable(e.pod) && !e.keyless {
				steps, err := json.Marshal(steer(e.pod, []string{"n1", "n2"}, by.UID == "gate" || by.UID == "any"))
				if err != nil {
					t.Fatal(err)
				}
				got = applied(t, e.pod, steps)
			}
			if diff := cmp.Diff(e.want, outcomeOf(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			untouched := func(p *v1.Pod) *v1.Pod {
				p = p.DeepCopy()
				delete(p.Annotations, names.Annotation)
				if p.Spec.SchedulingGates, p.Spec.Affinity = nil, nil; len(p.Annotations) == 0 {
					p.Annotations = nil
				}
				for i := range p.Spec.TopologySpreadConstraints {
					p.Spec.TopologySpreadConstraints[i].NodeAffinityPolicy = nil
				}
				return p
			}
			if diff := cmp.Diff(untouched(e.pod), untouched(got)); diff != "" {
				t.Errorf("what steering must not change (-before +after):\n%s", diff)
			}
		})
	}
}
