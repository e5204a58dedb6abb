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
	o.RollingOut = stated && seen < object.GetGeneration() || current != "" && update != "" && current != update
	for _, path := range [][]string{{"spec", "minReadySeconds"}, {"spec", "updateStrategy", "rollingUpdate", "minReadySeconds"}} {
		n, _ := number(path...)
		o.MinReady = max(o.MinReady, time.Duration(n)*time.Second)
	}
	// Which ordinals a set with reserved ones creates next is known to it only.
	_, reserves, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "reserveOrdinals")
	o.Ordered = object.GetKind() == "StatefulSet" && text("spec", "podManagementPolicy") != "Parallel" && !reserves
	first, _ := number("spec", "ordinals", "start")
	o.First = int(first)
	return o
}
