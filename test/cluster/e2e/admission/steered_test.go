package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// outcome is the part of a pod that steering may change.
type outcome struct {
	Steered   string
	Gates     []string
	Terms     []string
	Preferred []string
	Spread    []string
}

func outcomeOf(p *v1.Pod) outcome {
	got := outcome{Steered: p.Annotations["evenkeel.io/steered"]}
	for _, g := range p.Spec.SchedulingGates {
		got.Gates = append(got.Gates, g.Name)
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.NodeAffinityPolicy != nil {
			got.Spread = append(got.Spread, string(*c.NodeAffinityPolicy))
		}
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return got
	}
	if required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		for _, term := range required.NodeSelectorTerms {
			got.Terms = append(got.Terms, term2text(term))
		}
	}
	for _, preferred := range p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		got.Preferred = append(got.Preferred, fmt.Sprint(preferred.Weight, " ", term2text(preferred.Preference)))
	}
	return got
}

func term2text(term v1.NodeSelectorTerm) string {
	var parts []string
	for _, r := range append(term.MatchExpressions, term.MatchFields...) {
		parts = append(parts, r.Key+"="+strings.Join(r.Values, "|"))
	}
	return strings.Join(parts, " ")
}

func withTerms(p *v1.Pod, terms ...v1.NodeSelectorTerm) *v1.Pod {
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
	return p
}

func zone(value string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}
}

func withSpread(p *v1.Pod) *v1.Pod {
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
	}}
	return p
}

func changed(p *v1.Pod, change func(*v1.Pod)) *v1.Pod {
	change(p)
	return p
}

func called(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Name, p.GenerateName = name, "" }
}

func labelled(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Labels = map[string]string{key: value} }
}

type example struct {
	pod  *v1.Pod
	want outcome
}

