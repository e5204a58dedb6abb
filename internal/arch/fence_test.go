package arch

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

const (
	ours     = "system:serviceaccount:evenkeel:evenkeel"
	nodesync = "system:serviceaccount:evenkeel:evenkeel-nodesync"
)

// fence is a shipped ValidatingAdmissionPolicy, compiled by the API server's own code.
type fence struct {
	policy    admissionv1.ValidatingAdmissionPolicy
	validator validating.Validator
}

// readFence compiles the policy of one file below deploy.
func readFence(t *testing.T, path ...string) *fence {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root, "deploy"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	f, binding := &fence{}, admissionv1.ValidatingAdmissionPolicyBinding{}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if bytes.Contains(document, []byte("kind: ValidatingAdmissionPolicy\n")) {
			err = yaml.UnmarshalStrict(document, &f.policy)
		} else if bytes.Contains(document, []byte("kind: ValidatingAdmissionPolicyBinding\n")) {
			err = yaml.UnmarshalStrict(document, &binding)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: f.policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	if diff := gocmp.Diff(want, binding.Spec); diff != "" {
		t.Errorf("the binding (-want +got)\n%s", diff)
	}
	f.compile(t)
	return f
}

// fencesIn compiles the policies in a manifest. Each must have a binding.
func fencesIn(t *testing.T, manifest []byte) (fences []*fence) {
	t.Helper()
	bound := map[string]bool{}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		f, binding := &fence{}, admissionv1.ValidatingAdmissionPolicyBinding{}
		var err error
		switch {
		case bytes.Contains(document, []byte("kind: ValidatingAdmissionPolicy\n")):
			err = yaml.UnmarshalStrict(document, &f.policy)
			fences = append(fences, f)
		case bytes.Contains(document, []byte("kind: ValidatingAdmissionPolicyBinding\n")):
			err = yaml.UnmarshalStrict(document, &binding)
			bound[binding.Spec.PolicyName] = slices.Equal(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) &&
				binding.Spec.MatchResources == nil
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.DeleteFunc(fences, func(f *fence) bool {
		f.compile(t)
		return !bound[f.policy.Name]
	})
}

func (f *fence) compile(t *testing.T) {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	var options cel.OptionalVariableDeclarations
	spec := &f.policy.Spec
	for _, v := range spec.Variables {
		compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, options, environment.StoredExpressions)
	}
	compile := func(expressions []cel.ExpressionAccessor) cel.ConditionEvaluator {
		compiled := compiler.CompileCondition(expressions, options, environment.StoredExpressions)
		for _, err := range compiled.CompilationErrors() {
			t.Error(err)
		}
		return compiled
	}
	var conditions, validations []cel.ExpressionAccessor
	for i := range spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&spec.MatchConditions[i]))
	}
	for _, v := range spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
	}
	matcher := matchconditions.NewMatcher(compile(conditions), spec.FailurePolicy, "policy", "validate", f.policy.Name)
	f.validator = validating.NewValidator(compile(validations), matcher, compile(nil), compile(make([]cel.ExpressionAccessor, len(validations))), spec.FailurePolicy, nil)
}

// request is a request to the API server. old and new are YAML, or empty if there is no such
// object.
type request struct {
	user      string // Evenkeel's if empty
	operation admission.Operation
	resource  string // including its subresource
	namespace string
	dryRun    bool
	old, new  string
}

// refusal returns the fence's message for a request, without its prefix; empty if the fence allows
// the request.
func (f *fence) refusal(t *testing.T, r *request) string {
	t.Helper()
	resource, subresource, _ := strings.Cut(r.resource, "/")
	group := ""
	if resource == "deployments" {
		group = "apps"
	}
	gvr, gvk := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Any"}
	versioned := &admission.VersionedAttributes{VersionedKind: gvk}
	attributes := func(object, old *unstructured.Unstructured) admission.Attributes {
		who := &user.DefaultInfo{Name: cmp.Or(r.user, ours)}
		if object != nil {
			versioned.VersionedObject = object
		}
		if old != nil {
			versioned.VersionedOldObject = old
		}
		return admission.NewAttributesRecord(versioned.VersionedObject, versioned.VersionedOldObject, gvk, r.namespace, "x", gvr, subresource, r.operation, nil, r.dryRun, who)
	}
	versioned.Attributes = attributes(decoded(t, r.new), decoded(t, r.old))
	watched := slices.ContainsFunc(f.policy.Spec.MatchConstraints.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		matcher := rules.Matcher{Rule: rule.RuleWithOperations, Attr: versioned.Attributes}
		return matcher.Matches()
	})
	if !watched {
		return ""
	}
	for _, decision := range f.validator.Validate(t.Context(), gvr, versioned, nil, nil, celconfig.RuntimeCELCostBudget, nil).Decisions {
		if decision.Action == validating.ActionDeny {
			return strings.TrimPrefix(decision.Message, "Evenkeel may ")
		}
	}
	return ""
}

