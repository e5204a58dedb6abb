package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// shipped is the shipped policy, compiled by the API server's own code.
type shipped struct {
	compiler *cel.CompositedCompiler
	matcher  matchconditions.Matcher
	patchers []patch.Patcher
}

func readPolicy(t *testing.T) *shipped {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "components", "admission-steering-names", "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var policy admissionregistrationv1.MutatingAdmissionPolicy
	if err := yaml.UnmarshalStrict(bytes.Split(text, []byte("\n---\n"))[0], &policy); err != nil {
		t.Fatal(err)
	}
	s, options := &shipped{}, cel.OptionalVariableDeclarations{HasParams: true}
	if s.compiler, err = cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())); err != nil {
		t.Fatal(err)
	}
	var variables []cel.NamedExpressionAccessor
	for _, v := range policy.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	s.compiler.CompileAndStoreVariables(variables, options, environment.StoredExpressions)
	var conditions []cel.ExpressionAccessor
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	s.matcher = matchconditions.NewMatcher(s.compiler.CompileCondition(conditions, options, environment.StoredExpressions), nil, "policy", "validate", policy.Name)
	options.HasPatchTypes = true
	for _, m := range policy.Spec.Mutations {
		compiled := s.compiler.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}, options, environment.StoredExpressions)
		s.patchers = append(s.patchers, patch.NewJSONPatcher(compiled))
	}
	return s
}

// steer returns the result of applying the policy to a pod whose namespace has a Steering.
func (s *shipped) steer(t *testing.T, p *v1.Pod, steering *unstructured.Unstructured) *v1.Pod {
	t.Helper()
	gvk, gvr := v1.SchemeGroupVersion.WithKind("Pod"), v1.SchemeGroupVersion.WithResource("pods")
	interfaces := apiadmission.NewObjectInterfacesFromScheme(scheme.Scheme)
	versioned := &apiadmission.VersionedAttributes{
		Attributes:    apiadmission.NewAttributesRecord(p, nil, gvk, "shop", "", gvr, "", apiadmission.Create, nil, false, nil),
		VersionedKind: gvk, VersionedObject: p,
	}
	matched := s.matcher.Match(t.Context(), versioned, steering, nil)
	if matched.Error != nil {
		t.Fatal(matched.Error)
	}
	if !matched.Matches {
		return p
	}
	ctx := s.compiler.CreateContext(t.Context())
	for _, patcher := range s.patchers {
		patched, err := patcher.Patch(ctx, patch.Request{
			MatchedResource: schema.GroupVersionResource(gvr), VersionedAttributes: versioned, ObjectInterfaces: interfaces,
			OptionalVariables: cel.OptionalVariableBindings{VersionedParams: steering},
		}, celconfig.RuntimeCELCostBudget)
		if err != nil {
			t.Fatal(err)
		}
		versioned.VersionedObject = patched
	}
	return versioned.VersionedObject.(*v1.Pod)
}

// anyPod returns a pod with any combination of fields that steering reads.
func anyPod(random *rand.Rand) *v1.Pod {
	some := func(of int, change func(*v1.Pod)) func(*v1.Pod) {
		if random.IntN(of) > 0 {
			return func(*v1.Pod) {}
		}
		return change
	}
	uid := []string{"gate", "names", "ended", "other", "revised", "any"}[random.IntN(12)/2]
	if random.IntN(2) == 0 {
		uid = "names"
	}
	affinity := func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}}
		if random.IntN(4) == 0 {
			return
		}
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
		if random.IntN(2) == 0 {
			required := &v1.NodeSelector{}
			for i := range 1 + random.IntN(3) {
				term := v1.NodeSelectorTerm{}
				if random.IntN(3) > 0 {
					term = zone(fmt.Sprint(i))
				}
				if random.IntN(3) == 0 {
					term.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"own"}}}
				}
				required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
			}
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
		}
		if random.IntN(2) == 0 {
			p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: 3, Preference: zone("p")}}
		}
	}
	return pod([]string{"ReplicaSet", "StatefulSet", "Job", "DaemonSet"}[random.IntN(8)/2], uid, some(2, affinity), some(3, spread), some(4, selecting),
		some(8, called("db-9")), some(2, labelled("pod-template-hash", "v1")), some(8, labelled("controller-revision-hash", "v2")), some(4, gated("x/y")), some(12, gated("evenkeel.io/steer")), some(3, annotated("a/b")), some(12, annotated("evenkeel.io/steered")),
		some(12, func(p *v1.Pod) { p.Spec.NodeName = "n9" }), some(12, func(p *v1.Pod) { p.OwnerReferences[0].Controller = nil }))
}

// Whatever a pod looks like, the webhook changes it as the shipped policy would with the same keys
// at the same time.
func TestAsThePolicy(t *testing.T) {
	policy, a := readPolicy(t), newAnswering(t)
	random := rand.New(rand.NewPCG(1, 2))
	pods := map[string]*v1.Pod{}
	for name, e := range examples() {
		pods[name] = e.pod
	}
	for i := range 400 {
		pods[fmt.Sprint("random ", i)] = anyPod(random)
	}
	changed := 0
	for name, p := range pods {
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x", Time: &metav1.Time{Time: start}}} // the time that the policy uses
		want := policy.steer(t, p.DeepCopy(), steeringOf())
		got := p
		if answer := response(t, a.ask(t, bytes.NewReader(review(t, p)))); len(answer.Response.Patch) > 0 {
			got = applied(t, p, answer.Response.Patch)
			changed++
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			text, _ := json.Marshal(p)
			t.Errorf("%s (-policy +webhook):\n%s\nof %s", name, diff, text)
		}
	}
	if changed < len(pods)/8 || changed > 3*len(pods)/4 {
		t.Errorf("of %d pods %d were steered: too few, or too many, to compare", len(pods), changed)
	}
}
