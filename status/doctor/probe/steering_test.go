package probe

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/status/doctor"
)

// installed returns the shipped objects as an API server returns them: with defaults, and in
// another namespace.
func installed(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	shipped, err := shippedSteering()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for i := range shipped {
		object := shipped[i].DeepCopy()
		object.SetUID("u")
		object.SetLabels(map[string]string{"team": "sre", "pod-security.kubernetes.io/enforce": "restricted"})
		if _, ok, _ := unstructured.NestedMap(object.Object, "spec", "matchConstraints"); ok {
			set(t, object, "Equivalent", "spec", "matchConstraints", "matchPolicy")
		}
		if object.GetKind() == doctor.WebhookKind {
			webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
			webhooks[0].(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = "LS0t"
			set(t, object, webhooks, "webhooks")
		}
		if object.GetKind() == "Namespace" {
			set(t, object, []any{"kubernetes"}, "spec", "finalizers")
		}
		all[object.GetKind()+" "+object.GetName()] = object
	}
	return all
}

func set(t *testing.T, object *unstructured.Unstructured, value any, fields ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(object.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
}

func objectsOf(installed map[string]*unstructured.Unstructured, more ...runtime.Object) *dynamicfake.FakeDynamicClient {
	for _, object := range installed {
		more = append(more, object)
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		policies: "MutatingAdmissionPolicyList", {Group: "evenkeel.io", Version: "v1alpha1", Resource: "steerings"}: "SteeringList",
	}, more...)
}

// parts returns the state of each shipped object, and where it differs.
func parts(s *doctor.Steering) map[string]string {
	names := []string{doctor.PartUnread: "unread", doctor.PartMissing: "missing", doctor.PartOther: "other", doctor.PartShipped: "shipped"}
	all := map[string]string{}
	for _, part := range s.Parts {
		all[part.Kind+" "+part.Name] = strings.TrimSpace(names[part.State] + " " + part.Where)
	}
	return all
}

// Installed objects are compared with the shipped ones, ignoring what the API server or users add.
func TestSteeringParts(t *testing.T) {
	const (
		steer, fence = "MutatingAdmissionPolicy evenkeel-steer", "ValidatingAdmissionPolicy evenkeel-pods"
		hook         = "MutatingWebhookConfiguration evenkeel-steer"
		kind, room   = "CustomResourceDefinition steerings.evenkeel.io", "Namespace evenkeel-probe"
	)
	cases := map[string]struct {
		change func(*testing.T, map[string]*unstructured.Unstructured)
		want   map[string]string // the parts that differ from the shipped ones
	}{
		"as shipped": {func(*testing.T, map[string]*unstructured.Unstructured) {}, nil},
		"another policy": {func(t *testing.T, all map[string]*unstructured.Unstructured) {
			set(t, all[steer], "Fail", "spec", "failurePolicy")
		}, map[string]string{steer: "other spec.failurePolicy"}},
		"a condition less": {func(t *testing.T, all map[string]*unstructured.Unstructured) {
			set(t, all[steer], []any{}, "spec", "matchConditions")
		}, map[string]string{steer: "other spec.matchConditions"}},
		"someone else's fence": {func(t *testing.T, all map[string]*unstructured.Unstructured) {
			set(t, all[fence], []any{map[string]any{"name": "by-evenkeel", "expression": `request.userInfo.username == "admin"`}}, "spec", "matchConditions")
		}, map[string]string{fence: "other spec.matchConditions[0].expression"}},
		"no standard for pods": {func(_ *testing.T, all map[string]*unstructured.Unstructured) {
			all[room].SetLabels(nil)
		}, map[string]string{room: "other labels.pod-security.kubernetes.io/enforce"}},
		"an earlier schema": {func(t *testing.T, all map[string]*unstructured.Unstructured) {
			versions, _, _ := unstructured.NestedSlice(all[kind].Object, "spec", "versions")
			unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "targets", "additionalProperties", "properties", "by")
			set(t, all[kind], versions, "spec", "versions")
		}, map[string]string{kind: "other spec.versions[0].schema.openAPIV3Schema.properties.targets.additionalProperties.properties.by.description"}},
		"a webhook that refuses": {func(t *testing.T, all map[string]*unstructured.Unstructured) {
			webhooks, _, _ := unstructured.NestedSlice(all[hook].Object, "webhooks")
			webhooks[0].(map[string]any)["failurePolicy"] = "Fail"
			set(t, all[hook], webhooks, "webhooks")
		}, map[string]string{hook: "other webhooks[0].failurePolicy"}},
		"a webhook without a CA": {func(t *testing.T, all map[string]*unstructured.Unstructured) {
			webhooks, _, _ := unstructured.NestedSlice(all[hook].Object, "webhooks")
			delete(webhooks[0].(map[string]any)["clientConfig"].(map[string]any), "caBundle")
			set(t, all[hook], webhooks, "webhooks")
		}, map[string]string{hook: "other " + doctor.CABundle}},
		"two are missing": {func(_ *testing.T, all map[string]*unstructured.Unstructured) {
			delete(all, room)
			delete(all, steer)
		}, map[string]string{room: "missing", steer: "missing"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := installed(t)
			want := map[string]string{}
			for part := range all {
				want[part] = "shipped"
			}
			maps.Copy(want, tc.want)
			tc.change(t, all)
			s, err := Steering(t.Context(), fake.NewClientset(), objectsOf(all), noon)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, parts(&s)); diff != "" || len(want) != 9 || s.Unserved || len(s.Unread) > 0 {
				t.Errorf("unserved %v, unread %q, (-want +got):\n%s", s.Unserved, s.Unread, diff)
			}
		})
	}
}