func examples() map[string]example {
	gated := outcome{Steered: "gate", Gates: []string{gate}}
	named := outcome{
		Steered: "n1,n2", Terms: []string{"metadata.name=n1", "metadata.name=n2"}, Preferred: []string{"100 metadata.name=n1"},
	}
	ignoring := named
	ignoring.Spread = []string{"Ignore"}
	var own []v1.NodeSelectorTerm
	many := outcome{Steered: "a1,a2,a3,a4,a5", Preferred: []string{"100 metadata.name=a1"}}
	for i := range 10 {
		own = append(own, zone(fmt.Sprint(i)))
		for n := range 5 {
			many.Terms = append(many.Terms, fmt.Sprintf("zone=%d metadata.name=a%d", i, n+1))
		}
	}
	zoned := outcome{Steered: "n1,n2", Terms: []string{"zone=a metadata.name=n1", "zone=a metadata.name=n2"}, Preferred: []string{"100 metadata.name=n1"}}
	onPort := func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}} }
	selecting := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }
	return map[string]example{
		"gate":                             {pod("ReplicaSet", "gate"), gated},
		"gate, StatefulSet":                {changed(pod("StatefulSet", "gate"), called("db-0")), gated},
		"gate, another pod of it":          {changed(pod("StatefulSet", "gate"), called("db-9")), outcome{}},
		"gate, spread with nodeSelector":   {changed(withSpread(pod("ReplicaSet", "gate")), selecting), gated},
		"gate, host port":                  {changed(pod("ReplicaSet", "gate"), onPort), gated},
		"gate, a gate of its own":          {changed(pod("ReplicaSet", "gate"), func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "x/y"}} }), outcome{Steered: "gate", Gates: []string{"x/y", gate}}},
		"gate, has it already":             {changed(pod("ReplicaSet", "gate"), func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: gate}} }), outcome{Gates: []string{gate}}},
		"gate, DaemonSet":                  {pod("DaemonSet", "gate"), outcome{}},
		"gate, spec.nodeName":              {changed(pod("ReplicaSet", "gate"), func(p *v1.Pod) { p.Spec.NodeName = "n9" }), outcome{}},
		"names":                            {pod("ReplicaSet", "names"), named},
		"names, by absent":                 {pod("ReplicaSet", "absent"), named},
		"names, StatefulSet":               {changed(pod("StatefulSet", "names"), called("db-0")), named},
		"names, another pod of it":         {changed(pod("StatefulSet", "names"), called("db-9")), outcome{}},
		"revised":                          {changed(pod("ReplicaSet", "revised"), labelled("pod-template-hash", "v1")), gated},
		"revised, StatefulSet":             {changed(changed(pod("StatefulSet", "revised"), called("db-0")), labelled("controller-revision-hash", "v1")), gated},
		"revised, another revision":        {changed(pod("ReplicaSet", "revised"), labelled("pod-template-hash", "v2")), outcome{}},
		"revised, no labels":               {pod("Job", "revised"), outcome{}},
		"names, host port":                 {changed(pod("ReplicaSet", "names"), onPort), named},
		"names, nodeSelector":              {changed(pod("ReplicaSet", "names"), selecting), named},
		"names, 10 own terms x 5":          {withTerms(pod("ReplicaSet", "five"), own...), many},
		"names, an empty term and another": {withTerms(pod("ReplicaSet", "names"), v1.NodeSelectorTerm{}, zone("a")), zoned},
		"names, an empty term alone":       {withTerms(pod("ReplicaSet", "names"), v1.NodeSelectorTerm{}), outcome{Terms: []string{""}}},
		"names, spread":                    {withSpread(pod("ReplicaSet", "names")), ignoring},
		"names, spread with nodeSelector":  {changed(withSpread(pod("ReplicaSet", "names")), selecting), outcome{}},
		"names, spread with own terms":     {withTerms(withSpread(pod("ReplicaSet", "names")), zone("a")), outcome{Terms: []string{"zone=a"}}},
		"names, DaemonSet":                 {pod("DaemonSet", "names"), outcome{}},
		"names, spec.nodeName":             {changed(pod("ReplicaSet", "names"), func(p *v1.Pod) { p.Spec.NodeName = "n9" }), outcome{}},
		"key without until":                {pod("ReplicaSet", "endless"), outcome{}},
		"key that has ended":               {pod("ReplicaSet", "ended"), outcome{}},
		"key without nodes":                {pod("ReplicaSet", "nowhere"), outcome{}},
		"key of another namespace":         {pod("ReplicaSet", "probe"), outcome{}},
		"owner without key":                {pod("ReplicaSet", "other"), outcome{}},
		"owner that is no controller":      {changed(pod("ReplicaSet", "gate"), func(p *v1.Pod) { p.OwnerReferences[0].Controller = nil }), outcome{}},
		"no owner":                         {changed(pod("ReplicaSet", "gate"), func(p *v1.Pod) { p.OwnerReferences = nil }), outcome{}},
	}
}

// Each pod is steered according to its key or left unchanged, and none is refused.
//
//e2e:tier all
func TestAPIServerSteersPods(t *testing.T) {
	f := stage.New(t)
	steersPods(t, f, install(t, f, "admission-steering"))
}

func steersPods(t *testing.T, f *stage.Fixture, o ours) {
	t.Helper()
	later := time.Now().Add(10 * time.Minute)
	targets := map[string]any{
		"gate": key(later, "Gate", "n1", "n2"), "names": key(later, "Names", "n1", "n2"), "absent": key(later, "", "n1", "n2"),
		"five": key(later, "Names", "a1", "a2", "a3", "a4", "a5"), "endless": key(time.Time{}, "Gate", "n1"),
		"ended": key(time.Now().Add(-time.Second), "Gate", "n1"),
	}
	targets["gate/db-0"], targets["names/db-0"] = targets["gate"], targets["names"]
	for _, name := range []string{"revised", "revised/db-0"} {
		revised := key(later, "Gate", "n1")
		revised["template"] = "v1"
		targets[name] = revised
	}
	targets["nowhere"] = map[string]any{"until": later.UTC().Format(time.RFC3339)}
	for i := len(targets); i < 100; i++ {
		targets[fmt.Sprint("filler-", i)] = key(later, "Gate", "n1")
	}
	if err := o.steer(t.Context(), "default", targets); err != nil {
		t.Fatal(err)
	}
	steered(t, f, o)
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			got, err := f.Client().CoreV1().Pods("default").Create(t.Context(), e.pod, dryRun)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e.want, outcomeOf(got)); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
			planned(t, e, got)
		})
	}
}

