package hosted

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// planner makes one plan.
type planner struct {
	plugin  *Plugin
	round   *plugin.Round
	session plugin.Placement
	// nodes holds the nodes' names, and at their positions in it. filled holds the share of
	// each node's resources that pods request. ranked lists the nodes' positions in the
	// order in which they are tried as destinations.
	nodes  []string
	at     map[string]int
	filled []float64
	ranked []int
	// arriving is the usage that planned moves bring to nodes.
	arriving map[string]cluster.Amounts
	// coming holds the owners of expected replacements.
	coming map[party]bool
	// siblings counts the pods of the owners of the pods that the plugin asks for, by owner
	// and node, with the planned moves applied.
	siblings map[party]map[int]int
	wishes   []*wish // in the order in which they were placed
	failed   error   // the error that occurred while the plugin ran
}

// party identifies pods that are counted together.
type party struct{ namespace, owner string }

// wish is a pod that the plugin asks to evict.
type wish struct {
	ask

	pod      strategies.Pod
	of       party
	to       string // empty if it is not moved
	declined reasons.Reason
	detail   string
}

func (w *wish) decline(why reasons.Reason, detail string) {
	w.to, w.declined, w.detail = "", why, detail
}

// stays explains why a pod is not moved, and where its replacement would go.
func (w *wish) stays() string {
	words := w.declined.Sentence()
	switch {
	case w.declined == reasons.NoBetterPlace && w.detail != "":
		return w.detail
	case w.declined == reasons.WouldComeBack:
		words = "kube-scheduler would put its replacement on " + w.pod.Node + " again"
	}
	if w.detail != "" {
		words += " (" + w.detail + ")"
	}
	return words
}

func newPlanner(p *Plugin, round *plugin.Round) *planner {
	plan := &planner{
		plugin: p, round: round, arriving: map[string]cluster.Amounts{}, siblings: map[party]map[int]int{}, coming: map[party]bool{},
		at: make(map[string]int, len(round.Ready)),
	}
	for i, node := range round.Ready {
		plan.nodes, plan.at[node.Name] = append(plan.nodes, node.Name), i
	}
	return plan
}

// Plan implements plugin.Planner.
func (p *Plugin) Plan(ctx context.Context, round *plugin.Round) (plugin.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := newPlanner(p, round)
	for _, arrival := range round.Observed.Coming {
		plan.coming[party{arrival.Namespace, arrival.OwnerUID}] = true
	}
	first := world{gone: map[types.UID]bool{}, stays: map[types.UID]bool{}}
	if !p.rule.byOwner {
		first.want = plan.want
	}
	asked, err := p.ask(ctx, first, round.Ready)
	if err != nil || len(asked) == 0 {
		return plugin.Result{Basis: basis{p.name, round, nil}}, err
	}
	if p.rule.byOwner {
		sortAsked(asked)
		plan.failed = plan.placeAll(ctx, asked)
	}
	if plan.failed != nil {
		return plugin.Result{}, plan.failed
	}
	if err := plan.judge(ctx); err != nil {
		return plugin.Result{}, err
	}
	plan.limit()
	return plugin.Result{Plan: plan.made(), Basis: basis{p.name, round, plan.wishes}}, nil
}

// sortAsked puts the least important pods first. Plugins that compare the pods of owners
// ask in random order, but the same cluster must lead to the same plan.
func sortAsked(asked []ask) {
	slices.SortFunc(asked, func(a, b ask) int {
		return cmp.Or(
			cmp.Compare(corev1helpers.PodPriority(a.pod), corev1helpers.PodPriority(b.pod)),
			cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name),
		)
	})
}

