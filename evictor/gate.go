package evictor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// EventReason is the reason of the Event on an evicted pod.
const EventReason = "EvictedFromHotNode"

// GateConfig is what a Gate depends on.
type GateConfig struct {
	Client kubernetes.Interface
	Ledger *ledger.Ledger
	// Events tells about evicted pods.
	Events events.EventRecorder
	// Paused reads the kill switch; see PauseSwitch.
	Paused func(context.Context) error
	// Leads says why this process must not evict any more; nil where there is no election.
	Leads func() error
	// Commit stores what the ledger holds, for others to know before an eviction; nil where nothing is stored.
	Commit func(context.Context) error
	// Stored says whether storing has worked lately; nil where nothing is stored.
	Stored func() bool
	// Allow says why a move is not to be made now, with the detail; nil allows all.
	Allow func(*ledger.Intent) (reasons.Reason, string)
	// DryRun makes the Gate answer as if every eviction succeeded, without a call that changes anything.
	DryRun bool
	// Timeout bounds an eviction with all its calls, CallTimeout the eviction call itself; 5 s where it is zero.
	Timeout, CallTimeout time.Duration
	// MoveTTL is how long beyond its grace period a move stays in flight, at the moment; nil adds nothing.
	MoveTTL func() time.Duration
	Now     func() time.Time
	Metrics *Metrics
}

// Gate makes evictions. It is safe for concurrent use.
type Gate struct {
	config GateConfig

	mu sync.Mutex
	// announced holds the Executor's moves that are on their way through the framework, by key.
	announced map[string]*attempt
	// evicted holds the UIDs of the pods that were evicted in this cycle, or would have been in a dry run.
	evicted map[string]bool
	calls   calls
}

// attempt is one announced move and what came of it. The framework flattens errors, so they are handed back here.
type attempt struct {
	move Move
	// unplanned: an upstream plugin evicts.
	unplanned bool
	made      bool
	err       error
}

// NewGate returns a Gate.
func NewGate(config GateConfig) (*Gate, error) {
	if config.Client == nil || config.Ledger == nil || config.Now == nil || config.Paused == nil || config.Timeout <= 0 {
		return nil, errors.New("evictor: Client, Ledger, Paused, Now and Timeout must be set")
	}
	if config.CallTimeout <= 0 {
		config.CallTimeout = 5 * time.Second
	}
	if config.MoveTTL == nil {
		config.MoveTTL = func() time.Duration { return 0 }
	}
	return &Gate{config: config, announced: map[string]*attempt{}, evicted: map[string]bool{}}, nil
}

// Evicted says whether this Gate has evicted the pod in this cycle, in a dry run too.
func (g *Gate) Evicted(podUID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.evicted[podUID]
}

// ResetCycle forgets what was evicted.
func (g *Gate) ResetCycle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.evicted = map[string]bool{}
}

// announce lets a move pass the Gate under its own intent until withdraw is called.
func (g *Gate) announce(move Move) *attempt {
	a := &attempt{move: move}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.announced[move.Key()] = a
	return a
}

func (g *Gate) withdraw(a *attempt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.announced, a.move.Key())
}

func (g *Gate) take(key string) *attempt {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.announced[key]
}

// evict is the one place where Evenkeel evicts.
func (g *Gate) evict(ctx context.Context, eviction *policyv1.Eviction) error {
	a := g.take(eviction.Namespace + "/" + eviction.Name)
	if a == nil {
		a = &attempt{unplanned: true}
	}
	a.err = g.try(ctx, eviction, a)
	g.config.Metrics.evicted(a.err)
	return a.err
}

func (g *Gate) try(ctx context.Context, eviction *policyv1.Eviction, a *attempt) error {
	ctx, cancel := context.WithTimeout(ctx, g.config.Timeout)
	defer cancel()
	if err := g.config.Paused(ctx); err != nil {
		return err
	}
	pod, err := g.config.Client.CoreV1().Pods(eviction.Namespace).Get(ctx, eviction.Name, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			return &Refusal{reasons.PodChanged, "it is gone"}
		}
		return fmt.Errorf("reading pod %q again: %w", eviction.Namespace+"/"+eviction.Name, err)
	}
	if a.unplanned {
		a.move = g.unplanned(pod, eviction)
	} else if err := unchanged(pod, &a.move); err != nil {
		return err
	}
	if g.config.Allow != nil {
		if reason, detail := g.config.Allow(&a.move.Intent); reason != "" {
			return &Refusal{reason, detail}
		}
	}
	if g.config.DryRun {
		g.remember(a.move.PodUID)
		klog.FromContext(ctx).Info("Would evict pod", "pod", klog.KObj(pod), "node", a.move.From, "destination", a.move.To)
		return nil
	}
	return g.call(ctx, eviction, pod, a)
}

