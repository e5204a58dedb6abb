package informed

import "github.com/evenkeel/evenkeel/cluster"

// template holds what the pods of one owner and revision have in common. Every decoded
// object has its own copies of equal strings. Sharing them per template reduces a record
// to a third of its size.
type template struct {
	namespace string
	owner     cluster.Owner
	hash      string
}

// mostShared is the maximum number of remembered templates, nodes and CPU limits. Beyond
// that, all are dropped: existing records keep their shared strings, and later records
// share new ones.
const mostShared = 16384

// shared lets records share one copy of equal strings.
type shared struct {
	templates map[template]template
	nodes     map[string]string
	limits    map[cluster.CPULimits]cluster.CPULimits
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
