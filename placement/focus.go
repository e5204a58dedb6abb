package placement

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// focusDomains returns the nodes in focus plus one node of each domain, or all
// nodes if the template's domains do not determine which nodes count.
func (s *snapshot) focusDomains(t *template) []fwk.NodeInfo {
	if len(t.domains) == 0 {
		return s.views
	}
	for _, n := range s.domainsBy(t.domains) {
		if n.view.pods.epoch != s.lens.epoch { // otherwise it is already in focus
			s.lens.buffer = append(s.lens.buffer, n.view)
		}
	}
	return s.lens.buffer
}

// domainsBy returns one node of each domain. Results are cached until the next Sync.
func (s *snapshot) domainsBy(keys []string) []*nodeEntry {
	name := strings.Join(keys, "\x00")
	if found, ok := s.domains[name]; ok {
		return found
	}
	found, known := []*nodeEntry(nil), map[string]struct{}{}
	for _, n := range s.nodes {
		domain, ok := domainOf(n.node.Labels, keys)
		if _, again := known[domain]; again || !ok {
			continue
		}
		known[domain] = struct{}{}
		found = append(found, n)
	}
	if len(s.domains) < maxDomains {
		s.domains[name] = found
	}
	return found
}

// maxDomains is the maximum number of cached key lists.
const maxDomains = 64

// domainOf joins the values of the keys; ok reports whether the node has all of them.
func domainOf(labels map[string]string, keys []string) (domain string, ok bool) {
	if len(keys) == 1 {
		domain, ok = labels[keys[0]]
		return domain, ok
	}
	var values strings.Builder
	for _, key := range keys {
		value, ok := labels[key]
		if !ok {
			return "", false
		}
		values.WriteString(value)
		values.WriteByte(0) // label values cannot contain it
	}
	return values.String(), true
}

// focus brings the pods that count for the template in a world into view. Spread
// constraints are judged only in the world gone.
func (s *snapshot) focus(t *template, w world) {
	l := s.lens
	l.blur()
	l.buffer = l.buffer[:0]
	if w == gone {
		for _, g := range t.spread {
			s.focusPods(g, w)
		}
	}
	for _, g := range t.affinity {
		s.focusPods(g, w)
	}
	for _, g := range t.anti {
		for _, p := range g.members {
			if p.visible(w) && p.node.view.anti.add(l.epoch, p) {
				l.antiNodes = append(l.antiNodes, p.node.view)
			}
		}
	}
	if l.nodes = l.buffer; t.spreads && w == gone {
		l.nodes = s.focusDomains(t)
	}
	l.claims, l.world = s.claims, w
}

func (s *snapshot) focusPods(g *group, w world) {
	if g.podsEpoch == s.lens.epoch {
		return // two selectors match the group
	}
	g.podsEpoch = s.lens.epoch
	for _, p := range g.members {
		if p.visible(w) && p.node.view.pods.add(s.lens.epoch, p) {
			s.lens.buffer = append(s.lens.buffer, p.node.view)
		}
	}
}