// planned checks that planning treats a steered pod as its owner wrote it, and that names.Restrictable
// holds for pods that the API server steers by names.
func planned(t *testing.T, e example, got *v1.Pod) {
	t.Helper()
	if e.want.Steered == "" || e.want.Steered == names.Gate {
		return
	}
	if !names.Restrictable(e.pod) {
		t.Error("it is steered by names, but names.Restrictable is false")
	}
	names.Remove(got)
	got.Annotations = nil
	want := outcomeOf(e.pod)
	want.Spread = e.want.Spread
	want.Terms = slices.DeleteFunc(want.Terms, func(term string) bool { return term == "" })
	if diff := cmp.Diff(want, outcomeOf(got)); diff != "" {
		t.Errorf("the pod as it is planned (-want +got):\n%s", diff)
	}
}

// The API server refuses keys that would cause pods to be refused.
//
//e2e:tier all
func TestMalformedKeysAreRefused(t *testing.T) {
	f := stage.New(t)
	o := install(t, f, "admission-steering-names")
	later := time.Now().Add(time.Minute)
	many, crowd := map[string]any{}, []any{}
	for i := range 101 {
		many[fmt.Sprint(i)] = key(later, "Gate", "n1")
	}
	for i := range 33 {
		crowd = append(crowd, fmt.Sprint("n", i))
	}
	for name, targets := range map[string]map[string]any{
		"no node": {"a": key(later, "Names", []any{}...)}, "no name of a node": {"a": key(later, "Names", "N_1,")},
		"33 nodes": {"a": key(later, "Names", crowd...)}, "101 keys": many,
		"another way": {"a": key(later, "Other", "n1")}, "no time": {"a": map[string]any{"nodes": []any{"n1"}, "until": "soon"}},
	} {
		if name == "no node" {
			targets["a"].(map[string]any)["nodes"] = []any{}
		}
		if err := o.steer(t.Context(), "default", targets); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v, want it invalid", name, err)
		}
	}
}

// While the key kind does not exist, pods are created unchanged. Once the kind is back, so is
// steering.
//
//e2e:tier all
func TestSteeringSurvivesItsKindsDeletion(t *testing.T) {
	f := stage.New(t)
	o := install(t, f, "admission-steering-names")
	steered(t, f, o)
	removeKind(t, f)
	f.Eventually(30*time.Second, "a pod that is created, unsteered", func(ctx context.Context) bool {
		got, err := f.Client().CoreV1().Pods(probes).Create(ctx, pod("ReplicaSet", "probe"), dryRun)
		if err != nil {
			t.Errorf("a create without the kind: %v", err)
		}
		return err == nil && cmp.Equal(outcome{}, outcomeOf(got))
	})
	applyAgain(t, f)
	f.Eventually(30*time.Second, "keys to be taken again", func(ctx context.Context) bool {
		return o.steer(ctx, probes, map[string]any{"probe": key(time.Now().Add(time.Minute), "", "probed")}) == nil
	})
	f.Eventually(30*time.Second, "steering to be back", func(ctx context.Context) bool {
		got, err := f.Client().CoreV1().Pods(probes).Create(ctx, pod("ReplicaSet", "probe"), dryRun)
		if err != nil {
			t.Errorf("a create: %v", err)
		}
		return err == nil && got.Annotations["evenkeel.io/steered"] == "probed"
	})
}
