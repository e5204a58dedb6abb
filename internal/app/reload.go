package app

import (
	"bytes"
	"context"
	"fmt"

	"github.com/evenkeel/evenkeel/internal/filewatch"
	"github.com/evenkeel/evenkeel/internal/migration"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// reload is how a process comes to another policy when its file changes.
type reload struct {
	*App
	// prepared is of the content tried last. It is kept when it could not be put
	// to work for a reason outside of the policy, so that what it indexes is not
	// indexed again with every try. tried counts those made.
	prepared *generation
	tried    int
}

// watchPolicy goes by the policy file as it changes.
func (a *App) watchPolicy(ctx context.Context) error {
	known := a.current().content
	if known == nil { // the policy is none of a file
		return untilStopped(ctx)
	}
	r := &reload{App: a}
	return filewatch.Run(ctx, filewatch.Config{
		Path: a.options.PolicyFile, MaxBytes: policy.MaxFileBytes, Known: known, Changed: r.changed,
	})
}

// changed puts another policy to work, or keeps the one at work and says why.
// It is not done with a content that is right and could not be put to work: the
// API server may be away.
func (r *reload) changed(ctx context.Context, content []byte, err error) (done bool) {
	another := false
	if err == nil {
		another, err = r.replace(ctx, content)
	}
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		r.policies.Refused(ctx, err)
		return content == nil || policy.IsInvalid(err)
	}
	r.policies.Taken(ctx, another)
	return true
}

// replace puts a content to work and reports whether it is another one. The
// policy is checked as the first one was.
func (r *reload) replace(ctx context.Context, content []byte) (another bool, err error) {
	if bytes.Equal(content, r.current().content) {
		return false, nil // it was something else for a while
	}
	if r.prepared == nil || !bytes.Equal(r.prepared.content, content) {
		if r.prepared, err = r.prepare(ctx, content); err != nil {
			return false, err
		}
	}
	if r.parts.evicting { // for what plugins watch that were not enabled so far
		if err := r.kube.Start(ctx, r.informers, r.synced...); err != nil {
			return false, err
		}
	}
	return true, r.yield()
}

// prepare makes the generation of another policy, nil where it cannot.
func (r *reload) prepare(ctx context.Context, content []byte) (*generation, error) {
	file, err := migration.Load(r.options.PolicyFile, content, kinds.All)
	if err != nil {
		return nil, err
	}
	if err := r.options.Marking.amend(file); err != nil {
		return nil, err
	}
	r.tried++
	next, err := r.read(ctx, file, content, 1+r.tried)
	if err != nil {
		return nil, err
	}
	if next.observing, err = r.observerConfig(next); err != nil {
		return nil, err
	}
	policyfile.TellNotes(ctx, file, nil)
	switch {
	case r.parts.evicting:
		err = r.wireRunner(ctx, next)
	case r.parts.marking:
		err = r.wireNodeSync(next)
	}
	if err != nil {
		return nil, err
	}
	return next, nil
}

// yield puts the prepared policy to work in the current one's place, between
// two cycles and between two observations.
func (r *reload) yield() error {
	r.cycling.Lock()
	defer r.cycling.Unlock()
	next := r.prepared
	if err := r.observer.Reconfigure(next.observing); err != nil {
		return fmt.Errorf("%s: %w", r.options.PolicyFile, err)
	}
	if measured := next.load.Scoring.Measured; r.answers != nil && measured != nil {
		r.answers.SetLoad(measured.Message, measured.RejectAll)
	}
	if r.desk != nil {
		r.desk.Follow(next.terms())
	}
	r.authority.Reconsider()
	close(r.active.Swap(next).retired)
	r.prepared = nil
	return nil
}
