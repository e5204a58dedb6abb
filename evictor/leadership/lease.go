// Package leadership decides whether this process may evict: whether it holds
// the Lease, whether evicting is paused, and whether the next eviction is
// recorded. It keeps the ledgers of all processes in sync: the one that evicts
// writes, the others follow.
package leadership

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/kube"
)

// Lease is the right to evict, held by one process at a time.
type Lease struct {
	config   LeaseConfig
	identity string
	trouble  kube.Trouble
	// elected reports whether there is an election. Without one, this process assumes
	// that it is the only one.
	elected atomic.Bool
	// leading is the term whose work is in progress; nil if there is none.
	leading atomic.Pointer[term]
	// holder is the last known holder of the Lease; nil before it is known.
	holder atomic.Pointer[string]
}

// NewLease returns a Lease with an identity that is unique across processes and
// restarts.
func NewLease(config LeaseConfig) (*Lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	config.Duration = config.Duration.Truncate(time.Second)
	return &Lease{
		config: config, identity: host + "_" + string(uuid.NewUUID()),
		trouble: kube.Trouble{Message: "The Lease cannot be read or written"},
	}, nil
}

// Identity returns the name of this process in the Lease and in the ledger.
func (l *Lease) Identity() string { return l.identity }

var errLeaseLost = errors.New("the Lease is lost, or may be taken by another process at any moment")

// Stand announces that there will be an election. Until then, this process
// assumes that it is the only one.
func (l *Lease) Stand() { l.elected.Store(true) }

// Lead runs the work of a leader whenever this process holds the Lease, until
// the context or the work ends. A process that loses the Lease steps down: the
// work's context ends, and the process stands for election again only after the
// work has returned. Moves in flight belong to the next leader.
func (l *Lease) Lead(ctx context.Context, work func(context.Context) error) error {
	l.Stand()
	for {
		ended, err := l.serve(ctx, work)
		if ended || ctx.Err() != nil {
			return err
		}
		switch {
		case l.config.Once && err != nil:
			return fmt.Errorf("%w: %w", errLeaseLost, err)
		case l.config.Once:
			return errLeaseLost
		}
		klog.FromContext(ctx).Info("Stepped down, and taking part in the election again", "reason", errLeaseLost.Error(), "identity", l.identity)
	}
}

// serve waits for the Lease and then leads for one term. ended reports whether the term
// ended for a reason other than the loss of the Lease.
func (l *Lease) serve(ctx context.Context, work func(context.Context) error) (ended bool, err error) {
	t := &term{config: &l.config, identity: l.identity, trouble: &l.trouble, holder: &l.holder}
	won, err := t.run(ctx, func(ctx context.Context) error {
		l.leading.Store(t)
		defer l.leading.Store(nil)
		return work(ctx)
	})
	if err != nil {
		return true, err
	}
	if !won {
		return true, t.unreachable
	}
	if t.lost {
		return false, t.err
	}
	l.release(ctx)
	return true, t.err
}

// release lets others take the Lease at once. It must be called after the work has ended.
// The write is conditional on the version that was read, so it never takes the Lease from
// another process that already holds it.
func (l *Lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.config.callTimeout())
	defer cancel()
	held, err := l.client().Get(ctx, l.config.Name, metav1.GetOptions{})
	if err == nil && (held.Spec.HolderIdentity == nil || *held.Spec.HolderIdentity != l.identity) {
		return
	}
	if err == nil {
		now := metav1.NowMicro()
		held.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: new(""), LeaseDurationSeconds: new(int32(1)), AcquireTime: &now, RenewTime: &now,
			LeaseTransitions: held.Spec.LeaseTransitions,
		}
		_, err = l.client().Update(ctx, held, metav1.UpdateOptions{})
	}
	if err != nil {
		klog.FromContext(ctx).Info("The Lease was not released, so others wait until it expires", "reason", err.Error())
	}
}

func (l *Lease) client() coordination.LeaseInterface {
	return l.config.Client.CoordinationV1().Leases(l.config.Namespace)
}

// Forbidden reports whether this process lacks the permission to read the
// Lease.
func (l *Lease) Forbidden(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, kube.CallTimeout)
	defer cancel()
	_, err := l.client().Get(ctx, l.config.Name, metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		return false
	}
	klog.FromContext(ctx).Info("Running without the Lease, so nothing keeps another process from evicting at the same time",
		"reason", err.Error())
	return true
}

// Margin returns the time between the moment at which a leader that cannot renew the
// Lease gives up and the moment at which others may take it. A call that changes
// something must not take longer.
func (l *Lease) Margin() time.Duration { return l.config.margin() }

// Leads returns an error if this process must no longer change anything. It measures the
// time since the last renewal, because contexts end late if the process was suspended.
func (l *Lease) Leads() error {
	if !l.elected.Load() {
		return nil // without an election this process is the only one
	}
	if t := l.leading.Load(); t == nil || !t.leads() {
		return errLeaseLost
	}
	return nil
}

// Export registers a metric of whether this process leads.
func (l *Lease) Export(registry prometheus.Registerer) {
	promauto.With(registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_leader", Help: "1 while this process leads: it holds the Lease, or runs without one.",
	}, func() float64 {
		if l.config.Elect && !l.Elected() || l.Leads() != nil {
			return 0
		}
		return 1
	})
}

// Holder returns the last known holder of the Lease; empty if it is unknown,
// because this process does not stand for election or has not read it.
func (l *Lease) Holder() string {
	if holder := l.holder.Load(); holder != nil {
		return *holder
	}
	return ""
}

// Elected reports whether this process was elected and still leads.
func (l *Lease) Elected() bool { return l.elected.Load() && l.Leads() == nil }
