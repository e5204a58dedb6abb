package steering

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// question is a request about a pod with what would have been answered.
type question struct {
	namespace, name, uid string
	at                   time.Time
	// index finds the nodes that the answers are about; nil before the first observation.
	index   *extender.Index
	answers []answer
	// candidates counts the nodes of the request, rejected those that the filter would have rejected, a few of them named.
	candidates, rejected int
	examples             []RejectedNode
	// allRejected says that there was no other node: the reply would have kept them all.
	allRejected bool
	best        *Considered
}

// answer is what would have been said of one node. There are as many as nodes in a request, so it is small.
type answer struct {
	node      int32
	score     int8
	reason    extender.Reject
	known     bool
	predicted [cluster.NumResources]float32 // percent of allocatable with the pod
}

// scratch is what one answer is worked out in.
type scratch struct {
	reasons []extender.Reject
	kept    []int32
	scores  []int8
}

func (s *scratch) resize(n int) {
	if cap(s.reasons) < n {
		*s = scratch{reasons: make([]extender.Reject, n), kept: make([]int32, n), scores: make([]int8, n)}
	}
	s.reasons, s.kept, s.scores = s.reasons[:n], s.kept[:0], s.scores[:n]
	clear(s.reasons)
}

// advise works out what a Judge that takes up no move answers: which nodes its filter rejects, and the scores of the rest.
func (r shadowRound) advise(pod *extender.Pod, nodes []int32, now time.Time) *question {
	q := &question{namespace: pod.Namespace, name: pod.Name, uid: pod.UID, at: now, candidates: len(nodes)}
	if r.observation == nil {
		return q
	}
	q.index = r.index
	work, ok := r.shadow.scratch.Get().(*scratch)
	if !ok {
		work = &scratch{}
	}
	defer r.shadow.scratch.Put(work)
	work.resize(len(nodes))
	amounts := r.estimate(pod)
	r.reject(pod, amounts, nodes, work.reasons)
	r.tellRejected(q, nodes, work)
	if len(work.kept) == 0 {
		q.allRejected, work.kept = true, append(work.kept, nodes...)
		clear(work.reasons)
	}
	r.observation.Board.Score(work.kept, amounts, work.scores[:len(work.kept)])
	r.answer(q, nodes, amounts, work)
	return q
}

// reject is a Judge's filter without moves.
func (r shadowRound) reject(pod *extender.Pod, amounts cluster.Amounts, nodes []int32, reasons []extender.Reject) {
	if !r.judge.observer.Ledger().Quiet() {
		r.avoidSource(pod, nodes, reasons, r.judge.now())
	}
	r.rejectFull(pod, amounts, nodes, reasons)
}

// tellRejected counts the rejected nodes and leaves the others in work.kept.
func (r shadowRound) tellRejected(q *question, nodes []int32, work *scratch) {
	for k, i := range nodes {
		if work.reasons[k] == extender.RejectNone {
			work.kept = append(work.kept, i)
			continue
		}
		q.rejected++
		if len(q.examples) < maxExamples { // only nodes that the board has are rejected
			q.examples = append(q.examples, RejectedNode{Node: r.observation.Board.Name(i), Reason: work.reasons[k].String()})
		}
	}
}

// answer keeps what would have been said of each node, and the best of them.
func (r shadowRound) answer(q *question, nodes []int32, amounts cluster.Amounts, work *scratch) {
	q.answers = make([]answer, len(nodes))
	best, kept := -1, 0
	for k, i := range nodes {
		a := &q.answers[k]
		a.node, a.reason = i, work.reasons[k]
		percents, known := r.observation.Board.With(i, amounts)
		a.known = known
		for resource, percent := range percents {
			a.predicted[resource] = float32(percent)
		}
		if a.reason != extender.RejectNone {
			continue
		}
		a.score = work.scores[kept]
		kept++
		if i >= 0 && (best < 0 || a.before(&q.answers[best])) {
			best = k
		}
	}
	if best >= 0 {
		considered := q.answers[best].considered(r.observation.Board.Name(nodes[best]))
		q.best = &considered
	}
}

// before orders answers by score, equal ones by what is known and how cool the node is.
func (a *answer) before(b *answer) bool {
	switch {
	case a.score != b.score:
		return a.score > b.score
	case a.known != b.known:
		return a.known
	default:
		return a.hottest() < b.hottest()
	}
}

func (a *answer) hottest() float32 {
	hottest := a.predicted[0]
	for _, percent := range a.predicted[1:] {
		hottest = max(hottest, percent)
	}
	return hottest
}
