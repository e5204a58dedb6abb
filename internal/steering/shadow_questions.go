package steering

import (
	"container/list"
	"time"
)

// The bounds of what a Shadow remembers.
const (
	// maxQuestions is how many pods may wait to be seen on a node, and maxAnswers how many nodes their requests may have
	// named in all: 16 MB of answers.
	maxQuestions = 4096
	maxAnswers   = 1 << 20
	// maxPending is for how long a pod is waited for after it was last asked for.
	maxPending = 10 * time.Minute
	// maxPlacements is how many placements are shown, maxExamples how many rejected nodes are named with each.
	maxPlacements = 200
	maxExamples   = 10
)

// questions are the requests whose pods were not seen on a node yet: one per pod, in the order in which they were asked.
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

// add enters a request in place of an older one about the same pod. It returns those that made room: the oldest, but never
// the new one.
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

// uids returns the pods that are waited for.
func (q *questions) uids() map[string]struct{} {
	uids := make(map[string]struct{}, len(q.byUID))
	for uid := range q.byUID {
		uids[uid] = struct{}{}
	}
	return uids
}
