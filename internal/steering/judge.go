// Package steering answers kube-scheduler: it joins the newest observation and
// the ledger into the extender's Judge. A pod that replaces a moved one is
// answered with its landing and booked there; any other pod is kept off hot
// nodes, and for a while off the node that one of its owner's pods was just
// moved from.
package steering

import (
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/usage"
)

// Judge is the extender's Judge over an Observer. It is safe for concurrent
// use.
type Judge struct {
	observer *observer.Observer
	now      func() time.Time
	asked    atomic.Int64
	last     atomic.Int64 // unix seconds of the newest request
	recent   *recent
	names    atomic.Pointer[names]
}

var (
	_ extender.Judge   = (*Judge)(nil)
	_ extender.Indexed = round{}
)

// NewJudge returns a Judge.
func NewJudge(o *observer.Observer, now func() time.Time) *Judge {
	return &Judge{observer: o, now: now, recent: newRecent(recentPods)}
}

// Begin opens a round on the newest observation. Before the first everything is
// unknown, which is neutral.
func (j *Judge) Begin() extender.Round { return j.begin() }

func (j *Judge) begin() round {
	observation := j.observer.Latest()
	if observation == nil {
		return round{judge: j, index: noNames}
	}
	return round{judge: j, observation: observation, index: j.indexOf(observation.Board)}
}

// names is the index of one board's nodes; boards with the same nodes share it.
type names struct {
	board *scorer.Board
	index *extender.Index
}

var noNames = extender.NewIndex(nil)

func (j *Judge) indexOf(board *scorer.Board) *extender.Index {
	last := j.names.Load()
	if last != nil && last.board == board {
		return last.index
	}
	next := &names{board: board}
	if last != nil && last.board.SameNodes(board) {
		next.index = last.index
	} else {
		next.index = extender.NewIndex(board.Names())
	}
	j.names.Store(next)
	return next.index
}

// Asked counts the filter and prioritize requests answered so far.
func (j *Judge) Asked() int64 { return j.asked.Load() }

// LastAsked is when the newest request came, to the second; zero before the
// first.
func (j *Judge) LastAsked() time.Time {
	if last := j.last.Load(); last != 0 {
		return time.Unix(last, 0)
	}
	return time.Time{}
}

// note counts a request about a pod.
func (j *Judge) note(podUID string) {
	j.asked.Add(1)
	j.last.Store(j.now().Unix())
	j.recent.add(podUID)
}

// AskedAbout reports whether kube-scheduler asked about this pod lately.
func (j *Judge) AskedAbout(podUID string) bool { return j.recent.has(podUID) }

type round struct {
	judge       *Judge
	observation *observer.Observation
	index       *extender.Index
}

// Index finds nodes by name.
func (r round) Index() *extender.Index { return r.index }

// Node returns the index of a node, or -1.
func (r round) Node(name []byte) cluster.NodeIndex { return r.index.Find(name) }

// Filter marks the nodes that are not for the pod. kube-scheduler calls it
// before it chooses, and with one node left it never calls Prioritize, so this
// is where a landing is booked.
func (r round) Filter(pod *extender.Pod, nodes []cluster.NodeIndex, reasons []extender.Reject) {
	r.judge.note(pod.UID)
	if r.observation == nil {
		return
	}
	moves := r.judge.observer.Ledger()
	moves.Unpresume(pod.UID)
	if !moves.Quiet() {
		now := r.judge.now()
		if move, ok := r.match(moves, ledgerPod(pod), now); ok {
			if r.land(pod, move, nodes, reasons) {
				return
			}
		}
		r.avoidSource(pod, nodes, reasons, now)
	}
	amounts := r.estimate(pod)
	r.rejectFull(pod, amounts, nodes, reasons)
	left, only := 0, cluster.NodeIndex(-1)
	for k, i := range nodes {
		if reasons[k] == extender.RejectNone {
			left, only = left+1, i
		}
	}
	if left == 1 { // kube-scheduler asks nothing more
		r.presume(pod, only, chargeOf(pod, amounts))
	}
}

// reason is why nodes that have no room are not for the pod, RejectNone where
// they are for it all the same: limits of measured windows do not hold for pods
// of DaemonSets, each of which has one node alone, and would wait for ever.
func (r round) reason(pod *extender.Pod) extender.Reject {
	switch {
	case !r.observation.Board.Measured():
		return extender.RejectHot
	case pod.OwnerKind == "DaemonSet":
		return extender.RejectNone
	default:
		return extender.RejectLoad
	}
}

// rejectFull marks the nodes that have no room.
func (r round) rejectFull(pod *extender.Pod, amounts cluster.Amounts, nodes []cluster.NodeIndex, reasons []extender.Reject) {
	board, why := r.observation.Board, r.reason(pod)
	if why == extender.RejectNone {
		return
	}
	for k := range board.Refused(nodes, amounts) {
		// A limit counts whatever else there is against a node, because others
		// yield where a request would lose all its nodes.
		if reasons[k] == extender.RejectNone || why == extender.RejectLoad {
			reasons[k] = why
		}
	}
}

// watchLag is how long a request waits for the watch that it has overtaken,
// well within kube-scheduler's patience of 200 ms; watchEvery is how often it
// looks.
const (
	watchLag   = 80 * time.Millisecond
	watchEvery = 2 * time.Millisecond
)

