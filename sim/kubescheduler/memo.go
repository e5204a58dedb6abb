package kubescheduler

import v1 "k8s.io/api/core/v1"

// memo caches the plugins' results for nodes that have not changed, and for pods that the
// plugins do not distinguish. Placing a pod changes only one node, so for the next pod
// the results of most of the hundreds of nodes that kube-scheduler considers are known.
type memo struct {
	known map[kind][]remembered
	// maxKinds is the maximum number of kinds of pods to remember. Any others are evaluated
	// each time.
	maxKinds int
}

// maxRemembered is the maximum number of results in a memo: 32 MiB.
const maxRemembered = 1 << 21

// kind holds everything that the plugins' results depend on for a plain pod.
type kind struct{ cpuMilli, memoryBytes int64 }

// remembered is the plugins' result for a node.
type remembered struct {
	version int64 // the node's generation; 0 if there is no result
	score   int32
	fits    bool
	scored  bool
}

// of returns what is remembered for a pod: one entry per node, which the caller reads and
// fills in. It returns nil if nothing can be remembered.
func (m *memo) of(pod *v1.Pod, nodes *nodes) []remembered {
	if !nodes.bare || nodes.affinePods > 0 {
		return nil
	}
	kind, plain := kindOf(pod)
	if !plain {
		return nil
	}
	known, ok := m.known[kind]
	if !ok && len(m.known) < m.maxKinds {
		known = make([]remembered, len(nodes.infos))
		m.known[kind] = known
	}
	return known
}

// kindOf returns a pod's kind. plain reports whether the plugins' result depends only on
// its requests and on one node at a time, provided that nodes have no taints and no pod
// has affinity.
func kindOf(pod *v1.Pod) (k kind, plain bool) {
	spec := &pod.Spec
	switch {
	case spec.Affinity != nil, len(spec.TopologySpreadConstraints) > 0, len(spec.NodeSelector) > 0, spec.NodeName != "":
		return kind{}, false
	case len(spec.InitContainers) > 0, spec.Overhead != nil, spec.Resources != nil, len(pod.Status.ContainerStatuses) > 0:
		return kind{}, false
	}
	for i := range spec.Containers {
		container := &spec.Containers[i]
		requests := container.Resources.Requests
		cpu, hasCPU := requests[v1.ResourceCPU]
		memory, hasMemory := requests[v1.ResourceMemory]
		if !hasCPU || !hasMemory || len(requests) != 2 || len(container.Ports) > 0 {
			return kind{}, false
		}
		k.cpuMilli += cpu.MilliValue()
		k.memoryBytes += memory.Value()
	}
	return k, len(spec.Containers) > 0
}
