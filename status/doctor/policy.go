package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// examinePolicy finds likely mistakes in a valid policy.
func examinePolicy(p *Installation, n *notes) {
	name := cmp.Or(p.PolicyFile, "the built-in defaults")
	var types []string
	for i := range p.Sources {
		types = append(types, p.sourceName(i))
	}
	n.ok(name, "It is valid: usage from %s; lines for %s; %s.",
		strings.Join(types, ", then "), reasons.Count(len(p.judged()), "metric"), reasons.Count(len(p.Load.NodePools), "node pool"))
	switch {
	case !p.Mode.Evicts():
	case p.PolicyFile == "":
		n.warning(name, "They are examined because no policy was given. %s needs one and does not start without it.", p.Mode).
			fix("evenkeel doctor --policy-config-file policy.yaml")
	case !p.MovesByUsage:
		n.warning(name, "No profile enables %s, so Evenkeel moves nothing by real usage.", policy.DefaultStrategy).
			fix("Enable it in a profile of the DeschedulerPolicy document:\nprofiles:\n  - name: evenkeel\n    pluginConfig:\n" +
				"      - {name: DefaultEvictor, args: {minReplicas: 2}}\n      - {name: " + policy.DefaultStrategy + ", args: {}}\n" +
				"    plugins:\n      balance:\n        enabled: [" + policy.DefaultStrategy + "]")
	}
	for i := range p.Sources {
		exposed(n, p.Sources[i].Config.Describe())
	}
	p.emptyPools(n)
	if len(p.InvalidAnnotations) > 0 {
		n.warning(safeguards.EvictAnnotation, "Its value is neither true nor false on %s: %s. No pod there is moved.",
			reasons.Count(len(p.InvalidAnnotations), "Namespace"), list(p.InvalidAnnotations)).
			fix("kubectl annotate --overwrite namespace NAME " + safeguards.EvictAnnotation + "=false, or =true\n" +
				"evenkeel explain pod NAMESPACE/NAME names such an annotation on a pod or its owner.")
	}
	if kinds := p.Unwatched; len(kinds) > 0 {
		named := slices.Concat(p.Load.Eviction.RecreatingControllers, kinds)
		n.warning("recreatingControllers", "ReplicationControllers belong to %s, which the policy does not name, so annotations there, such as %s, are not read.",
			list(kinds), safeguards.EvictAnnotation).
			fix("Name it in the policy. doctor then prints the rule that Evenkeel needs to list it.\neviction:\n  recreatingControllers: [" +
				strings.Join(named, ", ") + "]\nOr annotate the ReplicationController or the pod template instead.")
	}
}

// exposed finds credentials that are sent unencrypted, and servers whose certificates are
// not verified.
func exposed(n *notes, d source.Description) {
	if d.TLS.InsecureSkipVerify {
		n.warning(d.Name, "Its certificate is not checked (insecureSkipVerify): anyone on the network path could fake usage and would receive the token.").
			fix(source.Snippet(d.Name, https(&d)+"tls: {caFile: /path/to/ca.crt}"))
	}
	if d.Server != nil && d.Server.Login && strings.HasPrefix(d.Server.Address, "http://") {
		n.warning(d.Name, "Its token or password is sent over plain http.").fix(source.Snippet(d.Name, "address: https"+strings.TrimPrefix(d.Server.Address, "http")))
	}
}

// emptyPools finds node pools without nodes. A node belongs to the first pool that matches
// it.
func (p *Installation) emptyPools(n *notes) {
	if p.Readings == nil {
		return
	}
	nodes := p.Readings.Snapshot.Nodes
	for i := range p.Load.NodePools {
		pool := &p.Load.NodePools[i]
		selector, err := metav1.LabelSelectorAsSelector(&pool.Selector)
		others := slices.DeleteFunc(slices.Clone(nodes), func(node *cluster.NodePods) bool {
			return err == nil && selector.Matches(labels.Set(node.Node.Labels))
		})
		if len(others) == len(nodes) {
			n.warning(fmt.Sprintf("nodePools[%d] %q", i, pool.Name), "It has no nodes: its selector matches none, or earlier pools match them all.").
				fix(fmt.Sprintf("kubectl get nodes -l %q", metav1.FormatLabelSelector(&pool.Selector)))
		}
		nodes = others
	}
}
