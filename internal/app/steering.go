package app

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/evictor/leadership"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/admission"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/steering"
)

// steerings holds the available ways to steer replacements. A policy chooses one.
type steerings struct {
	extender  *steering.Extender
	admission *admission.Steering
	best      *steering.Best
	// gates releases the pods that the API server holds, and nominates the node that the
	// planner chooses.
	gates    *admission.Gates
	watchdog *admission.Watchdog
	planner  *answer.Answerer
}

// newSteerings makes the ways to steer. If answers is set, this process itself answers
// kube-scheduler and uses the planner.
func newSteerings(p *process, client dynamic.Interface, watched informers.SharedInformerFactory, answers bool) (*steerings, error) {
	keys := admission.NewKeys(client, p.observer.Ledger(), knowing{p.authority}, p.kube.Clock.Now)
	probe, err := admission.NewProbe(keys, p.kube.REST)
	if err != nil {
		return nil, err
	}
	planner := answer.NewAnswerer(p.observer, p.kube.Clock.Now)
	asked := &steering.Extender{Observer: p.observer, Several: p.options.LeaderElect, Remote: p.options.Remote()}
	if answers {
		asked.Here = planner
	}
	byAdmission := admission.NewSteering(keys, probe, p.options.Loops(), p.kube.Clock.Now)
	return &steerings{
		extender: asked, admission: byAdmission, best: &steering.Best{Extender: asked, Admission: byAdmission}, planner: planner,
		gates:    admission.NewGates(p.kube.Client, keys, watched),
		watchdog: admission.NewWatchdog(watched.Core().V1().Pods().Informer(), p.kube.Clock.Now, p.registry),
	}, nil
}

// knowing counts as leading only once this process knows the moves in flight, because
// steering deletes keys that belong to no move.
type knowing struct{ authority *leadership.Authority }

// Leads implements evictor.Leader.
func (k knowing) Leads() error { return k.authority.Knows() }

// letGo releases the pods that the API server holds, until the context ends. A dry run
// releases none, because it does not know where they were planned.
func (s *steerings) letGo(ctx context.Context, dryRun bool) error {
	if dryRun {
		return untilStopped(ctx)
	}
	return s.gates.Run(ctx, s.planner.Land)
}

// once runs one cycle, and releases held pods during the cycle and for up to atMost
// afterwards. A process that ends after one cycle releases no pods before, because it
// knows the moves only while it leads.
func (s *steerings) once(ctx context.Context, dryRun bool, atMost time.Duration, cycle func(context.Context) error) error {
	holding, stop := context.WithCancel(ctx)
	defer stop()
	letting := make(chan error, 1)
	go func() { letting <- s.letGo(holding, dryRun) }()
	err := cycle(ctx)
	draining, cancel := context.WithTimeout(ctx, atMost)
	s.admission.Drain(draining)
	cancel()
	stop()
	return errors.Join(err, <-letting)
}

// by returns the steering that a policy selects; nil for none.
func (s *steerings) by(chosen policy.Steering) ledger.Steering {
	switch chosen {
	case policy.SteeringAuto:
		return s.best
	case policy.SteeringAdmission:
		return s.admission
	case policy.SteeringRequired:
		return s.extender
	case policy.SteeringNone:
	}
	return nil
}
