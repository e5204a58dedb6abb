package app

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/internal/filewatch"
	"github.com/evenkeel/evenkeel/internal/migration"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// reload is how a process comes to another policy when its file changes.
type reload struct {
	// cycling is held during a cycle and while a policy is put to work, so that
	// a cycle is made by one policy.
	cycling sync.Mutex
	// prepared is the App of the content tried last. It is kept when it could
	// not be put to work for a reason outside of the policy, so that what it
	// indexes is not indexed again with every try. tried counts those made.
	prepared *App
	tried    int
}

// watchPolicy goes by the policy file as it changes.
func (a *App) watchPolicy(ctx context.Context) error {
	if a.content == nil { // the policy is none of a file
		return untilStopped(ctx)
	}
	return filewatch.Run(ctx, filewatch.Config{
		Path: a.options.PolicyFile, MaxBytes: policy.MaxFileBytes, Known: a.content, Changed: a.policyChanged,
	})
}

// policyChanged puts another policy to work, or keeps the one at work and says
// why. It is not done with a content that is right and could not be put to
// work: the API server may be away.
func (a *App) policyChanged(ctx context.Context, content []byte, err error) (done bool) {
	another := false
	if err == nil {
		another, err = a.current().replace(ctx, content)
	}
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		a.policies.Refused(ctx, err)
		return content == nil || policy.IsInvalid(err)
	}
	a.policies.Taken(ctx, another)
	return true
}

// replace puts a content to work and reports whether it is another one.
func (a *App) replace(ctx context.Context, content []byte) (another bool, err error) {
	if bytes.Equal(content, a.content) {
		return false, nil // it was something else for a while
	}
	next, err := a.successor(ctx, content)
	if err != nil {
		return false, err
	}
	return true, a.yield(next)
}

// successor makes the App of another policy, checked as the first one was and
// ready to be put to work.
func (a *App) successor(ctx context.Context, content []byte) (*App, error) {
	r := &a.reload
	if r.prepared == nil || !bytes.Equal(r.prepared.content, content) {
		r.prepared = nil
		next, err := a.prepare(ctx, content)
		if err != nil {
			return nil, err
		}
		r.prepared = next
	}
	if a.parts.evicting { // for what plugins watch that were not enabled so far
		if err := a.kube.Start(ctx, a.informers, a.synced...); err != nil {
			return nil, err
		}
	}
	return r.prepared, nil
}

func (a *App) prepare(ctx context.Context, content []byte) (*App, error) {
	file, err := migration.Load(a.options.PolicyFile, content, kinds.All)
	if err != nil {
		return nil, err
	}
	if err := a.options.Marking.amend(file); err != nil {
		return nil, err
	}
	a.reload.tried++
	next := a.process.newPolicy(file, content, 1+a.reload.tried)
	if err := next.read(ctx, file); err != nil {
		return nil, err
	}
	if next.observing, err = next.observerConfig(); err != nil {
		return nil, err
	}
	policyfile.TellNotes(ctx, file, nil)
	if a.parts.evicting {
		if err := next.wireRunner(ctx); err != nil {
			return nil, err
		}
	}
	if a.parts.marking {
		return next, next.wireNodeSync()
	}
	return next, nil
}

// yield puts the next policy to work in this one's place, between two cycles
// and between two observations.
func (a *App) yield(next *App) error {
	r := &a.reload
	r.cycling.Lock()
	defer r.cycling.Unlock()
	if err := a.observer.Reconfigure(next.observing); err != nil {
		return fmt.Errorf("%s: %w", a.options.PolicyFile, err)
	}
	if measured := next.load.Scoring.Measured; a.answers != nil && measured != nil {
		a.answers.SetLoad(measured.Message, measured.RejectAll)
	}
	if a.desk != nil {
		a.desk.Follow(next.terms())
	}
	a.authority.Reconsider()
	a.active.Store(next)
	close(a.retired)
	r.prepared = nil
	return nil
}

// samples is what samples of usage depend on: what is read, from where and for
// which windows.
type samples struct {
	usage     policy.Usage
	windows   []usage.Window
	signals   []usage.Metric
	providers []api.MetricsProvider
	// signalsOnly says that neither cpu nor memory is read.
	signalsOnly bool
}

func (a *App) samples() samples {
	s := samples{
		usage: a.load.Usage, windows: settings.Windows(a.load), signals: settings.Signals(a.load), providers: a.profiles.MetricsProviders,
		signalsOnly: a.signalsOnly(),
	}
	// These judge what was read; signals has the metrics that are.
	s.usage.ObservationPeriod, s.usage.MinCoveragePercent, s.usage.Metrics = metav1.Duration{}, 0, nil
	return s
}

// current is the App whose policy is at work.
func (p *process) current() *App { return p.active.Load() }

// eachPolicy runs a task for the policy at work, and again for each that takes
// its place, until the context ends.
func (p *process) eachPolicy(ctx context.Context, task func(context.Context, *App) error) error {
	for ctx.Err() == nil {
		a := p.current()
		running, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-a.retired:
				stop()
			case <-running.Done():
			}
		}()
		err := task(running, a)
		if err == nil {
			<-running.Done() // what ended by itself begins again only under another policy
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}
