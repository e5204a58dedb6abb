// Package page makes the page of a process. The page shows which nodes are hot, why, and
// what is done about it. It also shows moves and declined pods, the reasons that stop
// evicting, and the state of the process.
//
// New makes the values, which are also served as JSON, and Render makes HTML from them,
// with the heat map and the time line as SVG. The package makes no decisions. States,
// reasons and moves come from the packages that make them.
package page

import (
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status"
)

// New makes a page from facts.
func New(f *Facts) *Page {
	p := &Page{
		APIVersion: policy.GroupVersion, Kind: Kind, ReadyNodes: f.Ready, FreshNodes: f.Fresh, Sources: f.Sources, Process: f.Process,
		Hot: []HotNode{}, NotHot: []NotHotNode{}, Moves: []status.RecordedMove{}, Declined: []status.DeclinedGroup{}, Nodes: []Node{}, Lines: []Line{}, now: f.Now,
		Evicting: Evicting{Stopped: f.stopped()}, byPlugins: f.byPlugins(),
	}
	if f.Stops.Left >= 0 {
		p.Evicting.BudgetLeft = new(f.Stops.Left)
	}
	if f.Cycle != nil {
		p.Cycle, p.Declined, p.OtherProfiles = new(f.Cycle.At.UTC()), f.Cycle.Declined(), f.OtherProfiles
	}
	if f.View != nil {
		p.Observed = new(f.View.At.UTC())
		p.addNodes(f)
		p.sortHottest()
		p.Moves = f.lately()
		p.addHot(f)
		p.addNotHot()
	}
	p.Levels, p.Headline = p.count(), p.headline()
	return p
}

// lately returns the moves in flight and recently ended moves.
func (f *Facts) lately() []status.RecordedMove {
	const most = 200
	moves := f.Moves()
	for i := range moves {
		ended := moves[i].Ended
		if i >= most || ended != nil && f.Now.Sub(*ended) > timeLine {
			return moves[:i]
		}
	}
	return moves
}
