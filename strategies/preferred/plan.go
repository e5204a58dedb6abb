package preferred

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// planner makes one plan.
type planner struct {
	args  *Args
	round *plugin.Round
	// ratings holds the preferences of pods by kin; nil for pods without any.
	ratings map[kin]*nodeaffinity.PreferredSchedulingTerms
}

// kin identifies pods of one template, which have the same preferences.
type kin struct{ namespace, owner, template string }

func kinOf(pod *cluster.Pod) kin {
	return kin{pod.Namespace, pod.Owner.UID, cmp.Or(pod.TemplateHash, pod.UID)}
}

// candidate is a pod that prefers other nodes to its own.
type candidate struct {
	pod strategies.Pod
	// to holds the nodes that it prefers, best first. gains is the weight gained by
	// moving to the best one.
	to    []*plugin.Node
	gains int64
}

// Plan implements plugin.Strategy.
func (a *Args) Plan(ctx context.Context, round *plugin.Round) (plugin.Result, error) {
	p := &planner{args: a, round: round, ratings: map[kin]*nodeaffinity.PreferredSchedulingTerms{}}
	var all []candidate
	for _, from := range round.Nodes {
		of, err := p.candidates(ctx, from)
		if err != nil {
			return plugin.Result{}, err
		}
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(-cmp.Compare(a.gains, b.gains), cmp.Compare(a.pod.Disruption.Cost(), b.pod.Disruption.Cost()), strings.Compare(a.pod.Key(), b.pod.Key()))
	})
	for i := range all {
		if err := round.Move(ctx, &all[i].pod, reasons.PreferredNode, all[i].to, p.why(all[i].pod.Pod)); err != nil {
			return plugin.Result{}, err
		}
	}
	return plugin.Result{Basis: p, Unwanted: p.unwanted}, nil
}

// candidates returns the pods of a node that prefer other nodes and may be moved. It
// declines those that must not be moved.
func (p *planner) candidates(ctx context.Context, from *plugin.Node) (all []candidate, err error) {
	open := p.round.Destinations(from)
	if from.State == thresholds.Unknown || len(open) == 0 {
		return nil, nil
	}
	found := map[kin]candidate{}
	pods, _, err := p.round.Pods(ctx, from, func(record *cluster.Pod, object *v1.Pod) bool {
		like := kinOf(record)
		c, asked := found[like]
		if !asked {
			c.to, c.gains = p.better(p.prefers(object, like), from, open)
			found[like] = c
		}
		return len(c.to) > 0
	})
	for i := range pods {
		if pods[i].Refused != "" {
			p.round.Decline(&pods[i], pods[i].Refused, "")
			continue
		}
		c := found[kinOf(pods[i].Pod)]
		c.pod = pods[i]
		all = append(all, c)
	}
	return all, err //nolint:wrapcheck // it names the node
}

// prefers returns a pod's preferred node affinity; nil if it has none.
func (p *planner) prefers(object *v1.Pod, like kin) *nodeaffinity.PreferredSchedulingTerms {
	rating, known := p.ratings[like]
	if known {
		return rating
	}
	if affinity := object.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		terms := affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		if parsed, err := nodeaffinity.NewPreferredSchedulingTerms(terms); err == nil && len(terms) > 0 { // kube-scheduler rejects pods with invalid terms
			rating = parsed
		}
	}
	p.ratings[like] = rating
	return rating
}

// better returns those of the given nodes, best first, whose weight for the pod exceeds
// that of its own node by enough, and the weight gained on the best one.
func (p *planner) better(rating *nodeaffinity.PreferredSchedulingTerms, from *plugin.Node, open []*plugin.Node) (to []*plugin.Node, most int64) {
	if rating == nil {
		return nil, 0
	}
	own, gains := rating.Score(from.Object), map[*plugin.Node]int64{}
	for _, n := range open {
		if gain := rating.Score(n.Object) - own; gain >= p.args.MinWeightGained {
			gains[n], to, most = gain, append(to, n), max(most, gain)
		}
	}
	slices.SortStableFunc(to, func(a, b *plugin.Node) int { return -cmp.Compare(gains[a], gains[b]) })
	return to, most
}

// why returns a function that explains why a pod goes to a node.
func (p *planner) why(pod *cluster.Pod) func(to *plugin.Node) string {
	rating, from := p.ratings[kinOf(pod)], p.round.Node(pod.Node)
	return func(to *plugin.Node) string {
		return fmt.Sprintf("Node %s matches preferred node affinity of weight %d, node %s of weight %d.",
			to.Name(), rating.Score(to.Object), from.Name(), rating.Score(from.Object))
	}
}

// unwanted rejects nodes whose weight for the pod in question is not higher by enough.
func (p *planner) unwanted(to *plugin.Node) reasons.Reason {
	asked := p.round.Asked.Pod
	from := p.round.Node(asked.Node)
	if from == nil {
		return reasons.NotPreferred
	}
	if better, _ := p.better(p.prefers(p.round.AskedObject(), kinOf(asked)), from, []*plugin.Node{to}); len(better) == 0 {
		return reasons.NotPreferred
	}
	return ""
}

// Node implements strategies.Basis.
func (p *planner) Node(name string) *strategies.NodeBasis { return p.round.Basis(name) }

// Stays implements strategies.Basis. A pod stays unless it prefers another node that
// takes pods over its own.
func (p *planner) Stays(pod *cluster.Pod) (reasons.Reason, string) {
	from := p.round.Node(pod.Node)
	if from == nil {
		return "", ""
	}
	rating := p.ratings[kinOf(pod)]
	if rating == nil {
		return reasons.NotPreferred, "it has no preferred node affinity"
	}
	if better, _ := p.better(rating, from, p.round.Destinations(from)); len(better) > 0 {
		return "", ""
	}
	return reasons.NotPreferred, fmt.Sprintf("no cool node that takes pods is preferred to its node %s", pod.Node)
}
