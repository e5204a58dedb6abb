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

// refusedPlatform returns why the pod could not run on the node although
// kube-scheduler's filters may accept that: the node is of another operating
// system than the one that the pod runs on, or of another architecture that
// neither the pod names nor a replica of it runs on. Empty if it could.
func (s *Session) refusedPlatform(p *podEntry, to *nodeEntry) string {
	on, there, spec := p.node.platform, to.platform, &p.pod.Spec
	switch {
	case spec.OS != nil && there.OS != "" && string(spec.OS.Name) != there.OS:
		return fmt.Sprintf("the pod is for %s, the node runs %s", spec.OS.Name, there.OS)
	case there.OS != on.OS:
		return fmt.Sprintf("the pod runs on %s, the node is %s", known(on.OS), known(there.OS))
	case there.Arch != on.Arch && !mentions(spec, there.Arch) && !s.runsOn(p.pod, there.Arch):
		return fmt.Sprintf("the pod runs on %s, the node is %s, and neither the pod nor a replica shows that it can run there", known(on.Arch), known(there.Arch))
	}
	return ""
}

func known(platform string) string {
	if platform == "" {
		return "unlabelled"
	}
	return platform
}

// mentions reports whether the pod itself says that it may run on an architecture,
// by required or preferred affinity, or by a toleration.
func mentions(spec *v1.PodSpec, arch string) bool {
	if arch == "" {
		return false
	}
	isArch := func(key string) bool { return slices.Contains(cluster.ArchLabels[:], key) }
	for i := range spec.Tolerations {
		if t := &spec.Tolerations[i]; isArch(t.Key) && t.Operator != v1.TolerationOpExists && t.Value == arch {
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
			return isArch(r.Key) && r.Operator == v1.NodeSelectorOpIn && slices.Contains(r.Values, arch)
		})
	})
}

// shown is what a ready replica shows: pods of its controller with its images run
// on an architecture.
type shown struct {
	namespace    string
	controller   types.UID
	images, arch string
}

func shownBy(pod *v1.Pod, arch string) (of shown, ok bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || arch == "" {
		return shown{}, false
	}
	var images []string
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			images = append(images, containers[i].Image)
		}
	}
	return shown{pod.Namespace, owner.UID, strings.Join(images, "\n"), arch}, true
}

// runsOn reports whether a replica of the pod is ready on a node of an
// architecture.
func (s *Session) runsOn(pod *v1.Pod, arch string) bool {
	of, ok := shownBy(pod, arch)
	if !ok {
		return false
	}
	if s.shown == nil {
		s.shown = map[shown]bool{}
		for _, p := range s.filters.snapshot.pods {
			if p.pod.Spec.NodeName == "" || !podutil.IsPodReady(p.pod) {
				continue
			}
			if by, ok := shownBy(p.pod, p.node.platform.Arch); ok {
				s.shown[by] = true
			}
		}
	}
	return s.shown[of]
}
