package evictor

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// EventReason is the reason of the Event on an evicted pod.
const EventReason = "EvictedFromHotNode"

// ClientConfig is what a Client depends on.
type ClientConfig struct {
	Kube      kubernetes.Interface
	Ledger    *ledger.Ledger
	Authority Authority
	// Events records the evicted pods.
	Events events.EventRecorder
	// DryRun makes the Client report success for every eviction without a call
	// that changes anything.
	DryRun bool
	// Timeout bounds each step of an eviction, and CallTimeout the eviction call alone.
	// Both are 5s if zero.
	Timeout, CallTimeout time.Duration
	Clock                Clock
}

// Client makes evictions, under any policy. It is safe for concurrent use.
type Client struct {
	config ClientConfig

	mu sync.Mutex
	// evicted holds the UIDs of the pods that were evicted in this cycle, or that a dry
	// run would have evicted. of counts them by node and namespace.
	evicted map[string]bool
	of      map[origin]uint
}

// origin is a node or a namespace for which evictions are counted.
type origin struct{ node, namespace string }

var _ Evictions = (*Client)(nil)

// NewClient returns a Client.
func NewClient(config ClientConfig) (*Client, error) {
	if config.Kube == nil || config.Ledger == nil || config.Clock == nil || config.Authority == nil || config.Timeout <= 0 {
		return nil, errors.New("evictor: Kube, Ledger, Authority, Clock and Timeout must be set")
	}
	if config.CallTimeout <= 0 {
		config.CallTimeout = 5 * time.Second
	}
	config.CallTimeout = min(config.Timeout, config.CallTimeout)
	c := &Client{config: config}
	c.ResetCycle()
	return c, nil
}

// DryRun implements Evictions.
func (c *Client) DryRun() bool { return c.config.DryRun }

// Evicted implements Evictions.
func (c *Client) Evicted(podUID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evicted[podUID]
}

// ResetCycle forgets what was evicted.
func (c *Client) ResetCycle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evicted, c.of = map[string]bool{}, map[origin]uint{}
}

// Made implements Evictions.
func (c *Client) Made(node, namespace string) Made {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Made{Total: uint(len(c.evicted)), OfNode: c.of[origin{node: node}], OfNamespace: c.of[origin{namespace: namespace}]}
}

// BeginDryRun makes a turn of a plugin in dry run begin: what other has evicted in this
// cycle counts, and what the turns before would have evicted does not.
func (c *Client) BeginDryRun(other *Client) {
	other.mu.Lock()
	evicted, of := maps.Clone(other.evicted), maps.Clone(other.of)
	other.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evicted, c.of = evicted, of
}

// Read implements Evictions.
func (c *Client) Read(ctx context.Context, namespace, name string) (*v1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	pod, err := c.config.Kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, &reasons.Refusal{Reason: reasons.PodChanged, Detail: "it is gone"}
	case err != nil:
		return nil, fmt.Errorf("reading pod %q again: %w", namespace+"/"+name, err)
	}
	return pod, nil
}

// Evict implements Evictions. All evictions of cycles are made here. The only other
// evictions are those of replacements that fit on none of the nodes to which package
// admission has restricted them. Evict records the move of a plugin that evicts by
// itself, if it has no destination. Any other move was recorded before. If it is no
// longer in flight, it was cancelled or has expired, and is not made.
func (c *Client) Evict(ctx context.Context, pod *v1.Pod, move *Move, eviction *policyv1.Eviction) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	intent := &move.Intent
	switch {
	case c.config.DryRun:
		c.remember(intent)
		history.LogEviction(ctx, intent, c.config.Clock.Now(), true)
		return nil
	case podutil.IsPodTerminal(pod):
		return c.remove(ctx, eviction, pod, move)
	}
	recorded, unplanned := c.config.Ledger.Moving(intent.PodUID), intent.To == ""
	if unplanned && !recorded {
		c.config.Ledger.Record(c.config.Clock.Now(), *intent)
	}
	if unplanned && !recorded || !c.config.Authority.Stored() {
		if err := c.Commit(ctx); err != nil {
			c.config.Ledger.Cancel(intent.PodUID, c.config.Clock.Now())
			return err
		}
	}
	if err := c.leads(); err != nil {
		return err
	}
	if !c.config.Ledger.Moving(intent.PodUID) {
		return &reasons.Refusal{Reason: reasons.MoveCancelled, Detail: "its owner wants fewer pods, or the move has taken too long"}
	}
	err := c.post(ctx, eviction, pod, intent)
	if err != nil && refused(err) {
		if !recorded {
			c.config.Ledger.Cancel(intent.PodUID, c.config.Clock.Now())
		}
		return err
	}
	c.config.Ledger.Accepted(intent.PodUID, c.config.Clock.Now()) // if the response was lost, the eviction may have happened
	if err != nil {
		return fmt.Errorf("evicting pod %q: %w", intent.Namespace+"/"+intent.Pod, err)
	}
	c.tell(ctx, pod, move)
	c.remember(intent)
	return nil
}

