package placement

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/cluster"
)

// refusedPlatform returns why the pod might not run on the node although
// kube-scheduler's filters may accept it; empty if nothing suggests that. The
// operating system must be the one on which the pod runs now. A different
// architecture or Windows build is accepted only if the pod names it or a
// replica already runs on it.
func (s *Session) refusedPlatform(p *podEntry, to *nodeEntry) string {
	on, there, spec := p.node.platform, to.platform, &p.pod.Spec
	shows := func(value string, labels ...string) bool {
		return value != "" && (mentions(spec, value, labels) || s.runsOn(p.pod, there))
	}
	switch {
	case spec.OS != nil && there.OS != "" && string(spec.OS.Name) != there.OS:
		return fmt.Sprintf("the pod is for %s, the node runs %s", spec.OS.Name, there.OS)
	case there.OS != on.OS:
		return fmt.Sprintf("the pod runs on %s, the node is %s", known(on.OS), known(there.OS))
	case there.Arch != on.Arch && !shows(there.Arch, cluster.ArchLabels[:]...):
		return fmt.Sprintf(unshown, known(on.Arch), known(there.Arch))
	case there.Build != on.Build && !shows(there.Build, cluster.BuildLabel):
		return fmt.Sprintf(unshown, "Windows build "+known(on.Build), known(there.Build))
	}
	return ""
}

const unshown = "the pod runs on %s, the node is %s, and neither the pod nor a replica shows that it can run there"

func known(platform string) string {
	if platform == "" {
		return "unlabelled"
	}
	return platform
}

// mentions reports whether the pod's required or preferred affinity or one of its
// tolerations names a label value of nodes, so that it may run on nodes with that value.
func mentions(spec *v1.PodSpec, value string, labels []string) bool {
	isLabel := func(key string) bool { return slices.Contains(labels, key) }
	for i := range spec.Tolerations {
		if t := &spec.Tolerations[i]; isLabel(t.Key) && t.Operator != v1.TolerationOpExists && t.Value == value {
			return true
		}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return false
	}
	var terms []v1.NodeSelectorTerm
	if required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = append(terms, required.NodeSelectorTerms...)
	}
	for _, preferred := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if preferred.Weight > 0 {
			terms = append(terms, preferred.Preference)
		}
	}
	return slices.ContainsFunc(terms, func(term v1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchExpressions, func(r v1.NodeSelectorRequirement) bool {
			return isLabel(r.Key) && r.Operator == v1.NodeSelectorOpIn && slices.Contains(r.Values, value)
		})
	})
}

// shown is evidence from a ready replica: pods of its controller with the same images run
// on a platform.
type shown struct {
	namespace  string
	controller types.UID
	images     string
	on         cluster.Platform
}

func shownBy(pod *v1.Pod, on cluster.Platform) (of shown, ok bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return shown{}, false
	}
	var images []string
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			images = append(images, containers[i].Image)
		}
	}
	return shown{pod.Namespace, owner.UID, strings.Join(images, "\n"), on}, true
}

// runsOn reports whether a replica of the pod is ready on a node of the given platform.
func (s *Session) runsOn(pod *v1.Pod, on cluster.Platform) bool {
	of, ok := shownBy(pod, on)
	if !ok {
		return false
	}
	if s.shown == nil {
		s.shown = map[shown]bool{}
		for _, p := range s.filters.snapshot.pods {
			if p.pod.Spec.NodeName == "" || !podutil.IsPodReady(p.pod) {
				continue
			}
			if by, ok := shownBy(p.pod, p.node.platform); ok {
				s.shown[by] = true
			}
		}
	}
	return s.shown[of]
}