// placeAll looks for a destination for each pod that the plugin asks for.
func (p *planner) placeAll(ctx context.Context, asked []ask) error {
	if err := p.open(ctx, asked); err != nil {
		return err
	}
	for _, a := range asked {
		if _, err := p.place(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// want looks for a destination for a pod while the plugin runs. A plugin that compares
// nodes asks for other pods of a node if its first choices are refused.
func (p *planner) want(ctx context.Context, a ask) (goes bool) {
	if p.failed == nil && p.ranked == nil {
		p.failed = p.open(ctx, nil)
	}
	if p.failed != nil {
		return true
	}
	w, err := p.place(ctx, a)
	p.failed = err
	return err != nil || w.to != ""
}

func (p *planner) open(ctx context.Context, asked []ask) (err error) {
	if p.session, err = p.round.Placement(ctx); err != nil {
		return err
	}
	if err := p.count(asked); err != nil {
		return err
	}
	p.rank()
	return nil
}

// place looks for a destination for a pod, with the moves of earlier pods applied.
func (p *planner) place(ctx context.Context, a ask) (*wish, error) {
	w := &wish{ask: a, pod: p.round.Take(ctx, a.pod), of: ownerOf(a.pod)}
	p.wishes = append(p.wishes, w)
	if why := p.refuse(w); why != "" {
		w.decline(why, "")
		return w, nil
	}
	return w, p.settle(w)
}

// settle finds the destination of a pod, if there is one, and counts its replacement
// there.
func (p *planner) settle(w *wish) error {
	if p.find(w); w.to == "" {
		return nil
	}
	if _, err := p.session.Move(w.pod.Pod, w.to); err != nil {
		return err
	}
	if siblings := p.siblings[w.of]; siblings != nil {
		siblings[p.position(w.pod.Node)]--
		siblings[p.position(w.to)]++
	}
	p.rerank(w.pod.Node)
	p.rerank(w.to)
	p.arriving[w.to] = p.arriving[w.to].Plus(w.pod.Usage)
	return nil
}

// count counts the siblings of the pods that the plugin asks for, or of all pods if it
// has not asked yet.
func (p *planner) count(asked []ask) error {
	for _, a := range asked {
		p.siblings[ownerOf(a.pod)] = map[int]int{}
	}
	for n, node := range p.nodes {
		pods, err := p.plugin.assigned(node, nil)
		if err != nil {
			return fmt.Errorf("listing the pods of node %q: %w", node, err)
		}
		for _, pod := range pods {
			of := ownerOf(pod)
			if asked == nil && p.siblings[of] == nil {
				p.siblings[of] = map[int]int{}
			}
			if counted := p.siblings[of]; counted != nil && pod.DeletionTimestamp == nil {
				counted[n]++
			}
		}
	}
	return nil
}

// refuse returns why a pod must not be moved to any node.
func (p *planner) refuse(w *wish) reasons.Reason {
	observed := &p.round.Observed
	switch {
	case w.pod.Refused != "":
		return w.pod.Refused
	case observed.JustMoved[w.pod.UID]:
		return reasons.JustMoved
	case p.coming[w.of]:
		return reasons.OwnerReplacementPending
	}
	return ""
}

// limit drops the moves that are too many, from the end. It runs after judging, because a
// move that does not help must not take the place of one that does.
func (p *planner) limit() {
	most := p.round.MaxMoves()
	if most == 0 {
		return
	}
	for i, w := range p.moves() {
		if i >= most {
			w.decline(reasons.MoveLimit, "")
		}
	}
}

// made turns the wishes into the plan.
func (p *planner) made() (plan strategies.Plan) {
	for _, w := range p.wishes {
		if w.to == "" {
			plan.Declined = append(plan.Declined, strategies.Declined{
				Pod: w.pod, Node: w.pod.Node, Reason: w.declined, Plugin: p.plugin.name, Detail: p.plugin.name + " asks for its eviction, but " + w.stays(),
			})
			continue
		}
		m := strategies.Move{
			Pod: w.pod, From: w.pod.Node, To: w.to, Reason: reasons.AskedByPlugin, Plugin: p.plugin.name, Why: p.plugin.name + " asks for its eviction.",
		}
		if w.why != "" {
			m.Why = fmt.Sprintf("%s asks for its eviction: %s.", p.plugin.name, w.why)
		}
		plan.Moves = append(plan.Moves, m)
	}
	return plan
}

// basis describes the state that the plugin planned on.
type basis struct {
	name   string
	round  *plugin.Round
	wishes []*wish
}

// Node implements strategies.Basis.
func (b basis) Node(name string) *strategies.NodeBasis { return b.round.Basis(name) }

// Stays implements strategies.Basis. A pod stays if the plugin does not ask for it.
func (b basis) Stays(pod *cluster.Pod) (reasons.Reason, string) {
	if slices.ContainsFunc(b.wishes, func(w *wish) bool { return w.pod.UID == pod.UID }) {
		return "", ""
	}
	return reasons.NotAsked, b.name + " does not ask for it"
}

func ownerOf(pod *v1.Pod) party {
	of := party{namespace: pod.Namespace}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		of.owner = string(ref.UID)
	}
	return of
}
