package answer

import (
	"container/list"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// The limits of a Shadow's memory.
const (
	// maxQuestions is how many pods may be pending, and maxAnswers how many
	// nodes their requests may have named in total: 16 MB of answers.
	maxQuestions = 4096
	maxAnswers   = 1 << 20
	// maxPending is how long a pod may be pending after the last request for
	// it.
	maxPending = 10 * time.Minute
	// maxPlacements is how many placements are reported; maxExamples is how
	// many rejected nodes each of them lists.
	maxPlacements = 200
	maxExamples   = 10
)

// questions holds the requests whose pods have not been seen on a node yet: one
// per pod, in the order in which they came.
type questions struct {
	maxPods, maxAnswers int
	byUID               map[string]*list.Element
	order               *list.List // of *question, the oldest first
	answers             int
}

func newQuestions(maxPods, maxAnswers int) *questions {
	return &questions{maxPods: maxPods, maxAnswers: maxAnswers, byUID: map[string]*list.Element{}, order: list.New()}
}

func (q *questions) len() int { return q.order.Len() }

// add adds a request, replacing an older one about the same pod. It returns
// those dropped to stay within the limits: the oldest, but never the new one.
func (q *questions) add(asked *question) (dropped []*question) {
	q.take(asked.uid)
	q.byUID[asked.uid] = q.order.PushBack(asked)
	q.answers += len(asked.answers)
	for q.order.Len() > 1 && (q.order.Len() > q.maxPods || q.answers > q.maxAnswers) {
		dropped = append(dropped, q.takeOldest())
	}
	return dropped
}

// take removes the request about a pod and returns it, or nil.
func (q *questions) take(uid string) *question {
	element, ok := q.byUID[uid]
	if !ok {
		return nil
	}
	delete(q.byUID, uid)
	asked, _ := q.order.Remove(element).(*question)
	q.answers -= len(asked.answers)
	return asked
}

func (q *questions) oldest() *question {
	if q.order.Len() == 0 {
		return nil
	}
	asked, _ := q.order.Front().Value.(*question)
	return asked
}

func (q *questions) takeOldest() *question { return q.take(q.oldest().uid) }

// expire removes the requests from before a time.
func (q *questions) expire(before time.Time) (expired []*question) {
	for oldest := q.oldest(); oldest != nil && oldest.at.Before(before); oldest = q.oldest() {
		expired = append(expired, q.takeOldest())
	}
	return expired
}

// uids returns the pending pods.
func (q *questions) uids() map[string]struct{} {
	uids := make(map[string]struct{}, len(q.byUID))
	for uid := range q.byUID {
		uids[uid] = struct{}{}
	}
	return uids
}

// question is a request about a pod with the answer that it would have
// received.
type question struct {
	namespace, name, uid string
	at                   time.Time
	// index finds the nodes that the answers are about; nil before the first
	// observation.
	index   *extender.Index
	answers []answer
	// candidates counts the nodes of the request; rejected counts those that
	// the filter would have rejected, of which examples lists a few.
	candidates, rejected int
	examples             []RejectedNode
	// allRejected reports that all nodes were rejected, so that the reply would
	// have kept them all.
	allRejected bool
	best        *Considered
}

// answer is the answer about one node. There is one per node of a request, so
// it is small.
type answer struct {
	node      cluster.NodeIndex
	score     int8
	reason    extender.Reject
	known     bool
	predicted [cluster.NumResources]float32 // percent of allocatable with the pod
}

// before orders answers by score, then known nodes first, then the coolest
// first.
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

// Considered is a node of a request with the answer that it would have got.
type Considered struct {
	Node string `json:"node"`
	// Score is 0 to 10; missing if the node would have been rejected or was not
	// in the request.
	Score *int `json:"score,omitempty"`
	// Rejected is why the filter would have kept the pod off the node.
	Rejected string `json:"rejected,omitempty"`
	// Predicted is the node's usage with the pod on it, as of the request;
	// missing if it was unknown.
	Predicted *PredictedPercent `json:"predictedPercent,omitempty"`
}

// PredictedPercent is predicted usage in percent of allocatable.
type PredictedPercent struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// RejectedNode is a node that the filter would have rejected, and why.
type RejectedNode struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// find returns the answer about a node, or nil if the request did not name it
// or the node was unknown then.
func (q *question) find(node string) *answer {
	if q.index == nil {
		return nil
	}
	wanted := q.index.Find([]byte(node))
	if wanted < 0 {
		return nil
	}
	i := slices.IndexFunc(q.answers, func(a answer) bool { return a.node == wanted })
	if i < 0 {
		return nil
	}
	return &q.answers[i]
}

func (a *answer) considered(node string) Considered {
	c := Considered{Node: node}
	if a.reason == extender.RejectNone {
		score := int(a.score)
		c.Score = &score
	} else {
		c.Rejected = a.reason.String()
	}
	if a.known {
		c.Predicted = &PredictedPercent{CPU: tenths(a.predicted[cluster.CPU]), Memory: tenths(a.predicted[cluster.Memory])}
	}
	return c
}

// tenths rounds to one decimal place.
func tenths(percent float32) float64 { return math.Round(float64(percent)*10) / 10 }
