// Package answer answers kube-scheduler. It implements the extender's Answerer on the
// basis of the newest observation and the ledger. A pod that replaces a moved one gets
// its planned destination and is booked there. Any other pod is kept off hot nodes and,
// for a while, off a node from which a pod of the same owner was just moved.
package answer

import (
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Answerer implements extender.Answerer over an Observer. It is safe for
// concurrent use.
type Answerer struct {
	observer *observer.Observer
	now      func() time.Time
	asked    atomic.Int64
	last     atomic.Int64 // unix seconds of the newest request
	recent   *recent
	names    atomic.Pointer[names]
	// looks limits how often requests check whether the watch shows their pods.
	looks *rate.Limiter
}

var (
	_ extender.Answerer = (*Answerer)(nil)
	_ extender.Indexed  = round{}
)

// NewAnswerer returns an Answerer.
func NewAnswerer(o *observer.Observer, now func() time.Time) *Answerer {
	return &Answerer{observer: o, now: now, recent: newRecent(recentPods), looks: rate.NewLimiter(lookRate, lookBurst)}
}

// Begin opens a round on the newest observation. Before the first observation
// everything is unknown, so answers are neutral.
func (a *Answerer) Begin() extender.Round { return a.begin() }

func (a *Answerer) begin() round {
	observation := a.observer.Latest()
	if observation == nil {
		return round{answerer: a, index: noNames}
	}
	return round{answerer: a, observation: observation, index: a.indexOf(observation.Board)}
}

// names is the index of one board's nodes. Boards with the same nodes share it.
type names struct {
	board *scorer.Board
	index *extender.Index
}

var noNames = extender.NewIndex(nil)

func (a *Answerer) indexOf(board *scorer.Board) *extender.Index {
	last := a.names.Load()
	if last != nil && last.board == board {
		return last.index
	}
	next := &names{board: board}
	if last != nil && last.board.SameNodes(board) {
		next.index = last.index
	} else {
		next.index = extender.NewIndex(board.Names())
	}
	a.names.Store(next)
	return next.index
}

// Asked returns how many filter and prioritize requests were answered so far.
func (a *Answerer) Asked() int64 { return a.asked.Load() }

// LastAsked returns when the newest request arrived, to the second; zero before
// the first.
func (a *Answerer) LastAsked() time.Time {
	if last := a.last.Load(); last != 0 {
		return time.Unix(last, 0)
	}
	return time.Time{}
}

// watchLag is how long a request that has overtaken the pod watch waits for it. This is
// well within kube-scheduler's timeout of 200 ms. watchEvery is the time between two
// checks.
const (
	watchLag   = 80 * time.Millisecond
	watchEvery = 2 * time.Millisecond
)

// lookRate and lookBurst bound the checks of all requests, per second and in a burst.
// Requests may wait for two seconds in all, and then for a fifth of the time, so that
// neither a broken watch nor invented pods in other clients' requests delay
// kube-scheduler for longer.
const (
	lookRate  = 100
	lookBurst = 1000
)

// await waits briefly for the watch to show a pod that it has not shown yet.
// Until the watch shows it, nothing is charged for the pod, and all pods of a
// burst would be sent to the same coolest node. A pod that the watch does not
// show in time stays unknown.
func (a *Answerer) await(s *subject) {
	looks := wait.Backoff{Duration: watchEvery, Factor: 1, Steps: int(watchLag / watchEvery)}
	_ = wait.ExponentialBackoff(looks, func() (bool, error) {
		s.learn(a.observer)
		return s.known || !a.looks.Allow(), nil
	})
}

// note counts a request. A request about a pod that the watch does not know may
// come from anyone and proves nothing.
func (a *Answerer) note(s *subject) {
	if !s.charges {
		return
	}
	a.asked.Add(1)
	a.last.Store(a.now().Unix())
	a.recent.add(s.UID)
}

// AskedAbout reports whether kube-scheduler recently asked about this pod.
func (a *Answerer) AskedAbout(podUID string) bool { return a.recent.has(podUID) }

type round struct {
	answerer    *Answerer
	observation *observer.Observation
	index       *extender.Index
}

// Index finds nodes by name.
func (r round) Index() *extender.Index { return r.index }

// Node returns the index of a node, or -1.
func (r round) Node(name []byte) cluster.NodeIndex { return r.index.Find(name) }

// Filter marks the rejected nodes. kube-scheduler calls it before it chooses, and does
// not call Prioritize if only one node is left. So Filter's answer for the replacement of
// a move counts as an attempt to place it.
func (r round) Filter(asked *extender.Pod, nodes []cluster.NodeIndex, reasons []extender.Reject) {
	pod := claimed(asked)
	if pod.learn(r.answerer.observer); !pod.known && r.observation != nil {
		r.answerer.await(&pod)
	}
	r.answerer.note(&pod)
	if r.observation == nil {
		return
	}
	moves := r.answerer.observer.Ledger()
	r.unpresume(&pod)
	if !moves.Quiet() {
		now := r.answerer.now()
		if move, ok := match(moves, &pod, now); ok {
			if r.land(&pod, move, nodes, reasons, now) {
				return
			}
		}
		r.avoidSource(&pod, nodes, reasons, now)
	}
	amounts := r.estimate(&pod)
	r.rejectFull(&pod, amounts, nodes, reasons)
	left, only := 0, cluster.NodeIndex(-1)
	for k, i := range nodes {
		if reasons[k] == extender.RejectNone {
			left, only = left+1, i
		}
	}
	if left == 1 { // kube-scheduler will not call Prioritize
		r.presume(&pod, only, cluster.NewCharge(amounts, pod.requests))
	}
}

// reason returns why full nodes are rejected for the pod, or RejectNone if they
// are kept. Pods of DaemonSets are exempt from limits of measured windows,
// because each of them fits only one node and would otherwise wait
// indefinitely.
func (r round) reason(pod *subject) extender.Reject {
	switch {
	case !r.observation.Board.Measured():
		return extender.RejectHot
	case pod.OwnerKind == "DaemonSet":
		return extender.RejectNone
	default:
		return extender.RejectLoad
	}
}

// rejectFull marks the nodes that are full.
func (r round) rejectFull(pod *subject, amounts cluster.Amounts, nodes []cluster.NodeIndex, reasons []extender.Reject) {
	board, why := r.observation.Board, r.reason(pod)
	if why == extender.RejectNone {
		return
	}
	for k := range board.Refused(nodes, amounts) {
		// RejectLoad overrides other reasons, because the others are dropped if
		// a request would lose all its nodes.
		if reasons[k] == extender.RejectNone || why == extender.RejectLoad {
			reasons[k] = why
		}
	}
}

// match finds the move for which a pod is the replacement. For a known pod it uses the
// order of the watch, in which all processes pair pods with moves. For any other pod it
// guesses.
func match(moves *ledger.Ledger, pod *subject, now time.Time) (ledger.Move, bool) {
	if pod.known {
		return moves.Match(pod.Pod, now)
	}
	return moves.Guess(pod.Pod, now)
}

// presume charges a pod to the node that kube-scheduler is likely to choose. The actual
// choice becomes known only when the watch shows the pod bound. By then kube-scheduler
// has placed many other pods.
func (r round) presume(pod *subject, node cluster.NodeIndex, charge cluster.Charge) {
	if node < 0 || !pod.charges {
		return
	}
	within := ledger.BoundWithin
	if pod.hasClaims {
		within = ledger.ProvisionedWithin
	}
	r.answerer.observer.Ledger().Presume(pod.UID, r.observation.Board.Name(node), charge, within, r.answerer.now())
}

func (r round) unpresume(pod *subject) {
	if pod.charges {
		r.answerer.observer.Ledger().Unpresume(pod.UID)
	}
}

// land keeps only the planned destination if it is in the request and under its ceiling.
// Otherwise it keeps only the request's coolest node. That node is charged in addition to
// the reservation, because no request may change the plan. It returns false if no node of
// the request qualifies.
func (r round) land(pod *subject, move ledger.Move, nodes []cluster.NodeIndex, reasons []extender.Reject, now time.Time) bool {
	board := r.observation.Board
	if move.Usage == (cluster.Amounts{}) { // evicted by a plugin without usage measurements
		move.Usage = r.estimate(pod)
	}
	to := r.destination(move, nodes)
	planned := to >= 0
	if !planned {
		from := board.Node([]byte(move.From))
		to = r.observation.Coolest(&move.Intent, nodes, func(i cluster.NodeIndex) bool { return i == from })
	}
	if to < 0 {
		return false
	}
	for k, i := range nodes {
		if i != to {
			reasons[k] = extender.RejectNotDestination
		}
	}
	if pod.known {
		r.answerer.observer.Ledger().Answered(move.PodUID, move.Usage, now)
	}
	if !planned {
		r.presume(pod, to, cluster.NewCharge(move.Usage, pod.requests))
	}
	return true
}

// destination returns the node on which the move is reserved if the request
// contains it and it is still under its ceiling, and -1 otherwise. The
// reservation is already part of the node's predicted usage.
func (r round) destination(move ledger.Move, nodes []cluster.NodeIndex) cluster.NodeIndex {
	if move.Node == "" {
		return -1
	}
	to := r.observation.Board.Node([]byte(move.Node))
	if to < 0 || !r.observation.Board.LandsUpTo(to, cluster.Amounts{}, move.CeilingOn(move.Node)) {
		return -1
	}
	if !slices.Contains(nodes, to) {
		return -1
	}
	return to
}

func (r round) avoidSource(pod *subject, nodes []cluster.NodeIndex, reasons []extender.Reject, now time.Time) {
	r.answerer.observer.Ledger().Avoid(pod.Namespace, pod.OwnerUID, now, func(node string) {
		source := r.observation.Board.Node([]byte(node))
		for k, i := range nodes {
			if i >= 0 && i == source {
				reasons[k] = extender.RejectSource
			}
		}
	})
}

// Prioritize scores the nodes. A planned destination gets the only score above 0.
func (r round) Prioritize(asked *extender.Pod, nodes []cluster.NodeIndex, scores []int8) {
	pod := claimed(asked)
	pod.learn(r.answerer.observer)
	r.answerer.note(&pod)
	if r.observation == nil {
		return
	}
	r.unpresume(&pod)
	board, amounts := r.observation.Board, r.estimate(&pod)
	board.Score(nodes, amounts, scores)
	if !pod.charges && len(nodes) > 0 && !board.Measured() { // measured windows ignore charges
		level(scores[:len(nodes)])
	}
	move, ok := ledger.Move{}, false
	if moves := r.answerer.observer.Ledger(); !moves.Quiet() {
		move, ok = match(moves, &pod, r.answerer.now())
	}
	if !ok {
		charge := cluster.NewCharge(amounts, pod.requests)
		r.presume(&pod, board.MostLikely(nodes, charge.Requests, scores), charge)
		return
	}
	if to := r.destination(move, nodes); to >= 0 {
		for k, i := range nodes {
			scores[k] = 0
			if i == to {
				scores[k] = scorer.MaxScore
			}
		}
	}
}

// level gives the best nodes, those within two points of the highest score, the same
// score. While the watch is broken, answers do not take earlier answers into account, so
// all pods would be sent to the same coolest node. Among nodes with equal scores,
// kube-scheduler takes the pods into account that it has placed itself.
func level(scores []int8) {
	most := max(slices.Max(scores)-2, 0)
	for k := range scores {
		scores[k] = min(scores[k], most)
	}
}

func (r round) estimate(pod *subject) cluster.Amounts {
	return r.answerer.observer.Estimate(r.observation, pod.unmeasured())
}