// A server that does not have the kinds is distinguished from one that denies access to them.
func TestSteeringThatCannotBeRead(t *testing.T) {
	missing := schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}
	for name, tc := range map[string]struct {
		err      error
		unserved bool
		want     string
		unread   int
	}{
		"an earlier server": {apierrors.NewNotFound(missing, ""), true, "missing", 0},
		"no right":          {apierrors.NewForbidden(missing, "", errors.New("no right")), false, "unread", 10},
		"too slow":          {apierrors.NewTimeoutError("slow", 1), false, "unread", 10},
	} {
		t.Run(name, func(t *testing.T) {
			fails := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err }
			objects, client := objectsOf(nil), fake.NewClientset()
			objects.PrependReactor("*", "*", fails)
			if !tc.unserved {
				client.PrependReactor("*", "*", fails)
			}
			s, err := Steering(t.Context(), client, objects, noon)
			if err != nil || s.Unserved != tc.unserved || len(s.Unread) != tc.unread {
				t.Errorf("unserved %v, unread %q, %v", s.Unserved, s.Unread, err)
			}
			for part, state := range parts(&s) {
				if state != tc.want {
					t.Errorf("%s: %s", part, state)
				}
			}
		})
	}
}

// Leftovers are found with their times. A pod that has only just been held is not a leftover.
func TestSteeringLeftovers(t *testing.T) {
	held := func(name string, age time.Duration, gates ...string) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-age))}}
		for _, gate := range gates {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: gate})
		}
		return pod
	}
	keys := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1", "kind": "Steering", "metadata": map[string]any{"name": "evenkeel", "namespace": "shop"},
		"targets": map[string]any{"rs-web": map[string]any{"nodes": []any{"n1"}, "until": "2026-03-01T12:00:10Z"}},
	}}
	client := fake.NewClientset(held("old", time.Minute, "x/y", "evenkeel.io/steer"), held("new", 30*time.Second, "evenkeel.io/steer"), held("theirs", time.Hour, "x/y"))
	s, err := Steering(t.Context(), client, objectsOf(installed(t), keys), noon)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]doctor.Keys{{Namespace: "shop", Ends: []time.Time{noon.Add(10 * time.Second)}}}, s.Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop/old"}, s.Held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

// Among other webhooks, only those that are called for new pods count.
func TestSteeringWebhooks(t *testing.T) {
	fail, again, cluster := admissionregistrationv1.Fail, admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.ClusterScope
	rule := func(group, version, resource string, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{Operations: operations, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource},
		}}}
	}
	nodes := rule("", "v1", "*", admissionregistrationv1.Create)
	nodes[0].Scope = &cluster
	hooks := func(name string, rules ...[]admissionregistrationv1.RuleWithOperations) *admissionregistrationv1.MutatingWebhookConfiguration {
		c := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for i, r := range rules {
			c.Webhooks = append(c.Webhooks, admissionregistrationv1.MutatingWebhook{Name: string(rune('a' + i)), Rules: r})
		}
		return c
	}
	mesh := hooks("mesh", rule("", "v1", "pods", admissionregistrationv1.Create), rule("", "v1", "pods", admissionregistrationv1.Update), rule("apps", "v1", "*", admissionregistrationv1.Create),
		rule("*", "*", "*", admissionregistrationv1.OperationAll), rule("", "v1", "pods/status", admissionregistrationv1.Create), nodes, rule("", "v1", "*/*", admissionregistrationv1.Create))
	mesh.Webhooks[0].FailurePolicy, mesh.Webhooks[0].ReinvocationPolicy = &fail, &again
	client := fake.NewClientset(mesh, hooks("evenkeel-steer", rule("", "v1", "pods", admissionregistrationv1.Create)))
	s, err := Steering(t.Context(), client, objectsOf(nil), noon)
	if err != nil {
		t.Fatal(err)
	}
	want := []doctor.Webhook{
		{Name: "mesh/a", FailurePolicy: "Fail", ReinvocationPolicy: "IfNeeded"},
		{Name: "mesh/d", FailurePolicy: "unset", ReinvocationPolicy: "unset"},
		{Name: "mesh/g", FailurePolicy: "unset", ReinvocationPolicy: "unset"},
	}
	if diff := cmp.Diff(want, s.Webhooks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
