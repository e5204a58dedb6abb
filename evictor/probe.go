package evictor

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor/landings"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// probeAgainAfter is how long evictions stay on hold after a failed probe
// unless kube-scheduler asks an extender in the meantime.
const probeAgainAfter = safeguards.UnsteeredFor

// whyUnsteered finds out how replacements are steered, and returns why they are not.
// Steering that is proven needs no probe. The moves of a descheduler plugin are made even
// without steering, because their destinations are the ones that kube-scheduler's own
// scores prefer.
func (x *Execution) whyUnsteered(ctx context.Context) reasons.Reason {
	if x.e.config.Steering == nil || x.evictions.DryRun() || len(x.left) == 0 {
		return ""
	}
	proven, err := x.e.config.Steering.Proven(ctx)
	if x.hosted {
		x.unaided = err != nil
		return ""
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Nothing is evicted, because replacements would not be steered", "reason", reasons.SteeringAbsent)
		return reasons.SteeringAbsent
	}
	if x.probing = !proven; proven {
		x.e.ledger().SetHold(ledger.Hold{})
	}
	return ""
}

// ready prepares the steering of a pod's replacement just before it can be created.
func (x *Execution) ready(ctx context.Context, move *Move, pod *v1.Pod) (reason reasons.Reason, wait bool) {
	if x.e.config.Steering == nil || x.evictions.DryRun() || x.unaided {
		return "", false
	}
	leaving := &ledger.Leaving{Intent: &move.Intent, Pod: pod}
	if x.e.config.Steering.Restricts(leaving) {
		leaving.Nodes = x.e.landings(ctx, move, pod)
	}
	reason, wait = x.e.config.Steering.Ready(ctx, leaving)
	if x.hosted {
		return "", wait
	}
	if reason == reasons.SteeringAbsent {
		x.stop = reason
	}
	return reason, wait
}

// landings returns the nodes to which a replacement may be restricted. It returns none
// without an observation, as under a policy with only descheduler plugins, because
// nothing is then known about nodes.
func (e *Evictor) landings(ctx context.Context, move *Move, pod *v1.Pod) []string {
	latest := e.config.Observer.Latest()
	if latest == nil {
		return nil
	}
	session, err := e.Session(ctx, nil)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking for alternates failed", "pod", klog.KObj(pod))
		return nil
	}
	defer session.Close()
	return landings.Of(latest, &move.Intent, pod, func(node string) bool { return session.Fits(pod, node).OK })
}

func (x *Execution) undo(ctx context.Context, move *Move) {
	if x.e.config.Steering != nil && !x.evictions.DryRun() {
		x.e.config.Steering.Undo(ctx, &move.Intent)
	}
}

// whyHeld returns why this cycle must not evict; empty if it may. A failed probe is kept
// in the ledger, so that later cycles and one-shot runs do not probe again too soon. A
// probe in every cycle would evict one pod per interval without cooling anything.
func (x *Execution) whyHeld(ctx context.Context) reasons.Reason {
	hold := x.e.ledger().Hold()
	if hold.Reason == "" || hold.Partial || len(x.left) == 0 || x.hosted { // the safeguards enforce a partial hold
		return ""
	}
	reason := Holds(hold, x.e.config.Clock.Now(), x.e.asked(ctx))
	if reason != "" {
		klog.FromContext(ctx).Info("Evictions on hold until kube-scheduler asks the extender", "reason", reason,
			"since", hold.Since, "probeAgainAt", hold.Until)
	}
	return reason
}

// endHold ends a hold whose time is over.
func (e *Evictor) endHold(ctx context.Context) {
	hold := e.ledger().Hold()
	if hold.Reason != "" && Holds(hold, e.config.Clock.Now(), e.asked(ctx)) == "" {
		e.ledger().SetHold(ledger.Hold{})
	}
}

// Holds returns why evictions are on hold, given the time and the number of requests that
// kube-scheduler has made; empty if evictions may be tried again. A hold that begins more
// than an hour from now was set by a wrong clock.
func Holds(hold ledger.Hold, now time.Time, asked int64) reasons.Reason {
	if asked > hold.Asked || !now.Before(hold.Until) || hold.Since.Sub(now) > time.Hour {
		return ""
	}
	return reasons.Reason(hold.Reason)
}

// failed puts evictions on hold because a replacement was not steered or did not land. It
// stops the evictions of one namespace, and all evictions only once this has happened to
// several owners in several namespaces, so that a single template cannot stop everyone.
func (x *Execution) failed(ctx context.Context, move *ledger.Move, reason reasons.Reason) {
	x.e.ledger().Unsteered(move.PodUID, string(reason))
	x.unsteered[move.Namespace] = reason
	x.hold(ctx, reason, true)
	if x.e.allowance().Unsteered() {
		x.stop = reason
	}
}

// keep puts the next cycles on hold if this one ended with failed probes.
func (x *Execution) keep(ctx context.Context) {
	if x.stop == reasons.SteeringAbsent || x.stop == reasons.ProbeNotLanded {
		x.hold(ctx, x.stop, false)
	}
}

