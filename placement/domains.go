package placement

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// domains holds, for a list of topology keys, one node of each combination of
// their values. PodTopologySpread counts pods by domain and reads nodes without
// a matching pod only to learn which domains there are: one node of each tells
// it that as well as thousands.
type domains map[string][]*nodeEntry

// domainsOf returns the topology keys of the constraints that filter, or nil
// where a node counts or not by more than its having these labels.
func domainsOf(spec *v1.PodSpec) []string {
	if len(spec.NodeSelector) > 0 || spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		return nil
	}
	var keys []string
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy != v1.NodeInclusionPolicyIgnore {
			return nil
		}
		keys = append(keys, c.TopologyKey)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// focusDomains adds to the nodes in focus one of each domain, and returns all
// nodes where the template's domains do not tell which of them count.
func (s *snapshot) focusDomains(t *template) []fwk.NodeInfo {
	if len(t.domains) == 0 {
		return s.views
	}
	for _, n := range s.domainsBy(t.domains) {
		if n.view.podsEpoch != s.lens.epoch { // else it is in focus already
			s.lens.buffer = append(s.lens.buffer, n.view)
		}
	}
	return s.lens.buffer
}

// domainsBy returns a node of each domain, found once until the next Sync.
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
		if s.domains == nil {
			s.domains = domains{}
		}
		s.domains[name] = found
	}
	return found
}

// maxDomains bounds the lists of keys whose domains are remembered.
const maxDomains = 64

// domainOf joins the values of the keys; ok says that the node has them all.
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
		values.WriteByte(0) // no label's value holds it
	}
	return values.String(), true
}
