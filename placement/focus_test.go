package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// One node represents the others of its domain only if they count alike. In zone-0, which has no
// matching pod, one node in eight differs from the others. Whatever the difference, results equal
// those of plugins that read every node.
func TestResultsWhereNodesOfOneDomainDiffer(t *testing.T) {
	first := func(i int) bool { return i == 0 }
	others := func(i int) bool { return i > 0 }
	tainted := func(n *v1.Node) { nodeTaint("dedicated", v1.TaintEffectNoSchedule)(n) }
	cases := map[string]struct {
		node func(i int, n *v1.Node) // changes a node of zone-0
		pod  func(p *v1.Pod)
	}{
		"none does": {func(int, *v1.Node) {}, func(*v1.Pod) {}},
		"taints count and one is free of them": {when(others, tainted), func(p *v1.Pod) {
			honor := v1.NodeInclusionPolicyHonor
			p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &honor
		}},
		"taints do not count":     {when(others, tainted), func(*v1.Pod) {}},
		"a selector leaves one":   {when(first, nodeLabel("disk", "ssd")), nodeSelector("disk", "ssd")},
		"an affinity leaves one":  {func(int, *v1.Node) {}, onNodesNamed("node-0", "node-8", "node-9")},
		"one has the second key":  {when(first, nodeLabel("rack", "r")), spread("rack", 5, selecting("app", "web"))},
		"none has the second key": {func(int, *v1.Node) {}, spread("rack", 5, selecting("app", "web"))},
		"the key is empty on one and on no other": {func(i int, n *v1.Node) {
			delete(n.Labels, zoneKey)
			if i == 0 {
				n.Labels[zoneKey] = ""
			}
		}, func(*v1.Pod) {}},
		"the second key is empty": {when(first, nodeLabel("rack", "")), spread("rack", 5, selecting("app", "web"))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := newOracle(t)
			for i := range 8 {
				n := aNode(numbered("node", i), nodeLabel(zoneKey, "zone-0"))
				tc.node(i, n)
				o.nodes = append(o.nodes, n)
			}
			for i := 8; i < 12; i++ {
				o.nodes = append(o.nodes, aNode(numbered("node", i), nodeLabel(zoneKey, numbered("zone", 1+i%2)), nodeLabel("disk", "ssd"), nodeLabel("rack", "s")))
				o.pods = append(o.pods,
					aPod(numbered("web", 2*i), numbered("node", i), podLabel("app", "web"), spread(zoneKey, 1, selecting("app", "web")), tc.pod),
					aPod(numbered("web", 2*i+1), numbered("node", i), podLabel("app", "web")))
			}
			f := newFilters(t, o.cfg)
			syncAll(t, f, o.nodes, o.pods)
			s := f.Begin()
			defer s.Close()
			for _, pod := range o.pods {
				for _, node := range o.nodes {
					if diff := cmp.Diff(o.fits(pod, node.Name), s.Fits(pod, node.Name)); diff != "" {
						t.Errorf("%s on %s (-every node +one of each domain):\n%s", pod.Name, node.Name, diff)
					}
				}
			}
		})
	}
}

func when(is func(int) bool, change func(*v1.Node)) func(int, *v1.Node) {
	return func(i int, n *v1.Node) {
		if is(i) {
			change(n)
		}
	}
}

// The representatives of domains are recomputed when nodes come and go.
func TestDomainsFollowTheNodes(t *testing.T) {
	f := offline(t)
	one, other := aNode("node-0", nodeLabel(zoneKey, "zone-0")), aNode("node-1", nodeLabel(zoneKey, "zone-1"))
	web := spread(zoneKey, 1, selecting("app", "web"))
	pods := []*v1.Pod{aPod("a", "node-0", podLabel("app", "web"), web), aPod("b", "node-0", podLabel("app", "web"), web)}
	for _, step := range []struct {
		nodes []*v1.Node
		want  bool // without another zone, nothing is uneven
	}{{[]*v1.Node{one}, true}, {[]*v1.Node{one, other}, false}, {[]*v1.Node{one}, true}} {
		syncAll(t, f, step.nodes, pods)
		s := f.Begin()
		if got := s.Fits(pods[0], "node-0"); got.OK != step.want {
			t.Errorf("with %d nodes: %+v, want %v", len(step.nodes), got, step.want)
		}
		s.Close()
	}
}
