package app

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/steered"
	"github.com/evenkeel/evenkeel/internal/admission"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/policy"
)

// wire makes the ways to steer, for a process that evicts.
func (s *steerings) wire(a *App) error {
	asked := &steered.Extender{Observer: a.observer, Several: a.options.LeaderElect, Remote: a.options.remote()}
	planner := a.answerer
	if planner != nil {
		asked.Here = planner
	} else {
		planner = steering.NewAnswerer(a.observer, a.kube.Clock.Now)
	}
	client, err := dynamic.NewForConfig(a.kube.REST)
	if err != nil {
		return fmt.Errorf("making the client of Steerings: %w", err)
	}
	keys := admission.NewKeys(client, a.observer.Ledger(), a.authority, a.kube.Clock.Now)
	probe, err := admission.NewProbe(keys, a.kube.REST)
	if err != nil {
		return err
	}
	s.extender, s.admission = asked, admission.NewSteering(keys, probe, a.kube.Clock.Now)
	s.planner, s.best = planner, &steered.Best{Extender: s.extender, Admission: s.admission}
	s.gates = admission.NewGates(a.kube.Client, keys, a.informers.Core().V1().Pods().Informer())
	s.watchdog = admission.NewWatchdog(a.informers.Core().V1().Pods().Informer(), a.kube.Clock.Now, a.registry)
	return nil
}

// drain waits for the pods that the API server holds for this process, which is
// about to end, at most so long.
func (s *steerings) drain(ctx context.Context, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	s.admission.Drain(ctx)
}

// by returns the one that a policy chooses; nil for none.
func (s *steerings) by(chosen policy.Steering) evictor.Steering {
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