// remove makes the eviction call for a pod that has ended. Nothing replaces such a pod,
// so the eviction is only recorded afterwards, to explain why the pod no longer exists.
func (c *Client) remove(ctx context.Context, eviction *policyv1.Eviction, pod *v1.Pod, move *Move) error {
	intent := &move.Intent
	if err := c.leads(); err != nil {
		return err
	}
	err := c.post(ctx, eviction, pod, intent)
	if refusal, ours := errors.AsType[*reasons.Refusal](err); ours && refusal.Reason == reasons.EvictionDenied {
		c.config.Ledger.Finished(*intent, refusal.Detail, c.config.Clock.Now())
	}
	if err != nil {
		return fmt.Errorf("evicting pod %q, which has ended: %w", intent.Namespace+"/"+intent.Pod, err)
	}
	c.config.Ledger.Finished(*intent, "", c.config.Clock.Now())
	c.tell(ctx, pod, move)
	c.remember(intent)
	return nil
}

// leaves reports whether a pod is terminating or gone after a call whose response was
// lost. It also asks the API server if the process has been told to stop.
func (c *Client) leaves(ctx context.Context, pod *v1.Pod) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.CallTimeout)
	defer cancel()
	now, err := c.config.Kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && gone(now, string(pod.UID))
}

// tell logs an eviction and creates an Event. If a descheduler plugin asked for the
// eviction, the Event has the framework's format.
func (c *Client) tell(ctx context.Context, pod *v1.Pod, move *Move) {
	history.LogEviction(ctx, &move.Intent, c.config.Clock.Now(), false)
	switch {
	case c.config.Events == nil || move.ByItself: // the framework records it
	case move.Plugin != "":
		c.config.Events.Eventf(pod, nil, v1.EventTypeNormal, move.Plugin, "Descheduled",
			"pod eviction from %v node by sigs.k8s.io/descheduler: %s", move.From, move.Decision.Message)
	default:
		c.config.Events.Eventf(pod, nil, v1.EventTypeNormal, EventReason, "Evicting", "%s", move.Decision.Message)
	}
}

// Commit implements Evictions.
func (c *Client) Commit(ctx context.Context) error {
	if c.config.DryRun {
		return nil
	}
	err := c.config.Authority.Commit(ctx)
	if err == nil {
		return nil
	}
	reason := reasons.LedgerUnwritable
	if refusal, refused := errors.AsType[*reasons.Refusal](err); refused {
		reason = refusal.Reason
	}
	return &reasons.Refusal{Reason: reason, Detail: err.Error()}
}

// ended records the result of a call. An error because the pod no longer exists, or was
// replaced by one of the same name, does not count as a failure, because it shows nothing
// about the API server.
func (c *Client) ended(intent *ledger.Intent, err error) {
	refused := apierrors.IsTooManyRequests(err)
	failed := err != nil && !refused && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err)
	c.config.Ledger.Called(ledger.Call{
		Namespace: intent.Namespace, OwnerUID: intent.Owner.UID, Pod: intent.Pod, At: c.config.Clock.Now(), Refused: refused, Failed: failed,
	})
}

// refused reports whether the error means that nothing was evicted, because the API
// server rejected the call or was never called. Without a response, or after a timeout on
// the way, the API server may have evicted the pod.
func refused(err error) bool {
	if _, ours := errors.AsType[*reasons.Refusal](err); ours {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return false
	}
	code := status.Status().Code
	return code != http.StatusBadGateway && code != http.StatusGatewayTimeout
}

