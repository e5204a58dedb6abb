package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
	"github.com/evenkeel/evenkeel/thresholds"
)

// restrain joins the restraint's rules to what this process knows.
type restrain struct {
	rules    *safeguards.Rules
	calendar *policy.Calendar

	mu         sync.Mutex
	cycleStart time.Time
	verdict    *safeguards.Verdict
	at         time.Time
	revision   int64
}

// verdictAge is how long a verdict is good for while no move changes.
const verdictAge = time.Second

func (a *App) wireRestraint() (err error) {
	e := &a.load.Eviction
	a.restraint.calendar, err = e.Calendar()
	if err != nil {
		return &UsageError{fmt.Errorf("%s: %w", a.options.PolicyFile, err)}
	}
	a.restraint.rules = restraintRules(e)
	return nil
}

// restraintRules are a policy's rules of restraint.
func restraintRules(e *policy.Eviction) *safeguards.Rules {
	return safeguards.New(safeguards.Config{
		MaxPerHour:            e.MaxMovesPerHour,
		MaxPerHourOfNamespace: e.MaxMovesPerHourOfNamespace,
		MaxPerHourOfOwner:     e.MaxMovesPerHourOfOwner,
		MaxPerHourOfPool:      e.MaxMovesPerHourOfNodePool,
		NodeSettle:            e.NodeSettle.Duration,
		MoveTTL:               e.MoveTTL.Duration,
		Cooldown:              safeguards.Cooldown{Base: e.Cooldown.Base.Duration, Max: e.Cooldown.Max.Duration},
		Breaker: safeguards.Breaker{
			MaxPending:         e.Breaker.MaxPendingReplacements,
			PendingAfter:       e.Breaker.PendingAfter.Duration,
			MaxUnready:         e.Breaker.MaxUnreadyReplacements,
			UnreadyAfter:       e.Breaker.UnreadyAfter.Duration,
			MaxRefusedPercent:  e.Breaker.MaxRefusedPercent,
			MaxErrors:          e.Breaker.MaxErrors,
			Rest:               e.Breaker.Rest.Duration,
			MaxNotReadyPercent: e.Breaker.MaxNotReadyPercent,
		},
	})
}

// beginCycle lets the moves of the cycle that begins settle none of its own nodes.
func (r *restrain) beginCycle(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cycleStart, r.verdict = now, nil
}

// restrained is what may be evicted now.
func (a *App) restrained() *safeguards.Verdict {
	r, now, revision := &a.restraint, a.now(), a.observer.Ledger().Revision()
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.at); r.verdict == nil || revision != r.revision || age < 0 || age > verdictAge {
		r.verdict, r.at, r.revision = r.rules.At(a.restraintFacts(now), now), now, revision
	}
	return r.verdict
}

func (a *App) restraintFacts(now time.Time) safeguards.Facts {
	facts := safeguards.Facts{CycleStart: a.restraint.cycleStart}
	facts.InFlight, facts.Ended = a.observer.Ledger().Moves()
	facts.InFlight, facts.Ended = restrainedBy(facts.InFlight), restrainedBy(facts.Ended)
	names := make(map[string]*ledger.Move, len(facts.Ended))
	for i := range facts.Ended {
		names[facts.Ended[i].Replacement] = &facts.Ended[i]
	}
	facts.Health = func(uid string) safeguards.Health { return a.healthOf(names[uid]) }
	for _, call := range a.gate.Calls() {
		facts.Calls = append(facts.Calls, safeguards.Call{At: call.At, Refused: call.Refused, Err: call.Failed})
	}
	if latest := a.observer.Latest(); latest != nil {
		facts.Nodes = len(latest.View.Nodes)
		for i := range latest.View.Snapshot.Nodes {
			if !latest.View.Snapshot.Nodes[i].Node.Ready {
				facts.NotReady++
			}
		}
	}
	if open, why, changes := a.restraint.calendar.Open(now); !open {
		facts.Closed, facts.Opens = why, changes
	}
	return facts
}

// healthOf is how the replacement of a move that landed is.
func (a *App) healthOf(move *ledger.Move) safeguards.Health {
	pod := a.replacement(move)
	if pod == nil {
		return safeguards.Health{}
	}
	return safeguards.Health{Known: true, Ready: podutil.IsPodReady(pod), Restarts: restarts(pod)}
}

// replacement returns the pod that took a move up, nil if it is gone.
func (a *App) replacement(move *ledger.Move) *v1.Pod {
	if move == nil || move.ReplacementName == "" {
		return nil
	}
	pod := a.pod(move.Namespace, move.ReplacementName)
	if pod == nil || string(pod.UID) != move.Replacement {
		return nil
	}
	return pod
}

