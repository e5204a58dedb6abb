package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/plugin"
)

// Inside is the scheduling half inside another process, which calls it directly. It opens
// no port and never evicts.
type Inside struct {
	process  *process
	config   plugin.SideConfig
	answerer *answer.Answerer
}

var _ plugin.Side = (*Inside)(nil)

// NewInside makes the scheduling half for a policy, without a request to the API server.
// converters convert the legacy formats that the policy file may use.
func NewInside(ctx context.Context, config plugin.SideConfig, converters ...policy.Converter) (*Inside, error) {
	options := flags.Options{
		PolicyFile: config.PolicyFile, Converters: converters, Given: config.Given, Namespace: config.Namespace, REST: config.REST,
	}
	s, err := open(options)
	if err != nil {
		return nil, err
	}
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Inside{process: p, config: config, answerer: answer.NewAnswerer(p.observer, p.kube.Clock.Now)}, nil
}

// Answerer returns the Answerer for pods. Before usage has been observed, its answers are
// neutral.
func (in *Inside) Answerer() *answer.Answerer { return in.answerer }

// Refusal returns the policy's message for a node above a measured limit, which is empty
// for the default message, and whether a pod waits if all nodes are above a limit.
func (in *Inside) Refusal() (message string, all bool) {
	if measured := in.process.current().load.Scoring.Measured; measured != nil {
		return measured.Message, measured.RejectAll
	}
	return "", false
}

// Run observes until the context ends, and applies changes to the policy.
func (in *Inside) Run(ctx context.Context) error {
	p := in.process
	if err := p.begin(klog.NewContext(ctx, klog.FromContext(ctx).WithValues("policy", in.config.Name))); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	synced, err := p.observer.Store().Attach(in.config.Informers)
	if err != nil {
		return err
	}
	in.export(p.registry)
	tasks := []func(context.Context) error{
		p.watchPolicy, p.observeUsage, func(ctx context.Context) error { return awaitSync(ctx, synced) },
	}
	if in.config.Follow {
		tasks = append(tasks, p.authority.Follow)
	}
	return p.start(ctx, tasks...)
}

// awaitSync starts observing when the process's watches have synced, and then waits for the context to end.
func awaitSync(ctx context.Context, synced func() bool) error {
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return synced(), nil })
	return untilStopped(ctx)
}

// export adds Evenkeel's metrics to the process's own, labelled by policy.
func (in *Inside) export(registry *prometheus.Registry) {
	legacyregistry.RawMustRegister(prometheus.WrapCollectorWith(prometheus.Labels{"policy": in.config.Name}, registry))
}
