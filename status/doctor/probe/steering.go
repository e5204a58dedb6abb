package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/deploy"
	"github.com/evenkeel/evenkeel/scorer/admission"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// steeringTimeout bounds one request about steering.
const steeringTimeout = 10 * time.Second

// shippedKinds holds the kinds of shipped objects that are compared. RBAC objects are not among them, because
// permissions are checked with access reviews instead.
var shippedKinds = map[string]schema.GroupVersionResource{
	"CustomResourceDefinition":         {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	"Namespace":                        {Version: "v1", Resource: "namespaces"},
	"MutatingAdmissionPolicy":          policies,
	"MutatingAdmissionPolicyBinding":   {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"},
	"ValidatingAdmissionPolicy":        {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	"ValidatingAdmissionPolicyBinding": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	doctor.WebhookKind:                 {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
}

var policies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}

// Steering examines the objects that steering by the API server needs, and objects that
// it has left behind.
func Steering(ctx context.Context, client kubernetes.Interface, objects dynamic.Interface, now time.Time) (s doctor.Steering, err error) {
	s.At, s.Overdue = now, admission.Overdue
	shipped, err := shippedSteering()
	if err != nil {
		return s, err
	}
	s.Unserved = unserved(ctx, objects)
	for i := range shipped {
		s.Parts = append(s.Parts, partOf(ctx, objects, &shipped[i]))
	}
	for i := range s.Parts {
		if part := &s.Parts[i]; part.State == doctor.PartUnread && !slices.Contains(s.Unread, part.Kind) {
			s.Unread = append(s.Unread, part.Kind)
		}
	}
	unread := func(what string, err error) {
		if err != nil {
			s.Unread = append(s.Unread, what)
		}
	}
	left := admission.NewLeftovers(client, objects)
	steerings, err := left.Steerings(ctx)
	unread("keys", err)
	for i := range steerings {
		s.Keys = append(s.Keys, doctor.Keys{Namespace: steerings[i].Namespace, Ends: steerings[i].Ends})
	}
	held, err := left.Held(ctx)
	unread("held pods", err)
	for i := range held {
		if held[i].CreationTimestamp.Add(admission.Overdue).Before(now) {
			s.Held = append(s.Held, held[i].Namespace+"/"+held[i].Name)
		}
	}
	s.Webhooks, err = webhooks(ctx, client)
	unread("other mutating webhooks", err)
	return s, nil
}

// shippedSteering returns the shipped objects of the compared kinds.
func shippedSteering() (shipped []unstructured.Unstructured, err error) {
	files, err := fs.Glob(deploy.Steering, "components/*/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the shipped manifests: %w", err)
	}
	for _, file := range files {
		text, err := deploy.Steering.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the shipped manifests: %w", err)
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			object := unstructured.Unstructured{}
			encoded, err := yaml.YAMLToJSON(document)
			if err == nil {
				err = object.UnmarshalJSON(encoded)
			}
			if err != nil {
				return nil, fmt.Errorf("reading the shipped manifest %s: %w", file, err)
			}
			if _, looked := shippedKinds[object.GetKind()]; looked {
				shipped = append(shipped, object)
			}
		}
	}
	return shipped, nil
}

// unserved reports whether the API server does not serve the kind of the policies.
func unserved(ctx context.Context, objects dynamic.Interface) bool {
	ctx, cancel := context.WithTimeout(ctx, steeringTimeout)
	defer cancel()
	_, err := objects.Resource(policies).List(ctx, metav1.ListOptions{Limit: 1})
	return apierrors.IsNotFound(err)
}

func partOf(ctx context.Context, objects dynamic.Interface, shipped *unstructured.Unstructured) doctor.Part {
	ctx, cancel := context.WithTimeout(ctx, steeringTimeout)
	defer cancel()
	part := doctor.Part{Kind: shipped.GetKind(), Name: shipped.GetName()}
	there, err := objects.Resource(shippedKinds[part.Kind]).Get(ctx, part.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		part.State = doctor.PartMissing
	case err != nil:
		part.State = doctor.PartUnread
	default:
		part.State = doctor.PartShipped
		part.Where = differs(shipped.Object, there.Object)
		if part.Where == "" && part.Kind == doctor.WebhookKind && !hasCA(there) {
			part.Where = doctor.CABundle
		}
		if part.Where != "" {
			part.State = doctor.PartOther
		}
	}
	return part
}

// hasCA reports whether the configuration has a CA with which the API server can verify each webhook. The shipped
// configuration has none.
func hasCA(configuration *unstructured.Unstructured) bool {
	webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	return !slices.ContainsFunc(webhooks, func(webhook any) bool {
		fields, _ := webhook.(map[string]any)
		bundle, _, _ := unstructured.NestedString(fields, "clientConfig", "caBundle")
		return bundle == ""
	})
}

// differs returns the first field of a shipped object whose installed value differs; empty if none does. Additional
// fields in the installed object are the API server's defaults or someone's labels.
func differs(shipped, there map[string]any) string {
	content := func(object map[string]any) map[string]any {
		labels, _, _ := unstructured.NestedMap(object, "metadata", "labels")
		return map[string]any{"spec": object["spec"], "webhooks": object["webhooks"], "labels": labels}
	}
	return differ("", content(shipped), content(there))
}

func differ(path string, shipped, there any) string {
	switch want := shipped.(type) {
	case nil: // not part of the shipped object
		return ""
	case map[string]any:
		got, _ := there.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if found := differ(strings.TrimPrefix(path+"."+key, "."), want[key], got[key]); found != "" {
				return found
			}
		}
		return ""
	case []any:
		got, _ := there.([]any)
		if len(got) != len(want) {
			return path
		}
		for i := range want {
			if found := differ(fmt.Sprintf("%s[%d]", path, i), want[i], got[i]); found != "" {
				return found
			}
		}
		return ""
	}
	if shipped != there {
		return path
	}
	return ""
}

