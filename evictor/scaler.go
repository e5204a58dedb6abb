package evictor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// surgeForbiddenFor is how long pods that request a surge are not moved
	// after the API server has forbidden scaling.
	surgeForbiddenFor = 30 * time.Minute
	// settleSurgeTimeout bounds scaling back one Deployment that a predecessor
	// scaled up.
	settleSurgeTimeout = 10 * time.Second
)

// DeploymentScaler scales Deployments through their scale subresource, which
// needs its own permission.
type DeploymentScaler struct {
	kube   kubernetes.Interface
	leader Leader
	clock  Clock
	// callTimeout bounds a call that sets a scale, so that it ends before
	// another process can acquire the Lease.
	callTimeout time.Duration
	// forbidden is when the API server last forbade scaling, in Unix
	// nanoseconds; 0 for never.
	forbidden atomic.Int64
}

var _ Scaler = (*DeploymentScaler)(nil)

// NewDeploymentScaler returns a DeploymentScaler that changes nothing unless
// this process leads. callTimeout bounds each call that changes something; zero
// means scaleTimeout.
func NewDeploymentScaler(kube kubernetes.Interface, leader Leader, clock Clock, callTimeout time.Duration) *DeploymentScaler {
	if callTimeout <= 0 {
		callTimeout = scaleTimeout
	}
	return &DeploymentScaler{kube: kube, leader: leader, clock: clock, callTimeout: callTimeout}
}

// Scale implements Scaler.
func (s *DeploymentScaler) Scale(ctx context.Context, namespace, deployment string) (Scale, error) {
	scale, err := s.kube.AppsV1().Deployments(namespace).GetScale(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return Scale{}, s.noteForbidden(fmt.Errorf("reading the scale: %w", err))
	}
	return Scale{Replicas: scale.Spec.Replicas, Version: scale.ResourceVersion}, nil
}

// SetScale implements Scaler.
func (s *DeploymentScaler) SetScale(ctx context.Context, namespace, deployment string, to Scale) error {
	if err := s.leader.Leads(); err != nil {
		return &reasons.Refusal{Reason: reasons.NotLeader, Detail: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deployment, ResourceVersion: to.Version},
		Spec:       autoscalingv1.ScaleSpec{Replicas: to.Replicas},
	}
	if _, err := s.kube.AppsV1().Deployments(namespace).UpdateScale(ctx, deployment, scale, metav1.UpdateOptions{}); err != nil {
		return s.noteForbidden(fmt.Errorf("setting the scale: %w", err))
	}
	return nil
}

// noteForbidden remembers that scaling is forbidden.
func (s *DeploymentScaler) noteForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		s.forbidden.Store(s.clock.Now().UnixNano())
	}
	return err
}

// Forbidden implements Scaler.
func (s *DeploymentScaler) Forbidden() bool {
	at := s.forbidden.Load()
	age := s.clock.Now().Sub(time.Unix(0, at)) // below 0 if the clock went back
	return at != 0 && age >= 0 && age < surgeForbiddenFor
}

// SettleSurges scales back the Deployments that a predecessor, or a cycle with
// failed calls, left scaled up.
func (s *DeploymentScaler) SettleSurges(ctx context.Context, moves *ledger.Ledger) {
	for _, move := range moves.Surges() {
		if err := s.settle(ctx, &move); err != nil {
			klog.FromContext(ctx).Error(err, "Deployment is still scaled up for a move that is over",
				"deployment", klog.KRef(move.Namespace, move.Surge.Deployment))
			continue
		}
		moves.EndSurge(move.PodUID, s.clock.Now())
	}
}

func (s *DeploymentScaler) settle(ctx context.Context, move *ledger.Move) error {
	ctx, cancel := context.WithTimeout(ctx, settleSurgeTimeout)
	defer cancel()
	_, err := ScaleBack(ctx, s, move.Namespace, *move.Surge)
	return err
}