func (x *Execution) hold(ctx context.Context, reason reasons.Reason, partial bool) {
	now := x.e.config.Clock.Now()
	hold := ledger.Hold{Reason: string(reason), Since: now, Until: now.Add(probeAgainAfter), Asked: x.e.asked(ctx), Partial: partial}
	x.e.ledger().SetHold(hold)
	message := "Replacements are not steered, so kube-scheduler places them by requests alone"
	if reason == reasons.ProbeNotLanded {
		message = "The replacement of the first evicted pod was not bound in time"
	}
	klog.FromContext(ctx).Error(nil, message, "reason", reason, "probeAgainAt", hold.Until, "ofItsNamespaceOnly", partial)
}

func (e *Evictor) asked(ctx context.Context) int64 {
	if e.config.Steering == nil {
		return 0
	}
	return e.config.Steering.Asked(ctx)
}

// startProbe makes a pod's replacement the probe. It does not wait for a grace period or
// a Job's backoff longer than ProbeTimeout, because anyone who creates a pod can choose
// these freely.
func (x *Execution) startProbe(pod *v1.Pod) {
	if !x.probing {
		return
	}
	timeout := x.e.config.Settings.ProbeTimeout
	x.probe, x.probeBy = string(pod.UID), x.e.config.Clock.Local().Add(timeout)
	x.probeFails = x.probeBy.Add(x.comesWithin(pod))
	if x.comesWithin(pod) <= timeout {
		x.probeBy = x.probeFails
	}
}

// comesWithin returns the maximum time from a pod's eviction to the creation of its
// replacement: the pod's grace period plus the time that its owner may wait beyond that.
func (x *Execution) comesWithin(pod *v1.Pod) time.Duration {
	return grace(pod, &metav1.DeleteOptions{GracePeriodSeconds: x.e.config.Settings.GracePeriodSeconds}) + x.e.config.Cluster.Owner(pod).Backoff
}

// quickFirst puts the pods first whose replacements come soon, because the first
// replacement is the probe. A replacement comes soon if the owner creates it at once or
// after a short wait.
func (x *Execution) quickFirst() {
	if !x.probing {
		return
	}
	slow := func(m *Move) int {
		pod := x.e.config.Cluster.Pod(m.Namespace, m.Pod)
		if m.Owner.Kind == "ReplicaSet" || m.Owner.Kind == "ReplicationController" || pod == nil || x.comesWithin(pod) <= x.e.config.Settings.ProbeTimeout {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(x.left, func(a, b Move) int { return slow(&a) - slow(&b) })
}

// overdue judges a probe that has not landed in time. While its pod may still be
// terminating, the delay proves nothing. Only its namespace then has to wait for the next
// cycle, and a move in another namespace becomes the next probe.
func (x *Execution) overdue(ctx context.Context, move *ledger.Move) (over bool) {
	now := x.e.config.Clock.Local()
	switch {
	case !move.InFlight() || !now.Before(x.probeFails):
		x.failed(ctx, move, reasons.ProbeNotLanded)
	case move.Replacement != "": // now only kube-scheduler can keep the replacement from landing
		x.probeBy = now.Add(x.e.config.Settings.ProbeTimeout)
		x.probeFails = x.probeBy
		return false
	default:
		x.unsteered[move.Namespace] = reasons.ProbeNotLanded
		klog.FromContext(ctx).Info("The first evicted pod takes long to terminate, so another namespace's move shows whether replacements are steered",
			"pod", klog.KRef(move.Namespace, move.Pod))
	}
	x.probe = ""
	return true
}

// probed reports whether the probe is over. A failed probe sets stop.
func (x *Execution) probed(ctx context.Context) bool {
	move, ok := x.e.ledger().Get(x.probe)
	switch {
	case ok && move.State == ledger.Landed:
		x.probe = ""
		x.learn(ctx, &move)
		return true
	case ok && move.State == ledger.Cancelled: // its owner wants no replacement, so the next move is the probe
		x.probe = ""
		return true
	case !ok || !move.InFlight() || x.e.config.Clock.Local().After(x.probeBy):
		if !ok { // its owner is unknown
			x.probe, x.stop = "", reasons.ProbeNotLanded
			return true
		}
		return x.overdue(ctx, &move)
	}
	return false
}

// learn evaluates whether a landing proves steering. A replacement that was created with
// a node proves nothing, regardless of the node.
func (x *Execution) learn(ctx context.Context, move *ledger.Move) {
	if move.CameBound {
		x.e.ledger().Unsteered(move.PodUID, string(reasons.Unsteerable))
		return
	}
	switch x.e.config.Steering.Proves(ctx, move) {
	case ledger.Steered:
		x.probing = false
	case ledger.NotSteered:
		x.failed(ctx, move, reasons.SteeringAbsent)
	case ledger.Unproven:
	}
}