// ownPrefix is the prefix of the names of our own configurations.
const ownPrefix = "evenkeel"

var errMany = errors.New("there are too many to check")

// maxWebhookConfigurations bounds a list that is read in one request.
const maxWebhookConfigurations = 1000

// webhooks lists the webhooks that change new pods, except our own.
func webhooks(ctx context.Context, client kubernetes.Interface) (found []doctor.Webhook, err error) {
	ctx, cancel := context.WithTimeout(ctx, steeringTimeout)
	defer cancel()
	list, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{Limit: maxWebhookConfigurations})
	if err != nil {
		return nil, fmt.Errorf("listing mutating webhooks: %w", err)
	}
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, ownPrefix) {
			continue
		}
		for k := range list.Items[i].Webhooks {
			if hook := &list.Items[i].Webhooks[k]; slices.ContainsFunc(hook.Rules, createsPods) {
				found = append(found, doctor.Webhook{
					Name:          list.Items[i].Name + "/" + hook.Name,
					FailurePolicy: text(hook.FailurePolicy), ReinvocationPolicy: text(hook.ReinvocationPolicy),
				})
			}
		}
	}
	if list.Continue != "" {
		return found, errMany
	}
	return found, nil
}

// createsPods reports whether a rule matches the creation of pods.
func createsPods(rule admissionregistrationv1.RuleWithOperations) bool {
	has := func(values []string, wanted ...string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(wanted, v) })
	}
	creates := slices.ContainsFunc(rule.Operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.Create || o == admissionregistrationv1.OperationAll
	})
	namespaced := rule.Scope == nil || *rule.Scope != admissionregistrationv1.ClusterScope
	return creates && namespaced && has(rule.APIGroups, "", "*") && has(rule.APIVersions, "v1", "*") && has(rule.Resources, "pods", "*", "*/*")
}

// text formats a setting. If the setting is nil, the text explains that the API server
// set no default.
func text[S ~string](setting *S) string {
	if setting == nil {
		return "unset"
	}
	return string(*setting)
}