// restarts counts how often the pod's containers were started again.
func restarts(pod *v1.Pod) int {
	n := 0
	for i := range pod.Status.ContainerStatuses {
		n += int(pod.Status.ContainerStatuses[i].RestartCount)
	}
	return n
}

// closed says why nothing may be evicted, whatever usage says.
func (a *App) closed() string {
	reason, detail := a.restrained().Closed()
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s", reason, detail)
}

// refuse says why a pod may not be moved: its owner or its budgets forbid it, or it is not the time.
func (a *App) refuse(pod *v1.Pod) reasons.Reason {
	if reason := a.owners.refuse(pod); reason != "" {
		return reason
	}
	if a.owners.surges(pod) && a.scaler.forbids() {
		return reasons.SurgeFailed
	}
	verdict := a.restrained()
	owner := ""
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		owner = string(ref.UID)
	}
	pool := a.pool(pod.Spec.NodeName)
	for _, ask := range []func() (reasons.Reason, string){
		func() (reasons.Reason, string) { return verdict.Owner(owner) },
		func() (reasons.Reason, string) { return verdict.Node(pod.Spec.NodeName) },
		func() (reasons.Reason, string) { return verdict.Namespace(pod.Namespace) },
		func() (reasons.Reason, string) { return verdict.Pool(pool) },
	} {
		if reason, _ := ask(); reason != "" {
			return reason
		}
	}
	return ""
}

// allow is the Gate's last question about a move.
func (a *App) allow(intent *ledger.Intent) (reasons.Reason, string) {
	if reason, detail := a.restrained().Refuse(intent); reason != "" {
		return reason, detail
	}
	if intent.To != "" && a.lastReady(intent) { // what upstream's plugins evict is theirs to judge
		return reasons.LastReadyReplica, "its owner wants several, and no other one is ready"
	}
	return "", ""
}

// lastReady reports whether no other pod of its owner would be ready without a pod. Pods
// are counted by the watch, without those that this cycle has evicted.
func (a *App) lastReady(intent *ledger.Intent) bool {
	pod := a.pod(intent.Namespace, intent.Pod)
	if pod == nil {
		return false
	}
	others, err := a.informers.Core().V1().Pods().Lister().Pods(intent.Namespace).List(labels.Everything())
	return err != nil || a.owners.lastReady(pod, others, a.gate.Evicted)
}

// pool names the node pool of a node.
func (a *App) pool(node string) string {
	latest := a.observer.Latest()
	if latest == nil {
		return ""
	}
	i := latest.View.Snapshot.Index(node)
	if i < 0 {
		return ""
	}
	return latest.Lines.Pool(i)
}

// judgeMoves looks at what the moves that landed have brought, once their measurements are in.
func (a *App) judgeMoves(ctx context.Context) {
	latest := a.observer.Latest()
	if latest == nil || latest.Blocked != "" {
		return
	}
	_, ended := a.observer.Ledger().Moves()
	for i := range ended {
		move := &ended[i]
		if !judgeable(move, a.now(), a.load.Eviction.OutcomeAfter.Duration) {
			continue
		}
		facts, ok := a.outcomeFacts(latest, move)
		if !ok {
			continue
		}
		outcome := ledger.Assess(*move, facts)
		a.observer.Ledger().Judge(move.PodUID, outcome)
		a.landings.judged(&outcome)
		klog.FromContext(ctx).V(2).Info("Move judged", "pod", klog.KRef(move.Namespace, move.Pod), "node", move.From,
			"destination", move.Node, "planned", outcome.Planned, "sourceCooler", outcome.SourceCooler,
			"destinationUnder", outcome.DestinationUnder, "healthy", outcome.Healthy)
	}
}

// outcomeFacts gathers what a move is judged by; not ok while its source or its destination is there and not
// measured.
func (a *App) outcomeFacts(latest *observer.Observation, move *ledger.Move) (facts ledger.OutcomeFacts, ok bool) {
	facts.Now = a.now()
	if pod := a.replacement(move); pod != nil {
		facts.Exists, facts.Ready, facts.Restarts = true, podutil.IsPodReady(pod), restarts(pod)
	}
	snapshot := latest.View.Snapshot
	if from := snapshot.Index(move.From); from >= 0 {
		if !latest.View.Nodes[from].Known() {
			return facts, false
		}
		facts.SourceUsed = current(latest.View, from)
		facts.SourceHot = latest.States[move.From].State == thresholds.Hot
	}
	if to := snapshot.Index(move.Node); to >= 0 {
		if !latest.View.Nodes[to].Known() {
			return facts, false
		}
		_, facts.DestinationOver = latest.Lines.Over(to)
	}
	return facts, true
}
