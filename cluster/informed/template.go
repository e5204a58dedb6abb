package informed

import "github.com/evenkeel/evenkeel/cluster"

// template is what the pods of one owner and revision have in common. Every
// object of a watch brings strings of its own; kept once per template they are
// a third of what a record takes.
type template struct {
	namespace string
	owner     cluster.Owner
	hash      string
}

// mostShared bounds what is remembered of templates, and of nodes. Beyond it
// all is forgotten: records keep what they share, and those that come later
// share among themselves.
const mostShared = 16384

// shared lets records have the strings of the first that had equal ones.
type shared struct {
	templates map[template]template
	nodes     map[string]string
}

// join gives a record the strings that others have.
func (s *shared) join(pod *cluster.Pod) {
	of := first(&s.templates, template{pod.Namespace, pod.Owner, pod.TemplateHash})
	pod.Namespace, pod.Owner, pod.TemplateHash = of.namespace, of.owner, of.hash
	pod.Node = first(&s.nodes, pod.Node)
}

// first returns the first of the values that were equal to one.
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
