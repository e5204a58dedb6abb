package answer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Shadow implements extender.Answerer without influence: it keeps every node,
// prefers none and records what its Answerer would have answered. Once the
// watch shows the pod bound, it compares that with kube-scheduler's choice. It
// matches no move and books nothing, because the choice is kube-scheduler's
// alone; nor do its requests count as the Answerer's. It is safe for concurrent
// use.
type Shadow struct {
	answerer *Answerer
	metrics  *shadowMetrics
	scratch  sync.Pool    // of *scratch
	asked    atomic.Int64 // requests
	last     atomic.Int64 // unix seconds of the newest request

	mu      sync.Mutex // held only to look up one pod, or to settle those that were found
	pending *questions
	recent  []Placement // oldest first
	counts  map[Comparison]int64
}

var _ extender.Answerer = (*Shadow)(nil)

// NewShadow returns a Shadow of an Answerer and registers its metrics; a nil
// registerer keeps them private.
func NewShadow(answerer *Answerer, reg prometheus.Registerer) (*Shadow, error) {
	if answerer == nil {
		return nil, errors.New("steering: a Shadow needs an Answerer")
	}
	metrics, err := newShadowMetrics(reg)
	if err != nil {
		return nil, err
	}
	return &Shadow{
		answerer: answerer, metrics: metrics, pending: newQuestions(maxQuestions, maxAnswers), counts: map[Comparison]int64{},
	}, nil
}

// Run compares after each observation until the context ends.
func (s *Shadow) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).V(2)
	var last *observer.Observation
	wait.UntilWithContext(ctx, func(context.Context) {
		latest := s.answerer.observer.Latest()
		if latest == nil || latest == last {
			return
		}
		last = latest
		for _, placement := range s.Settle(latest) {
			logger.Info("Placement compared", "pod", klog.KRef(placement.Namespace, placement.Pod), "verdict", placement.Comparison,
				"scoreGap", placement.ScoreGap, "chosen", placement.Chosen, "best", placement.Best, "rejected", placement.Rejected)
		}
	}, time.Second)
	return nil
}

// Settle compares the recorded answers with the nodes that an observation has
// their pods on, and gives up on requests that are too old. It returns the
// compared placements.
func (s *Shadow) Settle(observation *observer.Observation) []Placement {
	bound := s.bound(observation)
	s.mu.Lock()
	defer s.mu.Unlock()
	settled := make([]Placement, 0, len(bound))
	for uid, node := range bound {
		asked := s.pending.take(uid)
		if asked == nil {
			continue // dropped in the meantime
		}
		settled = append(settled, asked.compare(node, observation.At))
	}
	slices.SortFunc(settled, inOrder)
	for i := range settled {
		s.settle(&settled[i])
	}
	for range s.pending.expire(s.answerer.now().Add(-maxPending)) {
		s.count(Unbound)
	}
	s.metrics.pending.Set(float64(s.pending.len()))
	return settled
}

// bound finds the nodes of the pending pods. Searching all pods of a cluster
// takes milliseconds, so it does not hold the lock, which would delay requests.
func (s *Shadow) bound(observation *observer.Observation) map[string]string {
	s.mu.Lock()
	wanted := s.pending.uids()
	s.mu.Unlock()
	if len(wanted) == 0 {
		return nil
	}
	nodes := map[string]string{}
	for _, node := range observation.View.Snapshot.Nodes {
		for _, pod := range node.Pods {
			if _, ok := wanted[pod.UID]; ok {
				nodes[pod.UID] = node.Node.Name
			}
		}
	}
	return nodes
}

func inOrder(a, b Placement) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.UID, b.UID)) }

func (s *Shadow) settle(placement *Placement) {
	if s.recent = append(s.recent, *placement); len(s.recent) > maxPlacements {
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.count(placement.Comparison)
	if placement.ScoreGap != nil {
		s.metrics.gap.Observe(float64(*placement.ScoreGap))
	}
}

func (s *Shadow) count(comparison Comparison) {
	s.counts[comparison]++
	s.metrics.placements[comparison].Inc()
}
