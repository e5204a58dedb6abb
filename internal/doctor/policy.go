package doctor

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/source"
)

// examinePolicy finds what a policy that is valid may still not have meant.
func examinePolicy(p *Patient) []Finding {
	name := p.PolicyFile
	if name == "" {
		name = "the built-in defaults"
	}
	var types []string
	for i := range p.Sources {
		types = append(types, p.sourceName(i))
	}
	findings := []Finding{fine(CheckPolicy, name, "It is valid: usage from %s; lines for %s; %s.",
		strings.Join(types, ", then "), count(len(p.judged()), "metric"), count(len(p.Load.NodePools), "node pool"))}
	if p.Mode.evicts() && !p.MovesByUsage {
		findings = append(findings, Finding{
			Check: CheckPolicy, Level: Warning, Subject: name,
			Says: "No profile enables RealUsageLowNodeUtilization, so nothing is moved by real usage.",
			Mend: "Enable it in a profile of the DeschedulerPolicy document:\nplugins:\n  balance:\n    enabled: [RealUsageLowNodeUtilization]",
		})
	}
	for i := range p.Sources {
		findings = append(findings, exposed(p.Sources[i].Config.Describe())...)
	}
	return append(findings, p.emptyPools()...)
}

// exposed finds credentials that are sent in the clear and servers that are not
// checked.
func exposed(d source.Description) []Finding {
	var findings []Finding
	if d.TLS.InsecureSkipVerify {
		findings = append(findings, Finding{
			Check: CheckPolicy, Level: Warning, Subject: d.Name,
			Says: "Its certificate is not checked (insecureSkipVerify): anybody between could make up usage, and is sent the token.",
			Mend: source.Snippet(d.Name, "tls: {caFile: /path/to/ca.crt}"),
		})
	}
	if d.Server != nil && d.Server.Login && strings.HasPrefix(d.Server.Address, "http://") {
		findings = append(findings, Finding{
			Check: CheckPolicy, Level: Warning, Subject: d.Name,
			Says: "Its token or password is sent over plain http.", Mend: source.Snippet(d.Name, "address: https://..."),
		})
	}
	return findings
}

// emptyPools finds node pools that no node is in.
func (p *Patient) emptyPools() []Finding {
	if p.Readings == nil || len(p.Load.NodePools) == 0 {
		return nil
	}
	nodes := make([]int, len(p.Load.NodePools))
	for _, node := range p.Readings.Snapshot.Nodes {
		if at := p.poolOf(node.Node.Labels); at >= 0 {
			nodes[at]++
		}
	}
	var findings []Finding
	for i := range p.Load.NodePools {
		if nodes[i] > 0 {
			continue
		}
		findings = append(findings, Finding{
			Check: CheckPolicy, Level: Warning, Subject: fmt.Sprintf("nodePools[%d] %q", i, p.Load.NodePools[i].Name),
			Says: "No node is in it: its selector matches none, or pools before it take them all.",
			Mend: fmt.Sprintf("kubectl get nodes -l %q", selectorOf(&p.Load.NodePools[i])),
		})
	}
	return findings
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

func selectorOf(pool *policy.NodePool) string { return metav1.FormatLabelSelector(&pool.Selector) }
