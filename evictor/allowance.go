package evictor

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// verdictAge is how long a verdict stays valid while no move changes.
const verdictAge = time.Second

// allowance returns what the safeguards allow now.
func (e *Evictor) allowance() *safeguards.Verdict {
	now, revision := e.config.Clock.Now(), e.ledger().Revision()
	e.mu.Lock()
	defer e.mu.Unlock()
	if age := now.Sub(e.at); e.verdict == nil || revision != e.revision || age < 0 || age > verdictAge {
		e.verdict, e.at, e.revision = e.config.Settings.Safeguards.At(e.facts(now), now), now, revision
	}
	return e.verdict
}

// Standing returns the number of further evictions that the hourly budget allows (-1 if
// unlimited), and the reason why nothing may be evicted. It evaluates the calendar and
// the budget now, and takes every other reason from the last check. It records nothing,
// so it may be called at any time.
func (e *Evictor) Standing() (left int, holds reasons.Reason) {
	now, facts := e.config.Clock.Now(), safeguards.Facts{Pods: e.census()}
	facts.InFlight, facts.Ended = e.ledger().Moves()
	left = e.config.Settings.Safeguards.At(facts, now).Left()
	if calendar := e.config.Settings.Calendar; calendar != nil {
		if open, _, _ := calendar.Open(now); !open {
			return left, reasons.OutsideWindow
		}
	}
	if left == 0 {
		return left, reasons.MovesPerHour
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.verdict == nil {
		return left, ""
	}
	if holds, _ = e.verdict.Closed(); holds == reasons.OutsideWindow || holds == reasons.MovesPerHour {
		return left, "" // the reason no longer applies
	}
	return left, holds
}

// facts returns the input of the safeguards.
func (e *Evictor) facts(now time.Time) safeguards.Facts {
	facts := safeguards.Facts{
		CycleStart: e.cycleStart, Pods: e.census(), Unsteered: Holds(e.ledger().Hold(), now, 0) != "", Unrest: &e.unrest, Replacement: e.config.Cluster.Replacement,
	}
	facts.InFlight, facts.Ended = e.ledger().Moves()
	for _, call := range e.ledger().Calls() {
		facts.Calls = append(facts.Calls, safeguards.Call{
			Whose: safeguards.Whose{Namespace: call.Namespace, OwnerUID: call.OwnerUID}, Pod: call.Namespace + "/" + call.Pod,
			At: call.At, Refused: call.Refused, Err: call.Failed,
		})
	}
	if latest := e.config.Observer.Latest(); latest != nil {
		for _, info := range latest.View.Snapshot.Nodes {
			if !info.Node.Member() {
				continue
			}
			facts.Nodes++
			if !info.Node.Ready && info.Node.Leaving == "" { // a node that is being removed stops in any case
				facts.NotReady++
			}
		}
		e.lookAround(latest.View.Snapshot, now)
	}
	if calendar := e.config.Settings.Calendar; calendar != nil {
		if open, why, changes := calendar.Open(now); !open {
			facts.Closed, facts.Opens = why, changes
		}
	}
	return facts
}

// lookAround records changes to the cluster that others make.
func (e *Evictor) lookAround(snapshot *cluster.Snapshot, now time.Time) {
	if !e.unrest.Due(now) {
		return
	}
	stir := safeguards.Stir{Draining: map[string]time.Time{}, Waiting: e.config.Cluster.Waiting()}
	stir.Pods = len(stir.Waiting)
	for _, info := range snapshot.Nodes {
		stir.Pods += len(info.Pods)
		if !info.Node.Member() {
			continue
		}
		stir.Nodes++
		if since, draining := info.Node.Draining(); draining {
			stir.Draining[info.Node.Name] = since
		}
	}
	e.unrest.Recall(e.ledger().Unrest())
	e.unrest.Observe(stir, e.config.Settings.Safeguards.Breaker(), now)
	e.ledger().SetUnrest(e.unrest.Memory())
}

// Until returns when the given reason for refusing a pod ends; the zero time if that is
// not known in advance. Another reason may follow.
func (e *Evictor) Until(pod *v1.Pod, reason reasons.Reason) time.Time {
	owner := e.config.Cluster.Owner(pod)
	if why, until := owner.Refuses(e.config.Clock.Now(), e.config.Settings.OwnerSettle); why == reason {
		return until
	}
	if why, until := e.refuseBySafeguards(pod, ""); why == reason {
		return until
	}
	return time.Time{}
}

// refuseBySafeguards returns why nothing of a pod's owner, node, namespace or node pool
// may be evicted now, and until when if that is known.
func (e *Evictor) refuseBySafeguards(pod *v1.Pod, plugin string) (reasons.Reason, time.Time) {
	intent := ledger.Intent{Namespace: pod.Namespace, From: pod.Spec.NodeName, Pool: e.pool(pod.Spec.NodeName), Plugin: plugin}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		intent.Owner.UID = string(ref.UID)
	}
	reason, _, until := e.allowance().Around(&intent)
	return reason, until
}

// pool returns the name of a node's pool.
func (e *Evictor) pool(node string) string {
	if latest, i := e.find(node); i >= 0 {
		return latest.Lines.Pool(i)
	}
	return ""
}
