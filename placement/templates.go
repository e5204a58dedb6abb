package placement

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// prepare drops states that are out of date or belong to another pod.
func (s *Session) prepare(p *podEntry) {
	if s.last.pod == p && s.last.version == s.version {
		return
	}
	s.last = prepared{pod: p, template: s.templateOf(p), version: s.version}
}

// templateOf returns the template that the pod shares with others, or its own.
func (s *Session) templateOf(p *podEntry) *template {
	if s.last.pod == p {
		return s.last.template
	}
	f, pod := s.filters, s.beforeResize(p.pod)
	shareable := isShareable(&pod.Spec, f.dynamicResources)
	if shareable {
		for _, t := range s.templates[p.group] {
			if sameSpec(&t.replacement.Spec, &pod.Spec) {
				return t
			}
		}
	}
	t := newTemplate(f.snapshot.index, p.group, pod, f.dynamicResources)
	t.shared = shareable
	if t.plain() {
		t.like = s.standIn(t, p.requests)
	}
	if shareable && len(s.templates[p.group]) < maxTemplates {
		s.templates[p.group] = append(s.templates[p.group], t)
	}
	return t
}

// beforeResize returns the pod from which the replacement is derived, without a resize
// that the replacement will not have.
func (s *Session) beforeResize(pod *v1.Pod) *v1.Pod {
	if pod.Generation <= firstGeneration {
		return pod
	}
	if s.created == nil {
		s.created = newAsCreated(s.filters.snapshot)
	}
	return s.created.before(pod)
}

// standIn returns a template that is equal to the plain template t for the filters: that
// of another workload with equal requests, or t itself if it is the first.
func (s *Session) standIn(t *template, requests *fwk.PodResource) *template {
	asked := size{requests.Resource.GetMilliCPU(), requests.Resource.GetMemory()}
	for _, other := range s.plain[asked] {
		if sameOnNode(&other.replacement.Spec, &t.replacement.Spec) {
			return other
		}
	}
	if len(s.plain[asked]) < maxTemplates {
		s.plain[asked] = append(s.plain[asked], t)
	}
	return t
}

// maxTemplates is the maximum number of templates to search in one group.
const maxTemplates = 8
