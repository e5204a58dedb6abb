package owners

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OfCustom returns the state of a controller of a custom resource, by the fields
// that Kubernetes' own controllers have. Kruise's CloneSet and StatefulSet have
// them, too; what a kind lacks is not known.
func OfCustom(object *unstructured.Unstructured) Owner {
	number := func(path ...string) (int64, bool) {
		n, found, err := unstructured.NestedInt64(object.Object, path...)
		return n, found && err == nil
	}
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(object.Object, path...)
		return s
	}
	o := Owner{
		UID: string(object.GetUID()), Annotations: object.GetAnnotations(),
		Created: object.GetCreationTimestamp().Time, Deleting: object.GetDeletionTimestamp() != nil,
	}
	if wants, ok := number("spec", "replicas"); ok {
		has, _ := number("status", "replicas")
		o.Replicas, o.ScaledDown = int(wants), has > wants
	}
	seen, stated := number("status", "observedGeneration")
	current, update := text("status", "currentRevision"), text("status", "updateRevision")
	o.RollingOut = stated && seen < object.GetGeneration() || current != "" && update != "" && current != update && !rests(o.Replicas, number)
	for _, path := range [][]string{{"spec", "minReadySeconds"}, {"spec", "updateStrategy", "rollingUpdate", "minReadySeconds"}} {
		n, _ := number(path...)
		o.MinReady = max(o.MinReady, time.Duration(n)*time.Second)
	}
	o.Ordered = object.GetKind() == "StatefulSet" && text("spec", "podManagementPolicy") != "Parallel"
	reserved, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "reserveOrdinals")
	if list, ok := reserved.([]any); ok {
		o.Sparse = len(list) > 0
	}
	// A template as Kubernetes' own controllers have it says the same of its pods.
	_, marked, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "metadata", "annotations", steeredAnnotation)
	gates, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "spec", "schedulingGates")
	list, _ := gates.([]any)
	o.Unsteerable = marked || text("spec", "template", "spec", "nodeName") != "" || len(list) > 0
	first, _ := number("spec", "ordinals", "start")
	o.First = int(first)
	return o
}

// rests reports whether an update has gone as far as its partition lets it.
func rests(replicas int, number func(path ...string) (int64, bool)) bool {
	wants := int64(replicas)
	updated, _ := number("status", "updatedReplicas")
	if expected, stated := number("status", "expectedUpdatedReplicas"); stated {
		return expected < wants && updated == expected // fewer and more are changed
	}
	partition, _ := number("spec", "updateStrategy", "rollingUpdate", "partition")
	return partition > 0 && updated >= wants-partition
}
