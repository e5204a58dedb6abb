package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
)

// surgeAnnotation with the value "true" asks for a surge: that another pod is ready before this one, the only one of its
// Deployment, is evicted.
const surgeAnnotation = "evenkeel.io/surge"

const (
	// surgeForbiddenFor is how long pods that ask for a surge are not moved once the API server has forbidden to scale.
	surgeForbiddenFor = 30 * time.Minute
	// settleTimeout bounds bringing back one Deployment that a predecessor has scaled up.
	settleTimeout = 10 * time.Second
)

// surge returns the Deployment that is to be scaled up before a pod is evicted; empty for a pod that does not ask for it or is
// not the only one.
func (o *owners) surge(pod *v1.Pod) (deployment string) {
	if pod.Annotations[surgeAnnotation] != "true" {
		return ""
	}
	set, ok := o.of(pod).(*appsv1.ReplicaSet)
	if !ok || wanted(set) != 1 {
		return ""
	}
	ref := metav1.GetControllerOfNoCopy(set)
	if ref == nil || ref.Kind != "Deployment" {
		return ""
	}
	return ref.Name
}

// surges says whether a pod is not missed by anybody when it is evicted.
func (o *owners) surges(pod *v1.Pod) bool { return o.surge(pod) != "" }

// scaler scales Deployments through their scale, which needs a permission of its own.
type scaler struct {
	client kubernetes.Interface
	now    func() time.Time
	// forbidden is when the API server last forbade it, in nanoseconds; 0 for never.
	forbidden atomic.Int64
}

var _ evictor.Scaler = (*scaler)(nil)

// Scale returns how many pods a Deployment wants.
func (s *scaler) Scale(ctx context.Context, namespace, deployment string) (evictor.Scale, error) {
	scale, err := s.client.AppsV1().Deployments(namespace).GetScale(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return evictor.Scale{}, s.heed(fmt.Errorf("reading the scale: %w", err))
	}
	return evictor.Scale{Replicas: scale.Spec.Replicas, Version: scale.ResourceVersion}, nil
}

// SetScale sets how many pods a Deployment wants.
func (s *scaler) SetScale(ctx context.Context, namespace, deployment string, to evictor.Scale) error {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deployment, ResourceVersion: to.Version},
		Spec:       autoscalingv1.ScaleSpec{Replicas: to.Replicas},
	}
	if _, err := s.client.AppsV1().Deployments(namespace).UpdateScale(ctx, deployment, scale, metav1.UpdateOptions{}); err != nil {
		return s.heed(fmt.Errorf("setting the scale: %w", err))
	}
	return nil
}

// heed remembers that scaling is forbidden.
func (s *scaler) heed(err error) error {
	if apierrors.IsForbidden(err) {
		s.forbidden.Store(s.now().UnixNano())
	}
	return err
}

// forbids says whether scaling was forbidden lately.
func (s *scaler) forbids() bool {
	at := s.forbidden.Load()
	return at != 0 && s.now().Sub(time.Unix(0, at)) < surgeForbiddenFor
}

// settleSurges scales back what a predecessor, or a cycle whose calls failed, left scaled up.
func (s *scaler) settleSurges(ctx context.Context, moves *ledger.Ledger) {
	for _, move := range moves.Surges() {
		if err := s.settleSurge(ctx, &move); err != nil {
			klog.FromContext(ctx).Error(err, "Deployment is still scaled up for a move that is over",
				"deployment", klog.KRef(move.Namespace, move.Surge.Deployment))
			continue
		}
		moves.EndSurge(move.PodUID, s.now())
	}
}

func (s *scaler) settleSurge(ctx context.Context, move *ledger.Move) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	_, err := evictor.ScaleBack(ctx, s, move.Namespace, *move.Surge)
	return err
}

// restrainedBy shows a move with a surge for what it is to the restraint. Until its pod is evicted nothing has been taken
// from anybody, though its replacement may have landed; and one that failed is a move that did not help, so that its owner
// cools down.
func restrainedBy(moves []ledger.Move) []ledger.Move {
	for i := range moves {
		switch move := &moves[i]; {
		case move.SurgeFailed():
			if move.Outcome == nil {
				move.Outcome = &ledger.Outcome{Judged: move.Ended}
			}
			move.State, move.From, move.Node = ledger.Landed, "", "" // it settles no node
		case move.Surging() && move.Evicted.IsZero() && (move.State == ledger.Booked || move.State == ledger.Landed):
			move.State = ledger.Intended
		}
	}
	return moves
}

// judgeable says whether a move that landed is to be judged now: once both its replacement is there and its pod is gone for
// as long as given.
func judgeable(move *ledger.Move, now time.Time, after time.Duration) bool {
	if move.State != ledger.Landed || move.Outcome != nil || move.Surging() {
		return false
	}
	since := move.Ended
	if move.Evicted.After(since) {
		since = move.Evicted
	}
	return now.Sub(since) >= after
}