func decoded(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// want compares a fence's messages for requests.
func (f *fence) want(t *testing.T, want map[string]string, requests map[string]request) {
	t.Helper()
	got := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		r := requests[name]
		if said := f.refusal(t, &r); said != "" {
			got[name] = said
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("refused (-want +got)\n%s", diff)
	}
}

// someNode has taints and labels that nodesync did not set.
const someNode = `
metadata: {name: x, uid: u, resourceVersion: "1", labels: {disk: ssd, status: presure}, annotations: {note: x}}
spec:
  podCIDR: 10.0.0.0/24
  taints: [{key: disk, value: full, effect: PreferNoSchedule}, {key: evenkeel.io/hot, value: "true", effect: PreferNoSchedule}]
`

// nodesync may change only its own label, annotations and soft taints of nodes. A stolen token
// allows nothing else, wherever nodesync is installed.
func TestNodesyncFence(t *testing.T) {
	patched := func(replace ...string) request {
		return request{operation: admission.Update, resource: "nodes", old: someNode, new: strings.NewReplacer(replace...).Replace(someNode)}
	}
	as := func(user string, r request) request { r.user = user; return r }
	status := patched("podCIDR", "x")
	status.resource = "nodes/status"
	requests := map[string]request{
		"nothing":                {operation: admission.Update, resource: "nodes", old: someNode, new: someNode},
		"its label":              patched("presure", "other"),
		"no label":               patched(", status: presure", ""),
		"its annotations":        patched("{note: x}", `{note: x, cpu_usage_avg_5m: "0.1", evenkeel.io/nodesync: "{}", evenkeel.io/nodesync-apart: "{}"}`),
		"no taint":               patched(`, {key: evenkeel.io/hot, value: "true", effect: PreferNoSchedule}`, ""),
		"its taint's value":      patched(`value: "true"`, "value: very"),
		"its other taint":        patched("{key: evenkeel.io/hot,", "{key: evenkeel.io/above-reject, effect: PreferNoSchedule}, {key: evenkeel.io/hot,"),
		"one for the other":      patched("key: evenkeel.io/hot,", "key: evenkeel.io/above-reject,"),
		"a third taint":          patched("{key: evenkeel.io/hot,", "{key: evenkeel.io/full, effect: PreferNoSchedule}, {key: evenkeel.io/hot,"),
		"the other, and hard":    patched("{key: evenkeel.io/hot,", "{key: evenkeel.io/above-reject, effect: NoSchedule}, {key: evenkeel.io/hot,"),
		"by another":             as("system:serviceaccount:evenkeel:evenkeel-extender", patched("ssd", "hdd")),
		"by a person":            as("evenkeel", patched("ssd", "hdd")),
		"another label":          patched("ssd", "hdd"),
		"one more label":         patched("disk: ssd", "disk: ssd, node-role.kubernetes.io/control-plane: x"),
		"no other label":         patched("disk: ssd, ", ""),
		"another annotation":     patched("note: x", "note: y"),
		"no other annotation":    patched(", annotations: {note: x}", ""),
		"an annotation like its": patched("{note: x}", `{note: x, x.cpu_usage_avg_5m: "0.1"}`),
		"a hard taint":           patched(`value: "true", effect: PreferNoSchedule`, `value: "true", effect: NoExecute`),
		"another taint":          patched("value: full", "value: empty"),
		"no other taint":         patched("{key: disk, value: full, effect: PreferNoSchedule}, ", ""),
		"cordoning":              patched("podCIDR", "unschedulable: true\n  podCIDR"),
		"no network":             patched("podCIDR: 10.0.0.0/24", ""),
		"a finalizer":            patched("uid: u", "uid: u, finalizers: [evenkeel.io/x]"),
		"its status":             status,
		"deleting":               {operation: admission.Delete, resource: "nodes", old: someNode},
		"creating":               {operation: admission.Create, resource: "nodes", new: someNode},
		"apart":                  as(nodesync, patched("ssd", "hdd")),
		"elsewhere installed":    as("system:serviceaccount:other:evenkeel", patched("ssd", "hdd")),
		"elsewhere apart":        as("system:serviceaccount:other:evenkeel-nodesync", patched("ssd", "hdd")),
	}
	const label, annotation = "change no label but that of nodesync", "change no annotation but those of nodesync"
	const taint = "change no taint but those of nodesync, with the effect PreferNoSchedule"
	const spec, nodes = "change nothing of a node's spec but taints", "change nodes, not create or delete them, nor their status"
	readFence(t, "components", "nodesync-fence", "fence.yaml").want(t, map[string]string{
		"another label": label, "one more label": label, "no other label": label, "apart": label, "elsewhere installed": label, "elsewhere apart": label,
		"another annotation": annotation, "no other annotation": annotation, "an annotation like its": annotation,
		"a hard taint": taint, "a third taint": taint, "the other, and hard": taint, "another taint": taint, "no other taint": taint, "cordoning": spec, "no network": spec,
		"a finalizer": "change nothing of a node's metadata but labels and annotations",
		"its status":  nodes, "deleting": nodes, "creating": nodes,
	}, requests)
}

// somePod is held by two gates, Evenkeel's and somebody else's.
const somePod = `
metadata: {name: x, namespace: default, uid: u, labels: {app: x}}
spec:
  schedulingGates: [{name: x/y}, {name: evenkeel.io/steer}]
  containers: [{name: main, image: good}]
status: {phase: Pending}
`

// Evenkeel may remove its own gate from a pod and nominate a node for it. A stolen token allows no
// other change to a pod.
func TestSteeringFence(t *testing.T) {
	changed := func(resource string, replace ...string) request {
		return request{operation: admission.Update, resource: resource, old: somePod, new: strings.NewReplacer(replace...).Replace(somePod)}
	}
	as := func(user string, r request) request { r.user = user; return r }
	requests := map[string]request{
		"its gate off":        changed("pods", ", {name: evenkeel.io/steer}", ""),
		"nominating":          changed("pods/status", "phase: Pending", "phase: Pending, nominatedNodeName: n1"),
		"nothing":             changed("pods"),
		"by another":          as("system:serviceaccount:evenkeel:evenkeel-scheduler", changed("pods", "app: x", "app: y")),
		"all gates off":       changed("pods", "[{name: x/y}, {name: evenkeel.io/steer}]", "[]"),
		"the other gate off":  changed("pods", "{name: x/y}, ", ""),
		"one more gate":       changed("pods", "{name: x/y}", "{name: x/y}, {name: x/z}"),
		"its gate by status":  changed("pods/status", ", {name: evenkeel.io/steer}", ""),
		"an image":            changed("pods", "image: good", "image: evil"),
		"a deadline":          changed("pods", "containers", "activeDeadlineSeconds: 1\n  containers"),
		"a phase":             changed("pods/status", "Pending", "Failed"),
		"no status":           changed("pods/status", "phase: Pending", ""),
		"nominating a pod":    changed("pods", "phase: Pending", "phase: Pending, nominatedNodeName: n1"),
		"a label":             changed("pods", "app: x", "app: y"),
		"a label by status":   changed("pods/status", "app: x", "app: y"),
		"no labels":           changed("pods", ", labels: {app: x}", ""),
		"a finalizer":         changed("pods", "uid: u", "uid: u, finalizers: [evenkeel.io/x]"),
		"ephemeral":           changed("pods/ephemeralcontainers"),
		"a size":              changed("pods/resize"),
		"elsewhere installed": as("system:serviceaccount:other:evenkeel", changed("pods", "app: x", "app: y")),
	}
	const gate, spec = "take off the gate evenkeel.io/steer and no other", "change nothing of a pod's spec but its gate"
	const status, metadata = "change nothing of a pod's status but nominatedNodeName", "change nothing of a pod's metadata"
	const other = "change a pod and its status, no other subresource"
	readFence(t, "components", "admission-steering-pods", "pods.yaml").want(t, map[string]string{
		"all gates off": gate, "the other gate off": gate, "one more gate": gate, "its gate by status": gate,
		"an image": spec, "a deadline": spec, "a phase": status, "no status": status, "nominating a pod": status,
		"a label": metadata, "a label by status": metadata, "no labels": metadata, "a finalizer": metadata, "elsewhere installed": metadata,
		"ephemeral": other, "a size": other,
	}, requests)
}

// Evenkeel creates pods only in dry runs, in the namespace for probes.
func TestProbeFence(t *testing.T) {
	requests := map[string]request{}
	for what, r := range map[string]request{
		"a probe":             {namespace: "evenkeel-probe", dryRun: true},
		"by another":          {namespace: "default", user: "system:serviceaccount:kube-system:replicaset-controller"},
		"a pod":               {namespace: "evenkeel-probe"},
		"a probe elsewhere":   {namespace: "default", dryRun: true},
		"elsewhere installed": {namespace: "evenkeel-probe", user: "system:serviceaccount:other:evenkeel"},
	} {
		r.operation, r.resource, r.new = admission.Create, "pods", somePod
		requests[what] = r
	}
	const only = "create pods by dry run only, in evenkeel-probe"
	readFence(t, "components", "admission-steering-base", "probe.yaml").want(t, map[string]string{
		"a pod": only, "a probe elsewhere": only, "elsewhere installed": only,
	}, requests)
}
