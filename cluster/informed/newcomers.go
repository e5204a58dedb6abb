package informed

import "github.com/evenkeel/evenkeel/cluster"

// mostNewcomers bounds what is remembered of a list's templates, and of its nodes.
const mostNewcomers = 65536

// newcomers let the records of a first list share strings before the Store has any of them: until the list is whole they are
// kept by the reflector.
type newcomers struct {
	templates map[template]template
	nodes     map[string]string
}

// acquaint gives a record that is not in the Store yet the strings that others have.
func (s *Store) acquaint(pod *cluster.Pod) {
	if pod.UID == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := templateOf(pod)
	if known := s.templates[key]; known != nil {
		key = known.template
	} else if !s.listedPods.Load() {
		key = first(&s.newcomers.templates, key)
	}
	pod.Namespace, pod.Owner, pod.TemplateHash = key.namespace, key.owner, key.hash
	if !s.listedPods.Load() {
		pod.Node = first(&s.newcomers.nodes, pod.Node)
	}
}

// first returns the first of the values that were equal to one.
func first[T comparable](known *map[T]T, value T) T {
	if one, ok := (*known)[value]; ok {
		return one
	}
	if *known == nil || len(*known) >= mostNewcomers {
		*known = map[T]T{}
	}
	(*known)[value] = value
	return value
}

func (s *Store) forgetNewcomers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newcomers = newcomers{}
}
