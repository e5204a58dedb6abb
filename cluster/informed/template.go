package informed

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
)

// template holds what the pods of one owner and revision have in common. Every decoded
// object has its own copies of equal strings. Sharing them per template reduces a record
// to a third of its size.
type template struct {
	namespace string
	owner     cluster.Owner
	hash      string
}

// mostShared is the maximum number of remembered templates, nodes, CPU limits and sizes.
// Beyond that, all are dropped: existing records keep their shared strings, and later
// records share new ones.
const mostShared = 16384

// shared lets records share one copy of equal strings.
type shared struct {
	templates map[template]template
	nodes     map[string]string
	limits    map[cluster.CPULimits]cluster.CPULimits
	sizes     map[containers]size
}

// containers identifies the containers of replicas, which share one copy of them. Its
// pointers keep the copy, so that no other pod gets the same key.
type containers struct {
	first, firstInit *v1.Container
	count, countInit int
}

// sizeOf returns the size of a pod. It is calculated once for all replicas.
func (s *shared) sizeOf(pod *v1.Pod) size {
	key := containers{count: len(pod.Spec.Containers), countInit: len(pod.Spec.InitContainers)}
	if key.count == 0 || pod.Spec.Overhead != nil || pod.Spec.Resources != nil {
		return sizeOf(pod)
	}
	key.first = &pod.Spec.Containers[0]
	if key.countInit > 0 {
		key.firstInit = &pod.Spec.InitContainers[0]
	}
	of, known := s.sizes[key]
	if known {
		return of
	}
	if len(s.sizes) >= mostShared || s.sizes == nil {
		s.sizes = map[containers]size{}
	}
	of = sizeOf(pod)
	s.sizes[key] = of
	return of
}

// intern replaces a record's strings by shared ones.
func (s *shared) intern(pod *cluster.Pod) {
	of := first(&s.templates, template{pod.Namespace, pod.Owner, pod.TemplateHash})
	pod.Namespace, pod.Owner, pod.TemplateHash = of.namespace, of.owner, of.hash
	pod.Node = first(&s.nodes, pod.Node)
	if pod.CPULimits != "" {
		pod.CPULimits = first(&s.limits, pod.CPULimits)
	}
}

// first returns the first value seen that equals value.
func first[T comparable](known *map[T]T, value T) T {
	if one, ok := (*known)[value]; ok {
		return one
	}
	if *known == nil || len(*known) >= mostShared {
		*known = map[T]T{}
	}
	(*known)[value] = value
	return value
}
