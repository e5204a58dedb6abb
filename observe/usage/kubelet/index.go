package kubelet

import "github.com/evenkeel/evenkeel/cluster"

type podName struct{ namespace, name string }

// index finds a node's pods by name.
type index struct {
	pods   []*cluster.Pod
	byName map[podName]int
}

func newIndex(node *cluster.NodePods) index {
	x := index{pods: node.Pods, byName: make(map[podName]int, len(node.Pods))}
	for i, pod := range node.Pods {
		x.byName[podName{pod.Namespace, pod.Name}] = i
	}
	return x
}

// unmatched counts the pods that the snapshot does not have on this node, and holds the
// name of one of them as an example.
type unmatched struct {
	count   int
	example string
}

func (s *unmatched) add(namespace, name []byte) {
	if s.count++; s.count == 1 {
		s.example = string(namespace) + "/" + string(name)
	}
}

// find returns the index of a pod among the node's pods.
func (x *index) find(namespace, name []byte) (int, bool) {
	i, ok := x.byName[podName{string(namespace), string(name)}]
	return i, ok
}
