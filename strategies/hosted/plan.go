package hosted

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// planner makes one plan.
type planner struct {
	plugin  *Plugin
	round   *plugin.Round
	session plugin.Placement
	nodes   []string
	ranked  []ranked // in the order in which their fill makes them destinations
	// arriving is the usage that planned moves bring to nodes.
	arriving map[string]cluster.Amounts
	// coming holds the owners of expected replacements.
	coming map[party]bool
	// siblings counts, by owner and node, the pods of the owners whose pods the plugin
	// asks for, as if the planned moves had been made.
	siblings map[party]map[string]int
	wishes   []*wish // in the order in which they were placed
	placed   int     // how many of them found a destination
	failed   error   // why planning failed while the plugin ran
}

// party identifies the pods that are counted together.
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

// Plan implements plugin.Planner.
func (p *Plugin) Plan(ctx context.Context, round *plugin.Round) (plugin.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := &planner{
		plugin: p, round: round, arriving: map[string]cluster.Amounts{}, siblings: map[party]map[string]int{}, coming: map[party]bool{},
	}
	for _, node := range round.Ready {
		plan.nodes = append(plan.nodes, node.Name)
	}
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
// nodes asks for other pods of a node if it cannot have the first ones. But it does not
// if only the number of moves is limited.
func (p *planner) want(ctx context.Context, a ask) (goes bool) {
	if p.failed == nil && p.ranked == nil {
		p.failed = p.open(ctx, nil)
	}
	if p.failed != nil {
		return true
	}
	w, err := p.place(ctx, a)
	p.failed = err
	return err != nil || w.goes()
}

// goes reports whether a pod is moved, or is only not moved yet.
func (w *wish) goes() bool { return w.to != "" || w.declined == reasons.MoveLimit }

// open prepares for placing pods.
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

// place looks for a destination for a pod, as if the moves of the pods before it had been
// made.
func (p *planner) place(ctx context.Context, a ask) (*wish, error) {
	w := &wish{ask: a, pod: p.round.Take(ctx, a.pod), of: ownerOf(a.pod)}
	p.wishes = append(p.wishes, w)
	if why := p.refuse(w); why != "" {
		w.decline(why, "")
		return w, nil
	}
	if p.find(w); w.to == "" {
		return w, nil
	}
	if _, err := p.session.Move(w.pod.Pod, w.to); err != nil {
		return w, err
	}
	p.placed++
	if siblings := p.siblings[w.of]; siblings != nil {
		siblings[w.pod.Node]--
		siblings[w.to]++
	}
	p.rerank(w.pod.Node)
	p.rerank(w.to)
	p.arriving[w.to] = p.arriving[w.to].Plus(w.pod.Usage)
	return w, nil
}

// count counts the siblings of the pods that the plugin asks for, or those of all pods if
// that is not known yet.
func (p *planner) count(asked []ask) error {
	for _, a := range asked {
		p.siblings[ownerOf(a.pod)] = map[string]int{}
	}
	for _, node := range p.nodes {
		pods, err := p.plugin.assigned(node, nil)
		if err != nil {
			return fmt.Errorf("listing the pods of node %q: %w", node, err)
		}
		for _, pod := range pods {
			of := ownerOf(pod)
			if asked == nil && p.siblings[of] == nil {
				p.siblings[of] = map[string]int{}
			}
			if counted := p.siblings[of]; counted != nil && pod.DeletionTimestamp == nil {
				counted[node]++
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
	case p.round.Options.MaxMoves > 0 && p.placed >= p.round.Options.MaxMoves:
		return reasons.MoveLimit
	}
	return ""
}

// find finds the node on which kube-scheduler's filters and scores would place the
// replacement of a pod. If several nodes have the highest score, steering decides, so the
// first one in order is taken.
func (p *planner) find(w *wish) {
	own, why := w.pod.Node, ""
	refuse := func(name, by string) {
		if name != own {
			why = cmp.Or(why, name+": "+by)
		}
	}
	to := ""
	names, scores := p.score(w)
	if scores == nil {
		for name := range p.order(w) {
			if ok, by := p.session.Fits(w.pod.Pod, name); !ok {
				refuse(name, by)
				continue
			}
			if name != own && !p.takes(name, w.pod.Usage) {
				refuse(name, aboveRejectLine)
				continue
			}
			to = name
			break
		}
	}
	best := int64(placement.Refused)
	for i, score := range scores {
		name := names[i]
		switch {
		case score < 0:
			if why == "" && name != own {
				_, by := p.session.Fits(w.pod.Pod, name)
				refuse(name, by)
			}
		case score <= best:
		case name != own && !p.takes(name, w.pod.Usage):
			refuse(name, aboveRejectLine)
		default:
			best, to = score, name
		}
	}
	switch to {
	case "":
		w.decline(reasons.NoLanding, why)
	case own:
		w.decline(reasons.WouldComeBack, why)
	default:
		w.to = to
	}
}

const aboveRejectLine = "it would come above its reject line"

// score scores nodes for the replacement of a pod; scores are nil if kube-scheduler has
// no preference among them. Of many nodes it scores as many as kube-scheduler does, the
// first in order, those that it prefers most, and its own, unless too few of them accept the pod.
func (p *planner) score(w *wish) (names []string, scores []int64) {
	left, preferred, more := sampled(len(p.nodes)), p.preferred(w), fewestSampled
	for name := range p.order(w) {
		if left--; left < 0 {
			if len(preferred) == 0 || more == 0 {
				break
			}
			if !preferred[name] {
				continue
			}
			more--
		}
		names = append(names, name)
	}
	if own := w.pod.Node; !slices.Contains(names, own) && p.rankOf(own) >= 0 {
		names = append(names, own)
	}
	scores = p.session.Scores(w.pod.Pod, names)
	if scores == nil || len(names) == len(p.nodes) {
		return names, scores
	}
	accept := 0
	for _, score := range scores {
		if score >= 0 {
			accept++
		}
	}
	if accept >= fewestSampled {
		return names, scores
	}
	names = slices.Collect(p.order(w))
	return names, p.session.Scores(w.pod.Pod, names)
}

// preferred returns the nodes that a pod's node affinity prefers, because they are few but
// the best ones.
func (p *planner) preferred(w *wish) map[string]bool {
	affinity := w.ask.pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || sampled(len(p.nodes)) == len(p.nodes) {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	preferred, most := map[string]bool{}, int64(0)
	for _, node := range p.round.Ready {
		switch score := terms.Score(node); {
		case score <= 0 || score < most:
		case score > most:
			preferred, most = map[string]bool{node.Name: true}, score
		default:
			preferred[node.Name] = true
		}
	}
	return preferred
}

// fewestSampled is the number of nodes of which kube-scheduler scores all.
const fewestSampled = 100

// sampled returns how many of some nodes kube-scheduler scores by default: half of a
// small cluster's and a twentieth of a large one's (percentageOfNodesToScore).
func sampled(nodes int) int {
	percent := max(50-nodes/125, 5)
	return min(nodes, max(nodes*percent/100, fewestSampled))
}

// order yields the nodes in the order in which a pod's replacement had best go to them:
// to another node than its own, to those with the fewest pods of its owner, as
// kube-scheduler spreads them by default, and to those that are filled least. A plugin that
// fills nodes prefers those that are filled most, whatever else runs there.
func (p *planner) order(w *wish) iter.Seq[string] {
	own, siblings := w.pod.Node, p.siblings[w.of]
	if p.plugin.rule.fills {
		siblings = nil
	}
	return func(yield func(string) bool) {
		var crowded []string
		for i := range p.ranked {
			switch name := p.ranked[i].name; {
			case name == own:
			case siblings[name] > 0:
				crowded = append(crowded, name)
			case !yield(name):
				return
			}
		}
		slices.SortStableFunc(crowded, func(a, b string) int { return cmp.Compare(siblings[a], siblings[b]) })
		for _, name := range crowded {
			if !yield(name) {
				return
			}
		}
		if p.rankOf(own) >= 0 {
			yield(own)
		}
	}
}

// ranked is a node and the share of it that pods request.
type ranked struct {
	name   string
	filled float64
}

// rank ranks all nodes.
func (p *planner) rank() {
	for _, name := range p.nodes {
		p.ranked = append(p.ranked, ranked{name, p.session.Filled(name)})
	}
	slices.SortFunc(p.ranked, p.compare)
}

// rerank ranks a node anew after a move.
func (p *planner) rerank(name string) {
	i := p.rankOf(name)
	if i < 0 {
		return
	}
	p.ranked = slices.Delete(p.ranked, i, i+1)
	now := ranked{name, p.session.Filled(name)}
	i, _ = slices.BinarySearchFunc(p.ranked, now, p.compare)
	p.ranked = slices.Insert(p.ranked, i, now)
}

func (p *planner) rankOf(name string) int {
	return slices.IndexFunc(p.ranked, func(r ranked) bool { return r.name == name })
}

func (p *planner) compare(a, b ranked) int {
	by := cmp.Compare(a.filled, b.filled)
	if p.plugin.rule.fills {
		by = -by
	}
	return cmp.Or(by, cmp.Compare(a.name, b.name))
}

// takes reports whether a node stays at or below its reject line with the planned moves
// and another pod. It also returns true if the node's usage is unknown.
func (p *planner) takes(name string, used cluster.Amounts) bool {
	view, board := p.round.Observed.View, p.round.Observed.Board
	if view == nil || board == nil {
		return true
	}
	i := view.Snapshot.Index(name)
	if i < 0 {
		return true
	}
	if view.Snapshot.Nodes[i].Node.Closed() != "" {
		return false
	}
	if _, known := board.Predicted(cluster.NodeIndex(i)); !known {
		return true
	}
	return board.Lands(cluster.NodeIndex(i), p.arriving[name].Plus(used))
}

// made turns the wishes into the plan.
func (p *planner) made() (plan strategies.Plan) {
	for _, w := range p.wishes {
		if w.to == "" {
			plan.Declined = append(plan.Declined, strategies.Declined{Pod: w.pod, Node: w.pod.Node, Reason: w.declined, Detail: w.detail})
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

// after returns the world with the moves made, and the wish that belongs to each
// replacement in it.
func (p *planner) after(moves []*wish) (world, map[types.UID]*wish) {
	in, replacements := world{gone: map[types.UID]bool{}, arrived: map[string][]*v1.Pod{}, stays: map[types.UID]bool{}}, map[types.UID]*wish{}
	for _, w := range moves {
		replacement := *w.ask.pod
		replacement.UID += "-replacement"
		replacement.Spec.NodeName = w.to
		in.gone[w.ask.pod.UID] = true
		in.arrived[w.to] = append(in.arrived[w.to], &replacement)
		replacements[replacement.UID] = w
	}
	return in, replacements
}

// moves returns the wishes that are moves.
func (p *planner) moves() (moves []*wish) {
	for _, w := range p.wishes {
		if w.to != "" {
			moves = append(moves, w)
		}
	}
	return moves
}

// judge runs the plugin on the world after the moves, and drops the moves after which the
// plugin would ask for just as many evictions as before.
func (p *planner) judge(ctx context.Context) error {
	moves := p.moves()
	if len(moves) == 0 {
		return nil
	}
	if p.plugin.rule.byOwner {
		return p.judgeOwners(ctx, moves)
	}
	in, replacements := p.after(moves)
	for _, w := range p.wishes {
		in.stays[w.ask.pod.UID] = !w.goes()
	}
	asked, err := p.plugin.ask(ctx, in, p.round.Ready)
	if err != nil {
		return err
	}
	for _, a := range asked {
		if w := replacements[a.pod.UID]; w != nil {
			w.decline(reasons.NoBetterPlace, fmt.Sprintf("the plugin would evict it from %s as well", w.to))
		}
	}
	return nil
}

// The search for the fewest moves runs the plugin on further worlds: maxRuns times, and
// less often in clusters in which each run takes long.
const (
	maxRuns     = 12
	nodesOfRuns = 6000
)

// owner is an owner whose moves are judged.
type owner struct {
	// before is the number of its pods that the plugin asks for, left the number that it
	// still asks for after the kept moves.
	before, left int
	kept         []*wish
	// chunk is the number of moves, from position next on, that the next trial leaves
	// out; 0 once every move has been left out on its own.
	chunk, next int
}

// without returns the kept moves except those of the current trial.
func (o *owner) without() []*wish {
	end := min(o.next+o.chunk, len(o.kept))
	return slices.Concat(o.kept[:o.next], o.kept[end:])
}

// judgeOwners keeps, for each owner, the smallest set of moves that leads to the fewest
// further evictions. It tries the moves of several owners in one run.
func (p *planner) judgeOwners(ctx context.Context, moves []*wish) error {
	owners, spaces := map[party]*owner{}, map[string]int{}
	for _, w := range p.wishes {
		if owners[w.of] == nil {
			owners[w.of] = &owner{}
		}
		owners[w.of].before++
		spaces[w.of.namespace]++
		if w.to != "" {
			owners[w.of].kept = append(owners[w.of].kept, w)
		}
	}
	maps.DeleteFunc(owners, func(_ party, o *owner) bool { return len(o.kept) == 0 })
	left, all, err := p.left(ctx, moves)
	if err != nil {
		return err
	}
	for of, o := range owners {
		if o.left = left[of]; o.left >= o.before || all[of.namespace] >= spaces[of.namespace] {
			for _, w := range o.kept {
				w.decline(reasons.NoBetterPlace, fmt.Sprintf("it would go to %s, and the plugin would then ask for %s of its owner again", w.to, reasons.Count(o.left, "pod")))
			}
			delete(owners, of)
			continue
		}
		o.chunk = len(o.kept) / 2
	}
	for range min(maxRuns, nodesOfRuns/max(len(p.nodes), 1)) {
		var tried []*owner
		var try []*wish
		for _, o := range owners {
			if o.chunk > 0 {
				tried = append(tried, o)
				try = append(try, o.without()...)
			} else {
				try = append(try, o.kept...)
			}
		}
		if len(tried) == 0 {
			return nil
		}
		if left, _, err = p.left(ctx, try); err != nil {
			return err
		}
		for of, o := range owners {
			if !slices.Contains(tried, o) {
				continue
			}
			if left[of] <= o.left {
				for _, w := range o.kept[o.next:min(o.next+o.chunk, len(o.kept))] {
					w.decline(reasons.NoBetterPlace, fmt.Sprintf("it would go to %s, and the plugin would not ask for fewer pods of its owner", w.to))
				}
				o.kept, o.left = o.without(), left[of]
			} else {
				o.next += o.chunk
			}
			if o.next >= len(o.kept) {
				o.chunk, o.next = o.chunk/2, 0
			}
		}
	}
	return nil
}

// left counts, by owner and by namespace, the pods that the plugin still asks for after
// moves.
func (p *planner) left(ctx context.Context, moves []*wish) (byOwner map[party]int, byNamespace map[string]int, err error) {
	in, _ := p.after(moves)
	asked, err := p.plugin.ask(ctx, in, p.round.Ready)
	if err != nil {
		return nil, nil, err
	}
	byOwner, byNamespace = map[party]int{}, map[string]int{}
	for _, a := range asked {
		byOwner[ownerOf(a.pod)]++
		byNamespace[a.pod.Namespace]++
	}
	return byOwner, byNamespace, nil
}

func ownerOf(pod *v1.Pod) party {
	of := party{namespace: pod.Namespace}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		of.owner = string(ref.UID)
	}
	return of
}