// match finds the move that a pod takes up. Where the request has overtaken the
// watch it waits a moment, because all replicas pair pods in the watch's order.
func (r round) match(moves *ledger.Ledger, pod ledger.Pod, now time.Time) (ledger.Move, bool) {
	if !moves.Overtaken(pod) {
		return moves.Match(pod, now)
	}
	looks := wait.Backoff{Duration: watchEvery, Factor: 1, Steps: int(watchLag / watchEvery)}
	if err := wait.ExponentialBackoff(looks, func() (seen bool, err error) { return !moves.Overtaken(pod), nil }); err != nil {
		return moves.MatchUnseen(pod, now)
	}
	return moves.Match(pod, now)
}

// presume reckons with a pod on the node that kube-scheduler is likely to
// choose, from now on: what it chooses is known only when the pod is seen
// bound, and by then it has placed many others.
func (r round) presume(pod *extender.Pod, node cluster.NodeIndex, charge cluster.Charge) {
	if node >= 0 {
		r.judge.observer.Ledger().Presume(pod.UID, r.observation.Board.Name(node), charge, r.judge.now())
	}
}

// land answers with the planned destination alone if it is in the request and
// under its ceiling, else with the request's best node, and books the answer.
// It returns false when no node of the request will do.
func (r round) land(pod *extender.Pod, move ledger.Move, nodes []cluster.NodeIndex, reasons []extender.Reject) bool {
	board := r.observation.Board
	if move.Usage == (cluster.Amounts{}) { // evicted by a plugin that measures nothing
		move.Usage = r.estimate(pod)
	}
	to := r.destination(move, nodes)
	if to < 0 {
		from := board.Node([]byte(move.From))
		to = board.Best(nodes, move.Usage, func(i cluster.NodeIndex) bool { return i == from })
	}
	if to < 0 {
		return false
	}
	for k, i := range nodes {
		if i != to {
			reasons[k] = extender.RejectNotDestination
		}
	}
	r.judge.observer.Ledger().Book(move.PodUID, board.Name(to), move.Usage)
	return true
}

// destination returns where the move is reserved, if the request has the node
// and it is still under its ceiling; the reservation itself is already part of
// what the node is predicted at.
func (r round) destination(move ledger.Move, nodes []cluster.NodeIndex) cluster.NodeIndex {
	if move.Node == "" {
		return -1
	}
	to := r.observation.Board.Node([]byte(move.Node))
	if to < 0 || !r.observation.Board.Lands(to, cluster.Amounts{}) {
		return -1
	}
	if !slices.Contains(nodes, to) {
		return -1
	}
	return to
}

func (r round) avoidSource(pod *extender.Pod, nodes []cluster.NodeIndex, reasons []extender.Reject, now time.Time) {
	r.judge.observer.Ledger().Avoid(pod.OwnerUID, now, func(node string) {
		source := r.observation.Board.Node([]byte(node))
		for k, i := range nodes {
			if i >= 0 && i == source {
				reasons[k] = extender.RejectSource
			}
		}
	})
}

// Prioritize scores by predicted usage; a booked node comes first.
func (r round) Prioritize(pod *extender.Pod, nodes []cluster.NodeIndex, scores []int8) {
	r.judge.note(pod.UID)
	if r.observation == nil {
		return
	}
	r.judge.observer.Ledger().Unpresume(pod.UID)
	board, amounts := r.observation.Board, r.estimate(pod)
	board.Score(nodes, amounts, scores)
	move, ok := ledger.Move{}, false
	if !r.judge.observer.Ledger().Quiet() {
		move, ok = r.judge.observer.Ledger().Match(ledgerPod(pod), r.judge.now())
	}
	if !ok {
		charge := chargeOf(pod, amounts)
		r.presume(pod, board.Likeliest(nodes, charge.Requests, scores), charge)
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

func chargeOf(pod *extender.Pod, amounts cluster.Amounts) cluster.Charge {
	return cluster.NewCharge(amounts, cluster.Amounts{pod.CPUMilli, pod.MemoryBytes})
}

func (r round) estimate(pod *extender.Pod) cluster.Amounts {
	atLeastZero := func(v int64) int64 { return max(v, 0) }
	return r.judge.observer.Estimate(r.observation, &observer.Unmeasured{
		UID: pod.UID,
		Kin: usage.Kin{
			Namespace: pod.Namespace, Owner: cluster.Owner{UID: pod.OwnerUID, Kind: pod.OwnerKind, Name: pod.OwnerName},
			TemplateHash: pod.TemplateHash,
		},
		Requests: cluster.Amounts{atLeastZero(pod.CPUMilli), atLeastZero(pod.MemoryBytes)},
		Limits:   cluster.Amounts{pod.LimitCPUMilli, pod.LimitMemoryBytes},
	})
}

func ledgerPod(pod *extender.Pod) ledger.Pod {
	created, _ := time.Parse(time.RFC3339, pod.Created) // a time that cannot be read is not known
	return ledger.Pod{
		UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, OwnerUID: pod.OwnerUID, OwnerKind: pod.OwnerKind,
		TemplateHash: pod.TemplateHash, Created: created,
	}
}
