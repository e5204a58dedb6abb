package answer

import (
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Cycle answers for one pod in a scheduling cycle of kube-scheduler. It uses the same
// board and ledger as a round. However, kube-scheduler asks node by node and reports its
// choice, so nothing is booked or presumed before Reserve. A Cycle that Consider has
// returned is safe for concurrent use.
type Cycle struct {
	round   round
	pod     subject
	amounts cluster.Amounts
	// move is the move for which the pod is the replacement; moving is true if
	// there is one.
	move   ledger.Move
	moving bool
	// sources lists the nodes from which pods of the same owner were moved.
	sources []cluster.NodeIndex
}

// Consider opens a Cycle on the newest observation. If the watch has not reported the pod
// yet and the pod may be a replacement, Consider waits briefly, because only the watch
// shows to which move the pod belongs.
func (a *Answerer) Consider(pod *extender.Pod) *Cycle {
	c := a.consider(pod)
	a.note(&c.pod)
	return c
}

// consider is like Consider, for a pod without a request.
func (a *Answerer) consider(pod *extender.Pod) *Cycle {
	c := &Cycle{round: a.begin(), pod: claimed(pod)}
	if c.pod.learn(a.observer); !c.pod.known && a.observer.Ledger().Overtaken(c.pod.Pod) {
		a.await(&c.pod)
	}
	c.pod.charges = true // kube-scheduler itself asks, or our own watch shows the pod
	if c.round.observation == nil {
		return c
	}
	moves := a.observer.Ledger()
	c.round.unpresume(&c.pod)
	c.amounts = c.round.estimate(&c.pod)
	if moves.Quiet() {
		return c
	}
	now := a.now()
	if c.move, c.moving = match(moves, &c.pod, now); c.moving && c.move.Usage == (cluster.Amounts{}) {
		c.move.Usage = c.amounts // evicted by a plugin without usage measurements
	}
	moves.Avoid(c.pod.Namespace, c.pod.OwnerUID, now, func(node string) {
		c.sources = append(c.sources, c.round.observation.Board.Node([]byte(node)))
	})
	return c
}

// Neutral reports whether there is no observation yet, so that no node is
// rejected and none preferred.
func (c *Cycle) Neutral() bool { return c.round.observation == nil }

// Replaces reports whether the pod is the replacement of a move. Land finds the node for
// such a pod.
func (c *Cycle) Replaces() bool { return c.moving }

// Index returns the Index of the known nodes. It stays the same as long as the set of
// nodes does.
func (c *Cycle) Index() *extender.Index { return c.round.index }

// Node returns the index of a node, or -1. Before the first observation no node
// is known.
func (c *Cycle) Node(name string) cluster.NodeIndex {
	if c.Neutral() {
		return -1
	}
	return c.round.observation.Board.Node([]byte(name))
}

// Reject returns why the node at an index, considered alone, is rejected for
// the pod.
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

// Rejects returns the result of Reject for each known node, by index; it may be
// nil if none is rejected.
func (c *Cycle) Rejects() []extender.Reject {
	if c.Neutral() {
		return nil
	}
	var room [256]cluster.NodeIndex // usually enough, and not on the heap
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

// Land returns the node for a replacement, among those that accept it: the
// planned destination while it is under its ceiling, otherwise the node that
// would be the coolest with the pod on it. It returns an empty name if there is
// none.
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
		to := c.round.observation.Coolest(&c.move.Intent, left, func(i cluster.NodeIndex) bool { return tried[i] })
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

// maxTries is the number of nodes that Land tries before a replacement is placed like any
// other pod.
const maxTries = 32

// bestScore is the highest score of a scheduler plugin.
const bestScore = 100

// Score writes one score from 0 to bestScore per node.
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

// Reserve charges the pod to the chosen node. A replacement is booked there; any other
// pod is presumed there until the watch shows it bound.
func (c *Cycle) Reserve(node string) {
	if c.Neutral() || c.moving && c.round.answerer.observer.Ledger().Book(c.move.PodUID, c.pod.UID, node, c.move.Usage, c.round.answerer.now()) {
		return
	}
	c.round.presume(&c.pod, c.Node(node), cluster.NewCharge(c.amounts, c.pod.requests))
}

// Unreserve undoes Reserve. A booked move stays booked, because its replacement
// will be scheduled again.
func (c *Cycle) Unreserve() {
	if !c.Neutral() {
		c.round.unpresume(&c.pod)
	}
}

func (c *Cycle) nodes(names []string) []cluster.NodeIndex {
	nodes := make([]cluster.NodeIndex, len(names))
	for k, name := range names {
		nodes[k] = c.Node(name)
	}
	return nodes
}
