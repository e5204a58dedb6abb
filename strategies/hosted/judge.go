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
