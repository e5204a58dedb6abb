package steering

import (
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Cycle answers for one pod inside kube-scheduler. It decides by the same board
// and ledger as a round, but is asked node by node and is told what was chosen,
// so nothing is booked or reckoned with before Reserve. After Begin it may be
// asked by several goroutines at once.
type Cycle struct {
	round   round
	pod     extender.Pod
	amounts cluster.Amounts
	// move is what the pod takes up; moving says that there is one.
	move   ledger.Move
	moving bool
	// sources are the nodes that pods of the same owner were moved away from.
	sources []cluster.NodeIndex
}

// Consider opens a Cycle on the newest observation. Where the watch has not
// reported the pod yet it waits a moment for it.
func (j *Judge) Consider(pod *extender.Pod) *Cycle {
	c := &Cycle{round: j.begin(), pod: *pod}
	j.note(pod.UID)
	if c.round.observation == nil {
		return c
	}
	moves := j.observer.Ledger()
	moves.Unpresume(pod.UID)
	c.amounts = c.round.estimate(pod)
	if moves.Quiet() {
		return c
	}
	now := j.now()
	if c.move, c.moving = c.round.match(moves, ledgerPod(pod), now); c.moving && c.move.Usage == (cluster.Amounts{}) {
		c.move.Usage = c.amounts // evicted by a plugin that measures nothing
	}
	moves.Avoid(pod.OwnerUID, now, func(node string) {
		c.sources = append(c.sources, c.round.observation.Board.Node([]byte(node)))
	})
	return c
}

// Neutral says that nothing is known yet, so that no node is refused and none
// preferred.
func (c *Cycle) Neutral() bool { return c.round.observation == nil }

// Replaces reports whether the pod takes up a move, so that one node is to be
// found for it.
func (c *Cycle) Replaces() bool { return c.moving }

// Index is that of the nodes which are known. It changes when they do, and
// stays the same while they do.
func (c *Cycle) Index() *extender.Index { return c.round.index }

// Node returns the index of a node, or -1. Before the first observation no node
// is known.
func (c *Cycle) Node(name string) cluster.NodeIndex {
	if c.Neutral() {
		return -1
	}
	return c.round.observation.Board.Node([]byte(name))
}

// Reject says why the node at an index, looked at by itself, is not for the
// pod.
func (c *Cycle) Reject(node cluster.NodeIndex) extender.Reject {
	if c.Neutral() || node < 0 {
		return extender.RejectNone
	}
	nodes, reasons := [1]cluster.NodeIndex{node}, [1]extender.Reject{}
	if slices.Contains(c.sources, node) {
		reasons[0] = extender.RejectSource
	}
	c.round.rejectFull(&c.pod, c.amounts, nodes[:], reasons[:])
	return reasons[0]
}

// Rejects returns what Reject returns for each node that is known, by index; it
// may be nil where it refuses none.
func (c *Cycle) Rejects() []extender.Reject {
	if c.Neutral() {
		return nil
	}
	var room [256]cluster.NodeIndex // mostly enough, and not on the heap
	full, why := room[:0], c.round.reason(&c.pod)
	if why != extender.RejectNone {
		full = c.round.observation.Board.AppendRefused(full, c.amounts)
	}
	if len(full) == 0 && len(c.sources) == 0 {
		return nil
	}
	reasons := make([]extender.Reject, c.round.observation.Board.Len())
	for _, node := range full {
		reasons[node] = why
	}
	for _, node := range c.sources {
		if node >= 0 && reasons[node] != extender.RejectLoad {
			reasons[node] = extender.RejectSource
		}
	}
	return reasons
}

// Land returns where a pod that takes up a move belongs: the planned
// destination while it is under its ceiling, else the node that would be the
// coolest with the pod on it, among those that take it. It returns an empty
// name when there is none.
func (c *Cycle) Land(nodes []string, takes func(node string) bool) string {
	if !c.moving {
		return ""
	}
	board, left := c.round.observation.Board, c.nodes(nodes)
	if to := c.round.destination(c.move, left); to >= 0 && takes(board.Name(to)) {
		return board.Name(to)
	}
	tried := map[cluster.NodeIndex]bool{board.Node([]byte(c.move.From)): true}
	for range maxTries {
		to := board.Best(left, c.move.Usage, func(i cluster.NodeIndex) bool { return tried[i] })
		if to < 0 {
			return ""
		}
		if takes(board.Name(to)) {
			return board.Name(to)
		}
		tried[to] = true
	}
	return ""
}

// maxTries is how many nodes a replacement tries before it is placed like any
// other pod.
const maxTries = 32

// bestScore is the highest score of a scheduler plugin.
const bestScore = 100

// Score writes one score from 0 to bestScore per node, given by index.
func (c *Cycle) Score(nodes []cluster.NodeIndex, scores []int8) {
	clear(scores)
	if c.Neutral() {
		return
	}
	if c.moving {
		if to := c.round.destination(c.move, nodes); to >= 0 {
			scores[slices.Index(nodes, to)] = bestScore
			return
		}
	}
	c.round.observation.Board.Score100(nodes, c.amounts, scores)
}

// Reserve reckons with the pod on the node that was chosen: a move is booked
// there, any other pod is presumed there until the watch tells.
func (c *Cycle) Reserve(node string) {
	switch i := c.Node(node); {
	case c.Neutral():
	case c.moving:
		c.round.judge.observer.Ledger().Book(c.move.PodUID, node, c.move.Usage)
	default:
		c.round.presume(&c.pod, i, chargeOf(&c.pod, c.amounts))
	}
}

// Unreserve takes back what Reserve reckoned with. A booked move keeps its
// place: its replacement comes again.
func (c *Cycle) Unreserve() {
	if !c.Neutral() && !c.moving {
		c.round.judge.observer.Ledger().Unpresume(c.pod.UID)
	}
}

func (c *Cycle) nodes(names []string) []cluster.NodeIndex {
	nodes := make([]cluster.NodeIndex, len(names))
	for k, name := range names {
		nodes[k] = c.Node(name)
	}
	return nodes
}
