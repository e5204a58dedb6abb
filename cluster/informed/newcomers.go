package informed

import "github.com/evenkeel/evenkeel/cluster"

// acquaint gives a record that is not in the Store yet the strings that others
// have.
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

func (s *Store) forgetNewcomers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newcomers = newcomers{}
}
