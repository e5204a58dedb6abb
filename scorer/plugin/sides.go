package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// MakeSide makes a Side. An error means that the policy is invalid. Servers that cannot
// be reached are not an error, because Run retries them.
type MakeSide func(ctx context.Context, config SideConfig) (Side, error)

// Sides makes plugins. Plugins with the same policy share one Side, whatever
// their names and profiles.
type Sides struct {
	make   MakeSide
	legacy ReadLegacy

	mu      sync.Mutex
	byKey   map[sideKey]Side
	running sync.WaitGroup
}

// sideKey is everything that a Side depends on.
type sideKey struct {
	path, text, namespace string
	follow                bool
}

// NewSides returns empty Sides. Every plugin except EvenkeelLoad is a legacy
// one.
func NewSides(newSide MakeSide, legacy ReadLegacy) *Sides {
	return &Sides{make: newSide, legacy: legacy, byKey: map[sideKey]Side{}}
}

// New makes the named plugin for a profile of kube-scheduler, and starts the
// Side that it needs unless that is already running. It fails only for errors
// in args or policy.
func (s *Sides) New(ctx context.Context, name string, args runtime.Object, handle fwk.Handle) (*Plugin, error) {
	asked, err := s.read(name, args)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", name, err)
	}
	observing, err := s.side(ctx, name, asked, handle)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", name, err)
	}
	// A plugin configured by args may be the only one that scores.
	return &Plugin{name: name, host: handle, side: observing, parts: asked.Given != nil}, nil
}

func (s *Sides) side(ctx context.Context, name string, asked request, handle fwk.Handle) (Side, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sideKey{path: asked.PolicyFile, text: asked.text, namespace: asked.Namespace, follow: asked.Follow}
	if known := s.byKey[key]; known != nil {
		return known, nil
	}
	if len(s.byKey) > 0 {
		name = fmt.Sprintf("%s-%d", name, len(s.byKey)+1)
	}
	asked.Name, asked.REST, asked.Informers = name, handle.KubeConfig(), handle.SharedInformerFactory()
	made, err := s.make(ctx, asked.SideConfig)
	if err != nil {
		return nil, err
	}
	s.byKey[key] = made
	s.running.Go(func() {
		if err := made.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			klog.FromContext(ctx).Error(err, "Observing ended, so pods are placed without regard to usage", "policy", name)
		}
	})
	return made, nil
}

// Wait waits until all Sides have ended, which they do when the context that
// made them ends.
func (s *Sides) Wait() { s.running.Wait() }
