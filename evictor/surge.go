package evictor

import (
	"cmp"
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// maxSurges is how many Deployments are scaled up at a time.
	maxSurges = 5
	// scaleCheckInterval is how often a surge checks whether somebody else has
	// scaled the Deployment.
	scaleCheckInterval = 5 * time.Second
	// scaleTimeout bounds each call that reads or sets a scale,
	// scaleBackTimeout all those that scale Deployments back at the end.
	scaleTimeout, scaleBackTimeout = 5 * time.Second, 5 * time.Second
)

// surge is a move whose Deployment is scaled up first. Its pod is evicted once
// the replacement is ready.
type surge struct {
	move  Move
	until time.Time
	// announced is closed once the processes that answer kube-scheduler had
	// time to learn of the surge.
	announced chan struct{}
	cancel    context.CancelFunc
	attempts  int
	// called: a scale-up call may have been accepted. scaled: it was.
	called, scaled bool
	// proved: the landing was checked as a proof of steering.
	proved  bool
	checked time.Time
}

// surgeHeld lets few surges run at a time, and one of an owner that nothing else
// moves.
func (q *question) surgeHeld(context.Context) ruling {
	switch {
	case q.move.Surge == "" || q.e.config.Evictions.DryRun():
		return ruling{}
	case q.e.config.Scaler == nil:
		return refusing(reasons.SurgeFailed)
	}
	return ruling{wait: len(q.cycle.surges) >= maxSurges || q.e.inFlight(q.move.Namespace, q.move.Owner.UID) > 0}
}

// surge takes the next step of a surge that has begun. It returns wait if there
// is none yet, and neither reason nor wait once the pod may be evicted.
func (c *Cycle) surge(ctx context.Context, s *surge, pod *v1.Pod) (reason reasons.Reason, wait bool) {
	switch {
	case !c.e.config.Clock.Local().Before(s.until):
		return c.surgeFailed(ctx, s, errSurgeTime), false
	case !s.scaled:
		return c.scaleUp(ctx, s, pod)
	}
	if reason, wait := c.surged(ctx, s); wait || reason != "" {
		return reason, wait
	}
	budgets, owner := c.e.config.Cluster.Budgets(pod), c.e.config.Cluster.Owner(pod)
	if reason := refuseByBudgets(budgets, false); owner.Missing || reason != "" && !passes(reason) {
		return cmp.Or(reason, reasons.OwnerUnknown), false
	} else if reason != "" || owner.RollingOut {
		return "", true
	}
	if r, refused := c.backingOff[s.move.PodUID]; refused && !r.over(budgets, c.e.config.Clock.Local()) {
		return "", true
	}
	return c.checkScale(ctx, s, 0)
}

var (
	errSurgeTime     = errors.New("the replacement was not ready, or the pod could not be evicted, in time")
	errSurgeMove     = errors.New("the replacement is no longer expected")
	errSurgeGone     = errors.New("the replacement is gone")
	errSurgeScaled   = errors.New("somebody else has scaled the Deployment")
	errSurgeConflict = errors.New("the Deployment keeps changing")
)

// beginSurge records the surge, so that a successor can scale back if this
// process does not.
func (c *Cycle) beginSurge(ctx context.Context, move *Move) (reasons.Reason, bool) {
	if !c.e.ledger().BeginSurge(move.PodUID, ledger.Surge{Deployment: move.Surge, Replicas: surgedReplicas}) {
		return reasons.PodChanged, false
	}
	announcing, cancel := context.WithCancel(ctx)
	// Its pod's grace does not count: whoever creates a pod chooses it, and everybody
	// else's next moves wait for the end of the surge.
	s := &surge{move: *move, until: c.e.config.Clock.Local().Add(move.Margin), announced: make(chan struct{}), cancel: cancel}
	c.surges[move.PodUID] = s
	if err := c.e.config.Evictions.Commit(ctx); err != nil {
		close(s.announced)
		return c.classify(err), false
	}
	go func() { // endSurge waits for it
		defer close(s.announced)
		c.e.config.Evictions.Announced(announcing)
	}()
	return "", true
}

// scaleUp scales the Deployment up to get the replacement.
func (c *Cycle) scaleUp(ctx context.Context, s *surge, pod *v1.Pod) (reasons.Reason, bool) {
	select {
	case <-s.announced:
	default:
		return "", true
	}
	if err := c.e.config.Evictions.Permits(ctx); err != nil {
		return c.classify(err), false
	}
	to, err := c.scale(ctx, s)
	if err != nil {
		return c.surgeFailed(ctx, s, err), false
	}
	if to.Replicas != surgedReplicas {
		return c.surgeFailed(ctx, s, errSurgeScaled), false
	}
	if reason, wait := c.ready(ctx, &s.move, pod); wait || reason != "" {
		return reason, wait
	}
	to.Replicas++
	err = c.setScale(ctx, s, to)
	switch {
	case err == nil:
		s.called, s.scaled, s.checked = true, true, c.e.config.Clock.Local()
		klog.FromContext(ctx).Info("Scaled up for a move", "deployment", klog.KRef(s.move.Namespace, s.move.Surge),
			"pod", klog.KRef(s.move.Namespace, s.move.Pod), "node", s.move.From, "destination", s.move.To)
		return "", true
	case apierrors.IsConflict(err):
		if s.attempts++; s.attempts < scaleAttempts {
			return "", true
		}
		err = errSurgeConflict
	case !refused(err):
		s.called = true // an unanswered call may have been accepted
	}
	return c.surgeFailed(ctx, s, err), false
}

