package hosted

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/reasons"
)

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
		return p.judgeOwners(ctx)
	}
	in, replacements := p.after(moves)
	for _, w := range p.wishes {
		in.stays[w.ask.pod.UID] = w.to == ""
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

// Each step of judging runs the plugin on at most maxRuns worlds, and on fewer in clusters
// in which a run takes long.
const (
	maxRuns     = 12
	nodesOfRuns = 6000
)

func (p *planner) runs() int { return min(maxRuns, max(nodesOfRuns/max(len(p.nodes), 1), 2)) }

// judged holds the owners whose moves are judged together.
type judged struct {
	*planner

	owners []*owner // owners that have moves, in the order of their first wish
	// before counts the pods that the plugin asks for. others counts, by namespace, those
	// that it still asks for after the kept moves, without the pods of owners.
	before counts
	others map[string]int
}

// owner is an owner whose moves are judged.
type owner struct {
	of party
	// before is the number of its pods that the plugin asks for, left the number that it
	// still asks for after the kept moves.
	before, left int
	kept         []*wish
	// chunk is the number of moves, from position next on, that the next trial leaves
	// out; 0 once every move has been left out on its own.
	chunk, next int
	// sure is the number of moves at the start of kept that are known to help if made one
	// after the other. at is the number of pods that the plugin asks for after them. failed
	// is the number of moves that were tried next and did not help.
	sure, at, failed int
}

// without returns the kept moves except those of the current trial.
func (o *owner) without() []*wish {
	end := min(o.next+o.chunk, len(o.kept))
	return slices.Concat(o.kept[:o.next], o.kept[end:])
}

// judgeOwners keeps, for each owner, the smallest set of moves that leads to the fewest
// further evictions. If enough runs are left, it also ensures that each move helps even
// if the moves after it are not made. It tries the moves of several owners in one run.
func (p *planner) judgeOwners(ctx context.Context) error {
	j := &judged{planner: p, before: newCounts()}
	byParty := map[party]*owner{}
	for _, w := range p.wishes {
		o := byParty[w.of]
		if o == nil {
			o = &owner{of: w.of}
			byParty[w.of], j.owners = o, append(j.owners, o)
		}
		o.before++
		j.before.add(w.of)
		if w.to != "" {
			o.kept = append(o.kept, w)
		}
	}
	j.owners = slices.DeleteFunc(j.owners, func(o *owner) bool { return len(o.kept) == 0 })
	for _, step := range []func(context.Context) error{j.keepUseful, j.keepHarmless, j.keepFewest, j.keepInOrder} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	j.reorder()
	return nil
}

// try counts, by owner and by namespace, the pods that the plugin asks for once the moves
// that the given function selects for each owner are made.
func (j *judged) try(ctx context.Context, moves func(*owner) []*wish) (counts, error) {
	var made []*wish
	for _, o := range j.owners {
		made = append(made, moves(o)...)
	}
	in, _ := j.after(made)
	asked, err := j.plugin.ask(ctx, in, j.round.Ready)
	if err != nil {
		return counts{}, err
	}
	left := newCounts()
	for _, a := range asked {
		left.add(ownerOf(a.pod))
	}
	return left, nil
}

// counts are numbers of pods that the plugin asks for, by owner and by namespace.
type counts struct {
	of map[party]int
	in map[string]int
}

func newCounts() counts { return counts{map[party]int{}, map[string]int{}} }

func (c counts) add(of party) {
	c.of[of]++
	c.in[of.namespace]++
}

// besides returns the counts by namespace without the pods of some owners.
func (c counts) besides(owners []*owner) map[string]int {
	others := maps.Clone(c.in)
	for _, o := range owners {
		others[o.of.namespace] -= c.of[o.of]
	}
	return others
}

func kept(o *owner) []*wish { return o.kept }

// leave declines some moves. why describes what the plugin would do after them.
func (j *judged) leave(moves []*wish, why string) {
	for _, w := range moves {
		w.decline(reasons.NoBetterPlace, fmt.Sprintf("it would go to %s, and the plugin would %s", w.to, why))
	}
}

// leaveAll declines all moves of an owner.
func (j *judged) leaveAll(o *owner, why string) {
	j.leave(o.kept, why)
	j.owners = slices.DeleteFunc(j.owners, func(other *owner) bool { return other == o })
}

// keepUseful declines the moves of owners if the plugin would ask for just as many of
// their pods afterwards. Once these moves are gone, others may be useless as well.
func (j *judged) keepUseful(ctx context.Context) error {
	for range j.runs() {
		if len(j.owners) == 0 {
			return nil
		}
		left, err := j.try(ctx, kept)
		if err != nil {
			return err
		}
		useful := true
		for _, o := range slices.Clone(j.owners) {
			if o.left = left.of[o.of]; o.left >= o.before {
				j.leaveAll(o, fmt.Sprintf("then ask for %s of its owner again", reasons.Count(o.left, "pod")))
				useful = false
			}
		}
		j.others = left.besides(j.owners)
		if useful {
			return nil
		}
	}
	return nil
}

// keepHarmless declines the moves of owners if the plugin would then ask for at least as
// many other pods of the namespace. In such a namespace it adds one owner at a time,
// because a single owner's moves may be the cause.
func (j *judged) keepHarmless(ctx context.Context) error {
	waiting, now := map[string][]*owner{}, maps.Clone(j.before.in)
	before := j.before.besides(j.owners)
	for _, o := range j.owners {
		if of := o.of.namespace; j.others[of] > before[of] {
			waiting[of] = append(waiting[of], o)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	waits := func(o *owner) bool { return slices.Contains(waiting[o.of.namespace], o) }
	for range j.runs() {
		if len(waiting) == 0 {
			break
		}
		left, err := j.try(ctx, func(o *owner) []*wish {
			if waits(o) && waiting[o.of.namespace][0] != o {
				return nil
			}
			return o.kept
		})
		if err != nil {
			return err
		}
		for namespace, queue := range waiting {
			waiting[namespace] = queue[1:]
			if left.in[namespace] < now[namespace] {
				now[namespace], queue[0].left = left.in[namespace], left.of[queue[0].of]
				continue
			}
			j.leaveAll(queue[0], "then ask for other pods of the namespace")
		}
		maps.DeleteFunc(waiting, func(_ string, queue []*owner) bool { return len(queue) == 0 })
	}
	for _, o := range slices.Clone(j.owners) {
		if waits(o) {
			j.leaveAll(o, "then ask for other pods of the namespace")
		}
	}
	return j.keepUseful(ctx)
}

// keepFewest declines moves that are not needed: without them, the plugin would not ask
// for more pods. It tries to leave out half of an owner's moves at a time, then a
// quarter, and so on.
func (j *judged) keepFewest(ctx context.Context) error {
	for _, o := range j.owners {
		o.chunk = len(o.kept) / 2
	}
	for range j.runs() {
		tried := slices.DeleteFunc(slices.Clone(j.owners), func(o *owner) bool { return o.chunk == 0 })
		if len(tried) == 0 {
			return nil
		}
		left, err := j.try(ctx, func(o *owner) []*wish {
			if o.chunk > 0 {
				return o.without()
			}
			return o.kept
		})
		if err != nil {
			return err
		}
		others := left.besides(j.owners)
		for _, o := range tried {
			if left.of[o.of] <= o.left && others[o.of.namespace] <= j.others[o.of.namespace] {
				j.leave(o.kept[o.next:min(o.next+o.chunk, len(o.kept))], "not ask for fewer pods of its owner")
				o.kept, o.left = o.without(), left.of[o.of]
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

// keepInOrder orders the moves of each owner so that every move helps even if no later
// one is made, because limits and refusals may prevent the last ones. It declines moves
// that help only together. Moves that could not be checked for lack of runs stay at the
// end: they are known to help only if all of the owner's moves are made.
func (j *judged) keepInOrder(ctx context.Context) error {
	for _, o := range j.owners {
		o.at = o.before
	}
	unsure := func(o *owner) bool { return o.sure < len(o.kept)-1 }
	for range j.runs() {
		tried := slices.DeleteFunc(slices.Clone(j.owners), func(o *owner) bool { return !unsure(o) })
		if len(tried) == 0 {
			return nil
		}
		left, err := j.try(ctx, func(o *owner) []*wish {
			if unsure(o) {
				return o.kept[:o.sure+1]
			}
			return o.kept
		})
		if err != nil {
			return err
		}
		for _, o := range tried {
			if left.of[o.of] < o.at {
				o.sure, o.at, o.failed = o.sure+1, left.of[o.of], 0
				continue
			}
			next := o.kept[o.sure]
			o.kept = append(slices.Delete(o.kept, o.sure, o.sure+1), next)
			if o.failed++; o.failed == len(o.kept)-o.sure {
				j.leave(o.kept[o.sure:], "ask for just as many pods of its owner if only this one moved")
				o.kept = o.kept[:o.sure]
			}
		}
	}
	return nil
}

// reorder puts the wishes into the order of their owners' moves.
func (j *judged) reorder() {
	next := map[party][]*wish{}
	for _, o := range j.owners {
		next[o.of] = o.kept
	}
	for i, w := range j.wishes {
		if w.to != "" {
			j.wishes[i], next[w.of] = next[w.of][0], next[w.of][1:]
		}
	}
}
