package answer

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// scratch holds the buffers for one answer.
type scratch struct {
	reasons []extender.Reject
	kept    []cluster.NodeIndex
	scores  []int8
}

func (s *scratch) resize(n int) {
	if cap(s.reasons) < n {
		*s = scratch{reasons: make([]extender.Reject, n), kept: make([]cluster.NodeIndex, n), scores: make([]int8, n)}
	}
	s.reasons, s.kept, s.scores = s.reasons[:n], s.kept[:0], s.scores[:n]
	clear(s.reasons)
}

// advise determines the answer of an Answerer without moves: which nodes its
// filter rejects, and the scores of the others.
func (r shadowRound) advise(pod *subject, nodes []cluster.NodeIndex, now time.Time) *question {
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
	r.splitRejected(q, nodes, work)
	if len(work.kept) == 0 {
		q.allRejected, work.kept = true, append(work.kept, nodes...)
		clear(work.reasons)
	}
	r.observation.Board.Score(work.kept, amounts, work.scores[:len(work.kept)])
	r.answer(q, nodes, amounts, work)
	return q
}

// reject is the Answerer's filter without moves.
func (r shadowRound) reject(pod *subject, amounts cluster.Amounts, nodes []cluster.NodeIndex, reasons []extender.Reject) {
	if !r.answerer.observer.Ledger().Quiet() {
		r.avoidSource(pod, nodes, reasons, r.answerer.now())
	}
	r.rejectFull(pod, amounts, nodes, reasons)
}

// splitRejected counts the rejected nodes and puts the others in work.kept.
func (r shadowRound) splitRejected(q *question, nodes []cluster.NodeIndex, work *scratch) {
	for k, i := range nodes {
		if work.reasons[k] == extender.RejectNone {
			work.kept = append(work.kept, i)
			continue
		}
		q.rejected++
		if len(q.examples) < maxExamples { // rejected nodes are always on the board
			q.examples = append(q.examples, RejectedNode{Node: r.observation.Board.Name(i), Reason: work.reasons[k].String()})
		}
	}
}

// answer records the answer for each node, and the best node.
func (r shadowRound) answer(q *question, nodes []cluster.NodeIndex, amounts cluster.Amounts, work *scratch) {
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

// Begin opens a round on the newest observation.
func (s *Shadow) Begin() extender.Round {
	return shadowRound{round: s.answerer.begin(), shadow: s}
}

var _ extender.Indexed = shadowRound{}

// shadowRound leaves every answer as it arrives: neutral.
type shadowRound struct {
	round
	shadow *Shadow
}

// Filter keeps all nodes and records what the answer would have been.
func (r shadowRound) Filter(pod *extender.Pod, nodes []cluster.NodeIndex, _ []extender.Reject) {
	r.ask(pod, nodes)
}

// Prioritize prefers no node and records what the answer would have been.
func (r shadowRound) Prioritize(pod *extender.Pod, nodes []cluster.NodeIndex, _ []int8) {
	r.ask(pod, nodes)
}

// ask records the answer to one request; for a pod only the newest counts.
func (r shadowRound) ask(pod *extender.Pod, nodes []cluster.NodeIndex) {
	s, now, subject := r.shadow, r.answerer.now(), claimed(pod)
	if subject.learn(r.answerer.observer); subject.known {
		s.asked.Add(1)
		s.last.Store(now.Unix())
	}
	if pod.UID == "" { // it could not be recognised once bound
		return
	}
	asked := r.advise(&subject, nodes, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.pending.add(asked) {
		s.count(Dropped)
	}
	s.metrics.pending.Set(float64(s.pending.len()))
}
