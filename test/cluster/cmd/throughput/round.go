package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

// roundWithin bounds one round of one variant.
const roundWithin = 10 * time.Minute

// round makes a variant place a wave of pods with a new kube-scheduler, and then removes
// the pods. Everything is prepared while kube-scheduler waits for its Lease.
func (s *stage) round(ctx context.Context, v throughput.Variant) (throughput.Figure, error) {
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	if err := s.holdLease(ctx); err != nil {
		return throughput.Figure{}, err
	}
	if err := s.createPods(ctx, pods(v, s.flags.pods)); err != nil {
		return throughput.Figure{}, err
	}
	scheduler, err := s.startScheduler(ctx, v)
	if err != nil {
		return throughput.Figure{}, err
	}
	figure, err := s.measure(ctx, scheduler, s.flags.pods, s.releaseLease)
	return figure, errors.Join(err, scheduler.process.Stop(), s.removePods(ctx))
}

// measure lets kube-scheduler begin and waits until the given number of pods is
// bound.
func (s *stage) measure(ctx context.Context, scheduler *scheduler, pods int, begin func(context.Context) error) (figure throughput.Figure, err error) {
	if s.flags.apart {
		if err := apart(); err != nil {
			return figure, err
		}
	}
	before, err := s.read(ctx, scheduler)
	if err != nil {
		return figure, err
	}
	bindings, err := s.bind(ctx, pods, begin)
	if err != nil {
		return figure, err
	}
	after, err := s.read(ctx, scheduler)
	if err != nil {
		return figure, err
	}
	// A figure counts only if the handler was called for every pod and verb.
	asked, want := after.asked-before.asked, scheduler.variant.Verbs()*pods
	if asked < want || want == 0 && asked > 0 {
		return figure, fmt.Errorf("the handler was asked %d times for %d pods, want %d", asked, pods, want)
	}
	perPod := func(took time.Duration) float64 { return float64(took.Milliseconds()) / float64(pods) }
	figure.SchedulerMilliPerPod, figure.HandlerMilliPerPod = perPod(after.scheduler-before.scheduler), perPod(after.handler-before.handler)
	figure.PodsPerSecond, err = bindings.PodsPerSecond()
	return figure, err
}

// bind lets kube-scheduler begin and follows the bindings up to the last one.
func (s *stage) bind(ctx context.Context, pods int, begin func(context.Context) error) (*throughput.Bindings, error) {
	log, err := s.openAudit()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := begin(ctx); err != nil {
		return nil, err
	}
	bindings := &throughput.Bindings{}
	err = eventually(ctx, roundWithin, "every pod is bound", func(context.Context) (bool, error) {
		err := bindings.Read(log)
		return bindings.Count >= pods, err
	})
	if err != nil {
		return nil, fmt.Errorf("%w (%d of %d)", err, bindings.Count, pods)
	}
	return bindings, nil
}

// openAudit opens the audit log and moves to its current end.
func (s *stage) openAudit() (*os.File, error) {
	mark, err := s.Cluster.AuditMark()
	if err != nil {
		return nil, err
	}
	log, err := os.Open(s.Cluster.AuditPath())
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	if _, err := log.Seek(int64(mark), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the audit log: %w", err), log.Close())
	}
	return log, nil
}

// holdLease takes the Lease for a long time, so that kube-scheduler does not begin.
func (s *stage) holdLease(ctx context.Context) error {
	if err := s.releaseLease(ctx); err != nil {
		return err
	}
	holder, seconds, now := "throughput", int32(roundWithin/time.Second), metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: throughput.LeaseNamespace, Name: throughput.LeaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}
	_, err := s.Cluster.Client().CoordinationV1().Leases(lease.Namespace).Create(ctx, lease, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("holding kube-scheduler's Lease: %w", err)
	}
	return nil
}

func (s *stage) releaseLease(ctx context.Context) error {
	err := s.Cluster.Client().CoordinationV1().Leases(throughput.LeaseNamespace).Delete(ctx, throughput.LeaseName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("releasing kube-scheduler's Lease: %w", err)
	}
	return nil
}
