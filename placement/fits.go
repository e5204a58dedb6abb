package placement

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Fits reports whether kube-scheduler's filters accept a replacement of the pod
// on the node, once with the pod removed and once with it still terminating,
// both with the session's moves applied.
func (s *Session) Fits(pod *v1.Pod, node string) Result {
	p, n, err := s.lookUp(pod, node)
	if err != nil {
		return Result{Reason: err.Error()}
	}
	return s.fits(p, n)
}

func (s *Session) fits(p *podEntry, n *nodeEntry) Result {
	if why := s.refusedElsewhere(p, n); why != "" {
		return Result{Reason: why}
	}
	s.prepare(p)
	t := s.last.template.like
	if n == p.node || !t.plain() {
		return s.filter(n)
	}
	if n.judged.like != t {
		n.judged = judged{t, s.filter(n)}
	}
	return n.judged.result
}

// filter runs kube-scheduler's filters for the last pod.
func (s *Session) filter(n *nodeEntry) Result {
	t := s.last.template.like
	if t.refused != nil {
		return *t.refused
	}
	f := s.filters
	if v := f.filter(s.stateIn(gone), t.replacement, s.infoIn(gone, n)); !v.OK {
		return v
	}
	if v := s.fitsWithoutUnbound(gone, n); !v.OK || !s.worldsDiffer(n) {
		return v
	}
	v := f.filter(s.stateIn(terminating), t.replacement, s.infoIn(terminating, n))
	if v.OK {
		v = s.fitsWithoutUnbound(terminating, n)
	}
	v.Terminating = !v.OK
	return v
}

// refusedElsewhere returns why a replacement could not run on a node, apart from
// kube-scheduler's filters; empty if it could.
func (s *Session) refusedElsewhere(p *podEntry, n *nodeEntry) string {
	if n == p.node {
		return ""
	}
	return cmp.Or(s.refusedPlatform(p, n), s.refusedVolume(p, n))
}

// worldsDiffer reports whether the world terminating may give another result
// than the world gone.
func (s *Session) worldsDiffer(n *nodeEntry) bool {
	t := s.last.template.like
	return !t.shared || len(t.affinity) > 0 || len(t.anti) > 0 || n.differs() || n == s.last.pod.node
}

func (s *Session) infoIn(w world, n *nodeEntry) *framework.NodeInfo {
	p := s.last.pod
	if n == p.node && (w == gone || isStateful(p.pod)) {
		return n.sum(w, p)
	}
	return n.infoIn(w)
}

// stateIn returns the state of the last pod in a world.
func (s *Session) stateIn(w world) *state {
	if s.last.states[w] == nil {
		s.last.states[w] = s.compute(w)
	}
	return s.last.states[w]
}

func (s *Session) compute(w world) *state {
	f, p, t := s.filters, s.last.pod, s.last.template.like
	leave := w == gone || isStateful(p.pod)
	if t.shared {
		if _, counted := t.groups[p.group]; !leave || !counted {
			return s.baseIn(w)
		}
		if t.subtractable && p.pod.DeletionTimestamp == nil {
			return f.without(s.baseIn(w), t.replacement, p)
		}
	}
	p.hidden = leave
	st := f.preFilter(t, w)
	p.hidden = false
	return st
}

// baseIn returns the template's state with all its pods in place.
func (s *Session) baseIn(w world) *state {
	t := s.last.template.like
	version, away := t.currentVersion()
	if version != t.version {
		t.base, t.version = [2]*state{}, version
	}
	switch {
	case t.base[w] != nil:
	case w == terminating && away == 0: // nothing else differs between the worlds
		t.base[w] = s.baseIn(gone).unspread()
	default:
		t.base[w] = s.filters.preFilter(t, w)
	}
	return t.base[w]
}

// fitsWithoutUnbound refuses a node that accepts the replacement only because
// of pods that are not bound yet: kube-scheduler runs the filters without them
// as well, because they may land elsewhere.
func (s *Session) fitsWithoutUnbound(w world, n *nodeEntry) Result {
	f, p, t, info := s.filters, s.last.pod, s.last.template.like, s.infoIn(w, n)
	var hidden []*podEntry
	hide := func(unbound *podEntry) {
		if _, counts := t.groups[unbound.group]; counts {
			unbound.hidden, hidden = true, append(hidden, unbound)
		}
	}
	for unbound := range f.snapshot.nominated {
		hide(unbound)
	}
	for _, unbound := range s.expected {
		hide(unbound)
	}
	if len(hidden) == 0 {
		return Result{OK: true}
	}
	p.hidden = w == gone || isStateful(p.pod)
	state := f.preFilter(t, w)
	for _, unbound := range append(hidden, p) {
		unbound.hidden = false
	}
	return f.filter(state, t.replacement, info)
}
