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

// Inside is the scheduling half inside another process, which calls it
// directly. It serves nothing and never evicts.
type Inside struct {
	config schedulerplugin.SideConfig
	// app is nil until the API server has been reached.
	app atomic.Pointer[App]
}

var _ schedulerplugin.Side = (*Inside)(nil)

// NewInside makes the half for a policy. It fails only for mistakes in the
// policy: Run retries an API server that cannot be reached, and until then
// there is no Answerer.
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

// Answerer returns what answers for pods; nil until it is ready.
func (in *Inside) Answerer() *steering.Answerer {
	if a := in.app.Load(); a != nil {
		return a.answerer
	}
	return nil
}

// Refusal returns the policy's message for a node above a measured limit, empty
// for the default, and whether a pod waits when all nodes are above it.
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

// tryAgain is the time between two attempts to reach the API server at startup.
const tryAgain = 5 * time.Second

// Run observes until the context ends, and applies changes of the policy.
func (in *Inside) Run(ctx context.Context) error {
	for in.app.Load() == nil && ctx.Err() == nil {
		evictor.Sleep(ctx, tryAgain)
		if err := in.make(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Usage is not observed yet", "policy", in.config.Name)
		}
	}
	a := in.app.Load()
	if a == nil {
		return nil // stopped before it was reached
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

// awaitSync lets observing begin when the process's watches have synced, and
// then waits for the end.
func awaitSync(ctx context.Context, synced func() bool) error {
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return synced(), nil })
	return untilStopped(ctx)
}

// export adds Evenkeel's metrics to the process's own, labelled by policy.
func (in *Inside) export(registry *prometheus.Registry) {
	legacyregistry.RawMustRegister(prometheus.WrapCollectorWith(prometheus.Labels{"policy": in.config.Name}, registry))
}
