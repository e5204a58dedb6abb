package kubescheduler

import v1 "k8s.io/api/core/v1"

// memo remembers what the plugins said of nodes that have not changed since,
// for pods that are alike to them. Placing a pod changes one node, so that of
// the hundreds which kube-scheduler looks at for the next pod all but a few are
// known.
type memo struct {
	known map[kind][]remembered
	// most is how many kinds of pods are kept; those that come later are judged
	// anew each time.
	most int
}

// mostRemembered bounds what a memo holds: 32 MiB.
const mostRemembered = 1 << 21

// kind is all that the plugins go by in a plain pod.
type kind struct{ cpuMilli, memoryBytes int64 }

// remembered is what the plugins said of a node.
type remembered struct {
	version int64 // the node's generation; 0 of none
	score   int32
	fits    bool
	scored  bool
}

func newMemo(nodes int) memo {
	return memo{known: map[kind][]remembered{}, most: mostRemembered / max(1, nodes)}
}

// of returns what is known for a pod, one per node, to be read and completed;
// nil where it cannot be kept.
func (m *memo) of(pod *v1.Pod, nodes *nodes) []remembered {
	if !nodes.bare || nodes.affinePods > 0 {
		return nil
	}
	kind, plain := kindOf(pod)
	if !plain {
		return nil
	}
	known, ok := m.known[kind]
	if !ok && len(m.known) < m.most {
		known = make([]remembered, len(nodes.infos))
		m.known[kind] = known
	}
	return known
}

// kindOf reports whether what the plugins make of a pod depends on its requests
// and on one node at a time alone, provided that nodes have no taints and no
// pod has affinity.
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