// call makes the eviction call for a move that is on record. The move of an
// upstream plugin is recorded here. A planned move was recorded with its plan: one
// that is not in flight any more was cancelled or expired since, and is not made.
func (g *Gate) call(ctx context.Context, eviction *policyv1.Eviction, pod *v1.Pod, a *attempt) error {
	recorded := g.config.Ledger.Moving(a.move.PodUID)
	if a.unplanned && !recorded {
		g.config.Ledger.Record(g.config.Now(), a.move.Intent)
	}
	if a.unplanned && !recorded || g.config.Stored != nil && !g.config.Stored() {
		if err := g.commit(ctx); err != nil {
			g.config.Ledger.Cancel(a.move.PodUID, g.config.Now())
			return err
		}
	}
	if err := g.leads(); err != nil {
		return err
	}
	if !g.config.Ledger.Moving(a.move.PodUID) {
		return &Refusal{reasons.MoveCancelled, "its owner wants fewer pods, or its time is over"}
	}
	err := g.post(ctx, eviction, pod)
	g.calls.add(g.config.Now(), err)
	if err != nil && refused(err) {
		if !recorded {
			g.config.Ledger.Cancel(a.move.PodUID, g.config.Now())
		}
		return err
	}
	g.config.Ledger.Accepted(a.move.PodUID, g.config.Now()) // where the answer got lost the eviction may have happened
	if err != nil {
		return fmt.Errorf("evicting pod %q: %w", a.move.Key(), err)
	}
	a.made = true
	g.remember(a.move.PodUID)
	klog.FromContext(ctx).Info("Evicted pod", "pod", klog.KObj(pod), "node", a.move.From, "destination", a.move.To,
		"cpuMilli", a.move.Usage[0], "memoryBytes", a.move.Usage[1])
	if g.config.Events != nil && a.move.Message != "" {
		g.config.Events.Eventf(pod, nil, v1.EventTypeNormal, EventReason, "Evicting", "%s", a.move.Message)
	}
	return nil
}

// commit stores the ledger. Nothing is evicted that is not stored.
func (g *Gate) commit(ctx context.Context) error {
	if g.config.Commit == nil || g.config.DryRun {
		return nil
	}
	if err := g.config.Commit(ctx); err != nil {
		return &Refusal{reasons.LedgerUnwritable, err.Error()}
	}
	return nil
}

// refused says whether the API server answered that it did not evict. Without an answer, or with one that tells of a
// timeout on the way, it may have.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return false
	}
	code := status.Status().Code
	return code != http.StatusBadGateway && code != http.StatusGatewayTimeout
}

// post creates the eviction under the pod's UID, so that a namesake is never hit, and without client-go's hidden retries
// on 429: waiting for a PodDisruptionBudget is the Executor's business. A call that has begun is waited for when the process
// is told to end, for less time than a Lease takes to be taken over, so that its answer is known.
func (g *Gate) post(ctx context.Context, eviction *policyv1.Eviction, pod *v1.Pod) error {
	if err := ctx.Err(); err != nil {
		return &Refusal{reasons.Stopping, err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(g.config.Timeout, g.config.CallTimeout))
	defer cancel()
	eviction = eviction.DeepCopy()
	if eviction.DeleteOptions == nil {
		eviction.DeleteOptions = &metav1.DeleteOptions{}
	}
	eviction.DeleteOptions.Preconditions = &metav1.Preconditions{UID: &pod.UID}
	return g.config.Client.CoreV1().RESTClient().Post().
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).VersionedParams(&metav1.CreateOptions{}, scheme.ParameterCodec).
		Body(eviction).Do(ctx).Error()
}

// leads says that this process must not evict any more.
func (g *Gate) leads() error {
	if g.config.Leads == nil {
		return nil
	}
	if err := g.config.Leads(); err != nil {
		return &Refusal{reasons.NotLeader, err.Error()}
	}
	return nil
}

// permits says why nothing may be changed now.
func (g *Gate) permits(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.config.Timeout)
	defer cancel()
	if err := g.config.Paused(ctx); err != nil {
		return err
	}
	if err := g.leads(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Refusal{reasons.Stopping, err.Error()}
	}
	return nil
}

func (g *Gate) remember(podUID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.evicted[podUID] = true
}

func unchanged(pod *v1.Pod, move *Move) error {
	switch {
	case string(pod.UID) != move.PodUID:
		return &Refusal{reasons.PodChanged, "another pod has its name"}
	case pod.Spec.NodeName != move.From:
		return &Refusal{reasons.PodChanged, "it runs on another node"}
	case pod.DeletionTimestamp != nil:
		return &Refusal{reasons.PodChanged, "it is terminating"}
	}
	return nil
}

// unplanned is the move of an upstream plugin: it names no destination, the extender finds one.
func (g *Gate) unplanned(pod *v1.Pod, eviction *policyv1.Eviction) Move {
	record := informed.Pod(pod)
	return Move{Intent: ledger.Intent{
		Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Owner: record.Owner, TemplateHash: record.TemplateHash,
		From: pod.Spec.NodeName, TTL: Grace(pod, eviction.DeleteOptions) + g.config.MoveTTL(),
	}}
}

// Grace returns the time a pod is given to end.
func Grace(pod *v1.Pod, options *metav1.DeleteOptions) time.Duration {
	seconds := int64(v1.DefaultTerminationGracePeriodSeconds)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *pod.Spec.TerminationGracePeriodSeconds
	}
	if options != nil && options.GracePeriodSeconds != nil {
		seconds = *options.GracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}

// GraceSeconds converts a grace period of the API.
func GraceSeconds(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }
