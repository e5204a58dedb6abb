package owners

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel/evenkeel/cluster/names"
)

// resource reads a custom resource, assuming that it has the fields of Kubernetes' own
// controllers, as Kruise's CloneSet and StatefulSet do. A field that a kind lacks counts
// as unknown.
type resource struct{ *unstructured.Unstructured }

func (r resource) number(path ...string) (n int, stated bool) {
	i, found, err := unstructured.NestedInt64(r.Object, path...)
	return int(i), found && err == nil
}

func (r resource) text(path ...string) string {
	s, _, _ := unstructured.NestedString(r.Object, path...)
	return s
}

func (r resource) list(path ...string) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(r.Object, path...)
	list, _ := value.([]any)
	return list
}

// OfCustom returns the state of a controller of a custom resource, for one of its
// pods.
func OfCustom(object *unstructured.Unstructured, pod *v1.Pod) Owner {
	r := resource{object}
	wants, _ := r.number("spec", "replicas")
	seen, stated := r.number("status", "observedGeneration")
	o := Owner{
		Replicas:   wants,
		ScaledDown: r.surplus() || !Wants(object, pod.Name),
		RollingOut: stated && int64(seen) < object.GetGeneration() || r.update().changes(pod),
		Waits:      NamesPods(object),
		Ordered:    NamesPods(object) && r.text("spec", "podManagementPolicy") != "Parallel",
		First:      r.ordinals().first,
		Sparse:     len(r.list("spec", "reserveOrdinals")) > 0,
	}
	for _, path := range [][]string{{"spec", "minReadySeconds"}, {"spec", "updateStrategy", "rollingUpdate", "minReadySeconds"}} {
		n, _ := r.number(path...)
		n = min(n, math.MaxInt32) // the maximum that Kubernetes' own controllers accept
		o.MinReady = max(o.MinReady, time.Duration(n)*time.Second)
	}
	// A template at the place where Kubernetes' own controllers have theirs is assumed to
	// have the same meaning.
	_, marked, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "metadata", "annotations", names.Annotation)
	o.Unsteerable = marked || r.text("spec", "template", "spec", "nodeName") != "" || len(r.list("spec", "template", "spec", "schedulingGates")) > 0
	return o
}

// surplus reports whether the controller has more pods than it wants.
func (r resource) surplus() bool {
	wants, stated := r.number("spec", "replicas")
	has, _ := r.number("status", "replicas")
	return stated && has > wants
}

// update returns the state of the controller's update. Kinds differ in the field that
// pauses it.
func (r resource) update() update {
	u := update{from: r.text("status", "currentRevision"), to: r.text("status", "updateRevision")}
	if u.from == "" || u.to == "" {
		return update{} // the kind does not state revisions
	}
	u.byEviction = r.text("spec", "updateStrategy", "type") == "OnDelete"
	for _, path := range [][]string{{"spec"}, {"spec", "updateStrategy"}, {"spec", "updateStrategy", "rollingUpdate"}} {
		paused, _, _ := unstructured.NestedBool(r.Object, append(path, "paused")...)
		u.byEviction = u.byEviction || paused
	}
	u.wants, _ = r.number("spec", "replicas")
	u.updated, _ = r.number("status", "updatedReplicas")
	u.partition, _ = r.number("spec", "updateStrategy", "rollingUpdate", "partition")
	if expected, stated := r.number("status", "expectedUpdatedReplicas"); stated { // the partition may be a percentage
		u.partition, u.bothWays = u.wants-expected, true
	}
	return u
}

// maxReserved bounds the number of reserved ordinals that are read. They are read for
// each pod at each check, so an object with as many of them as it can hold would stop all
// moves for minutes.
const maxReserved = 1000

// ordinals returns the ordinals for which the controller wants pods; none if it
// reserves too many to be read.
func (r resource) ordinals() ordinals {
	o := ordinals{wants: math.MaxInt}
	if wants, stated := r.number("spec", "replicas"); stated {
		o.wants = wants
	}
	o.first, _ = r.number("spec", "ordinals", "start")
	reserved := r.list("spec", "reserveOrdinals")
	if len(reserved) > maxReserved {
		return ordinals{} // it is unknown which ordinals are reserved
	}
	for _, item := range reserved {
		switch v := item.(type) {
		case int64:
			o.reserved = append(o.reserved, span{int(v), int(v)})
		case string: // a number, or a range such as 3-5
			first, last, ranged := strings.Cut(v, "-")
			if !ranged {
				last = first
			}
			from, err := strconv.Atoi(strings.TrimSpace(first))
			to, wrong := strconv.Atoi(strings.TrimSpace(last))
			if err == nil && wrong == nil && from <= to {
				o.reserved = append(o.reserved, span{from, to})
			}
		}
	}
	return o
}

// ordinals represents the ordinals for which a controller wants pods: the first ones that
// are not reserved.
type ordinals struct {
	first, wants int
	reserved     []span
}

// span is a range of ordinals, both ends included.
type span struct{ from, to int }

// has reports whether the ordinals contain i. It calculates this instead of listing the
// ordinals, because someone may request two billion replicas.
func (o ordinals) has(i int) bool {
	if i < o.first {
		return false
	}
	left := o.first // the lowest ordinal that no span has covered yet
	before := i - o.first
	slices.SortFunc(o.reserved, func(a, b span) int { return a.from - b.from })
	for _, s := range o.reserved {
		if s.from <= i && i <= s.to {
			return false
		}
		from, to := max(s.from, left), min(s.to, i)
		before -= max(to-from+1, 0)
		left = max(left, to+1)
	}
	return before < o.wants
}
