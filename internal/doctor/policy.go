package doctor

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/usage/source"
)

// examinePolicy finds what a policy that is valid may still not have meant.
func examinePolicy(p *Patient, n *notes) {
	name := cmp.Or(p.PolicyFile, "the built-in defaults")
	var types []string
	for i := range p.Sources {
		types = append(types, p.sourceName(i))
	}
	n.ok(name, "It is valid: usage from %s; lines for %s; %s.",
		strings.Join(types, ", then "), reasons.Count(len(p.judged()), "metric"), reasons.Count(len(p.Load.NodePools), "node pool"))
	if p.Mode.evicts() && !p.MovesByUsage {
		n.warning(name, "No profile enables RealUsageLowNodeUtilization, so nothing is moved by real usage.").
			fix("Enable it in a profile of the DeschedulerPolicy document:\nplugins:\n  balance:\n    enabled: [RealUsageLowNodeUtilization]")
	}
	for i := range p.Sources {
		exposed(n, p.Sources[i].Config.Describe())
	}
	p.emptyPools(n)
}

// exposed finds credentials that are sent in the clear and servers that are not
// checked.
func exposed(n *notes, d source.Description) {
	if d.TLS.InsecureSkipVerify {
		n.warning(d.Name, "Its certificate is not checked (insecureSkipVerify): anybody between could make up usage, and is sent the token.").
			fix(source.Snippet(d.Name, "tls: {caFile: /path/to/ca.crt}"))
	}
	if d.Server != nil && d.Server.Login && strings.HasPrefix(d.Server.Address, "http://") {
		n.warning(d.Name, "Its token or password is sent over plain http.").fix(source.Snippet(d.Name, "address: https://..."))
	}
}

// emptyPools finds node pools that no node is in.
func (p *Patient) emptyPools(n *notes) {
	if p.Readings == nil || len(p.Load.NodePools) == 0 {
		return
	}
	nodes := make([]int, len(p.Load.NodePools))
	for _, node := range p.Readings.Snapshot.Nodes {
		if at := p.poolOf(node.Node.Labels); at >= 0 {
			nodes[at]++
		}
	}
	for i := range p.Load.NodePools {
		if pool := &p.Load.NodePools[i]; nodes[i] == 0 {
			n.warning(fmt.Sprintf("nodePools[%d] %q", i, pool.Name), "No node is in it: its selector matches none, or pools before it take them all.").
				fix(fmt.Sprintf("kubectl get nodes -l %q", metav1.FormatLabelSelector(&pool.Selector)))
		}
	}
}

// poolOf returns the first pool that matches, or -1.
func (p *Patient) poolOf(nodeLabels map[string]string) int {
	for i := range p.Load.NodePools {
		selector, err := metav1.LabelSelectorAsSelector(&p.Load.NodePools[i].Selector)
		if err == nil && selector.Matches(labels.Set(nodeLabels)) {
			return i
		}
	}
	return -1
}
