package app

import (
	"bytes"
	"context"
	"fmt"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/policyfile"
)

// reload applies another policy when the policy file changes.
type reload struct {
	*process
	kind kind
	// prepared is the generation of the content tried last, and observing configures
	// the Observer for it. It is kept if a reason outside the policy kept it from
	// taking effect, so that retries do not build its indexes again. tried counts
	// the generations prepared.
	prepared  *generation
	observing observer.Config
	tried     int
}

// watchPolicy applies changes of the policy file.
func (p *process) watchPolicy(k kind) func(context.Context) error {
	return func(ctx context.Context) error {
		r := &reload{process: p, kind: k}
		return policyfile.Watch(ctx, p.options.PolicyFile, p.current().content, p.policies, r.replace)
	}
}

// replace applies content and reports whether it has changed. The policy is
// checked like the first one.
func (r *reload) replace(ctx context.Context, content []byte) (another bool, err error) {
	defer policyfile.Recover(r.options.PolicyFile, &err)
	if bytes.Equal(content, r.current().content) {
		return false, nil // it was different for a while
	}
	if r.prepared == nil || !bytes.Equal(r.prepared.content, content) {
		if r.prepared, err = r.prepare(ctx, content); err != nil {
			return false, err
		}
	}
	if err := r.kind.startInformers(ctx); err != nil {
		return false, err
	}
	return true, r.yield()
}

// prepare makes the generation of another policy, and completes it.
func (r *reload) prepare(ctx context.Context, content []byte) (*generation, error) {
	file, err := policyfile.Load(r.options.PolicyFile, content, r.options.Converters...)
	if err != nil {
		return nil, err
	}
	r.tried++
	next, err := r.read(file, content, 1+r.tried)
	if err != nil {
		return nil, err
	}
	if r.observing, err = r.process.observing(next); err != nil {
		return nil, err
	}
	policyfile.PrintNotes(ctx, file, nil)
	if err := r.kind.complete(ctx, next); err != nil {
		return nil, err
	}
	return next, nil
}

// yield replaces the current policy with the prepared one, between two cycles
// and between two observations.
func (r *reload) yield() error {
	r.cycling.Lock()
	defer r.cycling.Unlock()
	next := r.prepared
	if err := r.observer.Reconfigure(r.observing); err != nil {
		return fmt.Errorf("%s: %w", r.options.PolicyFile, err)
	}
	r.tell(next)
	r.authority.Reconsider()
	close(r.active.Swap(next).retired)
	r.prepared = nil
	return nil
}