// doubtful reports whether the eviction may have been made in spite of the error: etcd
// may have stored it but answered the API server too late.
func doubtful(err error) bool {
	var status apierrors.APIStatus
	return !refused(err) || errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// post creates the eviction with the pod's UID as a precondition, so that it never evicts
// another pod of the same name, and records the result. It disables client-go's implicit
// retries on 429, because Execution itself waits for PodDisruptionBudgets. If the process
// is told to stop, a call in progress is still completed. Its timeout is shorter than a
// Lease takeover. A denial ends only this move, because a webhook's response shows
// nothing about other evictions.
func (c *Client) post(ctx context.Context, eviction *policyv1.Eviction, pod *v1.Pod, intent *ledger.Intent) error {
	if err := ctx.Err(); err != nil {
		return &reasons.Refusal{Reason: reasons.Stopping, Detail: err.Error()}
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.CallTimeout)
	defer cancel()
	eviction = eviction.DeepCopy()
	if eviction.DeleteOptions == nil {
		eviction.DeleteOptions = &metav1.DeleteOptions{}
	}
	eviction.DeleteOptions.Preconditions = &metav1.Preconditions{UID: &pod.UID}
	err := c.config.Kube.CoreV1().RESTClient().Post().
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).VersionedParams(&metav1.CreateOptions{}, scheme.ParameterCodec).
		Body(eviction).Do(call).Error()
	if words, denied := safeguards.Denial(err); denied {
		c.config.Ledger.Deny(intent.PodUID, words, c.config.Clock.Now())
		return &reasons.Refusal{Reason: reasons.EvictionDenied, Detail: words}
	}
	if !safeguards.PutOff(err) {
		c.ended(intent, err)
	}
	if err != nil && doubtful(err) && c.leaves(ctx, pod) {
		return nil // the eviction counts as made, both for the limits and for the probe
	}
	return err
}

// Announced implements Evictions.
func (c *Client) Announced(ctx context.Context) { c.config.Authority.Announced(ctx) }

// leads returns an error if this process may no longer evict.
func (c *Client) leads() error {
	if err := c.config.Authority.Leads(); err != nil {
		return &reasons.Refusal{Reason: reasons.NotLeader, Detail: err.Error()}
	}
	return nil
}

// Permits implements Evictions.
func (c *Client) Permits(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	if err := c.config.Authority.Paused(ctx); err != nil {
		return err
	}
	if c.config.DryRun {
		return nil
	}
	if err := c.leads(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &reasons.Refusal{Reason: reasons.Stopping, Detail: err.Error()}
	}
	return nil
}

// NotifyFailure implements Evictions, with the framework's message.
func (c *Client) NotifyFailure(pod *v1.Pod, failure error) {
	if c.config.Events != nil && !c.config.DryRun {
		c.config.Events.Eventf(pod, nil, v1.EventTypeWarning, "EvictionFailed", "Descheduled",
			"pod eviction from %v node by sigs.k8s.io/descheduler failed: %v", pod.Spec.NodeName, failure)
	}
}

// remember counts an eviction.
func (c *Client) remember(intent *ledger.Intent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evicted[intent.PodUID] = true
	if intent.From != "" {
		c.of[origin{node: intent.From}]++
	}
	c.of[origin{namespace: intent.Namespace}]++
}

// unchanged refuses a pod that is not the planned pod or is no longer on its node.
func unchanged(pod *v1.Pod, move *Move) ruling {
	switch {
	case string(pod.UID) != move.PodUID:
		return ruling{reason: reasons.PodChanged, detail: "another pod has its name"}
	case pod.Spec.NodeName != move.From:
		return ruling{reason: reasons.PodChanged, detail: "it runs on another node"}
	case podutil.IsPodTerminal(pod):
		return ruling{reason: reasons.PodChanged, detail: "it has ended"}
	case pod.DeletionTimestamp != nil:
		return ruling{reason: reasons.PodChanged, detail: "it is terminating"}
	}
	return ruling{}
}
