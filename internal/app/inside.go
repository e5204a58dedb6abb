package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/schedulerplugin"
	"github.com/evenkeel/evenkeel/internal/steering"
)

// Inside is the scheduling half inside another process, which asks it directly.
// It serves nothing and never evicts.
type Inside struct {
	config schedulerplugin.SideConfig
	// app is nil until the API server was reached.
	app atomic.Pointer[App]
}

var _ schedulerplugin.Side = (*Inside)(nil)

// NewInside makes the half of a policy. It fails for mistakes in the policy
// only: an API server that cannot be reached is tried again by Run, and until
// then there is no Judge.
func NewInside(ctx context.Context, config schedulerplugin.SideConfig) (*Inside, error) {
	in := &Inside{config: config}
	err := in.make(ctx)
	if exit.Code(err) == exit.Misuse {
		return nil, err
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Usage is not observed yet", "policy", config.Name)
	}
	return in, nil
}

// Judge returns what answers for pods; nil until it can be asked.
func (in *Inside) Judge() *steering.Judge {
	if a := in.app.Load(); a != nil {
		return a.judge
	}
	return nil
}

// Refusal returns what the policy tells about a node above a measured limit,
// empty for the usual, and whether a pod waits when all nodes are.
func (in *Inside) Refusal() (message string, all bool) {
	if a := in.app.Load(); a != nil {
		if measured := a.current().load.Scoring.Measured; measured != nil {
			return measured.Message, measured.RejectAll
		}
	}
	return "", false
}

func (in *Inside) make(ctx context.Context) error {
	a, err := newApp(ctx, Options{
		PolicyFile: in.config.PolicyFile, Given: in.config.Given, Namespace: in.config.Namespace, REST: in.config.REST,
	}, parts{serving: true})
	if err == nil {
		in.app.Store(a)
	}
	return err
}

// tryAgain is the time between two attempts to reach the API server at the
// start.
const tryAgain = 5 * time.Second

// Run observes until the context ends, and goes by the policy as it changes.
func (in *Inside) Run(ctx context.Context) error {
	for in.app.Load() == nil && ctx.Err() == nil {
		evictor.Sleep(ctx, tryAgain)
		if err := in.make(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Usage is not observed yet", "policy", in.config.Name)
		}
	}
	a := in.app.Load()
	if a == nil {
		return nil // stopped before
	}
	synced, err := a.observer.Store().Attach(in.config.Informers)
	if err != nil {
		return err
	}
	in.export(a.registry)
	tasks := []func(context.Context) error{a.watchPolicy, func(ctx context.Context) error { return awaitSync(ctx, synced) }}
	if in.config.Follow {
		tasks = append(tasks, a.authority.Follow)
	}
	return a.start(ctx, tasks...)
}

// awaitSync lets observing begin when the process's watches have delivered, and
// then waits for the end.
func awaitSync(ctx context.Context, synced func() bool) error {
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return synced(), nil })
	return untilStopped(ctx)
}

// export puts Evenkeel's metrics on the process's own page, by policy.
func (in *Inside) export(registry *prometheus.Registry) {
	legacyregistry.RawMustRegister(prometheus.WrapCollectorWith(prometheus.Labels{"policy": in.config.Name}, registry))
}