// surged waits until the replacement has landed and is ready.
func (c *Cycle) surged(ctx context.Context, s *surge) (reasons.Reason, bool) {
	move, ok := c.e.ledger().Get(s.move.PodUID)
	switch {
	case !ok || move.State == ledger.Cancelled || move.State == ledger.Expired:
		return c.surgeFailed(ctx, s, errSurgeMove), false
	case move.State != ledger.Landed:
		reason, _ := c.checkScale(ctx, s, scaleCheckInterval)
		return reason, reason == ""
	}
	if c.proves(ctx, s, move); c.stop != "" {
		return "", true
	}
	if reason := c.unsteered[move.Namespace]; reason != "" {
		return reason, false
	}
	switch r := c.e.config.Cluster.Replacement(&move); {
	case !r.Exists || r.Terminating:
		return c.surgeFailed(ctx, s, errSurgeGone), false
	case !r.Ready || !c.takesOver(&move):
		reason, _ := c.checkScale(ctx, s, scaleCheckInterval)
		return reason, reason == ""
	}
	return "", false
}

// takesOver reports whether a surge's second pod has been ready for as long as its
// owner requires.
func (c *Cycle) takesOver(move *ledger.Move) bool {
	second := c.e.config.Cluster.Pod(move.Namespace, move.ReplacementName)
	if second == nil {
		return false
	}
	owner := c.e.config.Cluster.Owner(second)
	return owner.MinReady <= 0 || owner.Available(second, c.e.config.Clock.Now())
}

// proves uses the landing as the probe, which costs no eviction.
func (c *Cycle) proves(ctx context.Context, s *surge, move ledger.Move) {
	if s.proved || !c.probing {
		return
	}
	s.proved = true
	c.learn(ctx, &move)
}

// checkScale fails the surge if somebody else has scaled the Deployment. It
// reads the scale at most once per interval; if that fails, it waits.
func (c *Cycle) checkScale(ctx context.Context, s *surge, interval time.Duration) (reason reasons.Reason, wait bool) {
	now := c.e.config.Clock.Local()
	if interval > 0 && now.Sub(s.checked) < interval {
		return "", false
	}
	s.checked = now
	scale, err := c.scale(ctx, s)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Reading the scale of a Deployment failed",
			"deployment", klog.KRef(s.move.Namespace, s.move.Surge), "error", err.Error())
		return "", true
	}
	if scale.Replicas != surgedReplicas+1 {
		return c.surgeFailed(ctx, s, errSurgeScaled), false
	}
	return "", false
}

// surgeFailed logs why a surge fails, a missing permission only once. When the
// move is dropped, its Deployment is scaled back.
func (c *Cycle) surgeFailed(ctx context.Context, s *surge, err error) reasons.Reason {
	logger := klog.FromContext(ctx)
	if !apierrors.IsForbidden(err) {
		logger.Info("Surge failed", "deployment", klog.KRef(s.move.Namespace, s.move.Surge),
			"pod", klog.KRef(s.move.Namespace, s.move.Pod), "error", err.Error())
	} else if !c.e.forbiddenLogged {
		c.e.forbiddenLogged = true
		logger.Error(err, "Scaling Deployments is forbidden, so pods that request a surge are not moved")
	}
	return reasons.SurgeFailed
}

// endSurge scales a move's Deployment back, if it has one. A failure is retried
// when the cycle ends, and then by the next cycle.
func (c *Cycle) endSurge(ctx context.Context, podUID string) error {
	s := c.surges[podUID]
	if s == nil {
		return nil
	}
	s.cancel()
	<-s.announced
	if s.called {
		ctx, cancel := context.WithTimeout(ctx, scaleTimeout)
		defer cancel()
		scale, err := ScaleBack(ctx, c.e.config.Scaler, s.move.Namespace, ledger.Surge{Deployment: s.move.Surge, Replicas: surgedReplicas})
		if err != nil {
			return err
		}
		if !s.scaled && scale.Replicas == surgedReplicas {
			return errSurgeUnsure
		}
	}
	delete(c.surges, podUID)
	c.e.ledger().EndSurge(podUID, c.e.config.Clock.Now())
	return nil
}

var errSurgeUnsure = errors.New("a scale-up call was not answered and may still take effect")

// endSurges scales back every Deployment that is still scaled up, in bounded
// time, even when the process is told to stop.
func (c *Cycle) endSurges(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scaleBackTimeout)
	defer cancel()
	for podUID, s := range c.surges {
		if err := c.endSurge(ctx, podUID); err != nil {
			klog.FromContext(ctx).Error(err, "Deployment was not scaled back, the next cycle will retry",
				"deployment", klog.KRef(s.move.Namespace, s.move.Surge))
		}
	}
}

// setScale makes the call and waits for its answer even when the process is
// told to stop, so that it is known what was scaled up.
func (c *Cycle) setScale(ctx context.Context, s *surge, to Scale) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scaleTimeout)
	defer cancel()
	return c.e.config.Scaler.SetScale(ctx, s.move.Namespace, s.move.Surge, to)
}

func (c *Cycle) scale(ctx context.Context, s *surge) (Scale, error) {
	ctx, cancel := context.WithTimeout(ctx, scaleTimeout)
	defer cancel()
	return c.e.config.Scaler.Scale(ctx, s.move.Namespace, s.move.Surge)
}
