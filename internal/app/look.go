package app

import (
	"context"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
)

// Look is a process that only observes, for commands that change nothing.
type Look struct {
	Kube     *kube.Connection
	Observer *observer.Observer
	Pause    *pause.Switch
	File     *policy.File
	Load     *policy.LoadPolicy
	Profiles *api.DeschedulerPolicy
	// PriorityClasses are the priority classes that the policy names.
	PriorityClasses []policyfile.PriorityClass
	Usage           usage.Config
	// Sources are the policy's usage sources, in order.
	Sources []observer.Source
	// Feed feeds the observer with nodes and pods until the context ends, as the inspected process does. Fed reports
	// whether the observer has the first lists.
	Feed func(context.Context) error
	Fed  func() bool

	process *process
}

// Open makes an observing process without starting it. It fails if the API server cannot
// be reached.
func Open(ctx context.Context, options flags.Options) (*Look, error) {
	options.LeaderElect, options.MetricsAddress = false, "0"
	if options.NodeSync != nil {
		return openPublishing(ctx, options)
	}
	s, err := open(options)
	if err != nil {
		return nil, err
	}
	s.mode.withholdCredentials = !options.SendCredentials
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, err
	}
	look := lookInto(p)
	look.Feed, look.Fed = p.reflect, p.observer.Store().Synced
	return look, look.reach(ctx)
}

// openPublishing makes a process that observes as `evenkeel nodesync` does.
func openPublishing(ctx context.Context, options flags.Options) (*Look, error) {
	options.DryRun = true
	s, err := open(options)
	if err != nil {
		return nil, err
	}
	s.mode.withholdCredentials = !options.SendCredentials
	m, err := newPublishing(ctx, s)
	if err != nil {
		return nil, err
	}
	look := lookInto(m.process)
	look.Feed = func(ctx context.Context) error {
		m.informers.Start(ctx.Done())
		return m.feedPods(ctx, m.process.current())
	}
	look.Fed = func() bool {
		m.synced() // marks the store as synced
		return m.process.observer.Store().Synced()
	}
	return look, look.reach(ctx)
}

func lookInto(p *process) *Look {
	g := p.current()
	return &Look{
		Kube: p.kube, Observer: p.observer, Pause: p.pause, File: g.file, Load: g.load, Profiles: g.profiles, PriorityClasses: g.classes, Usage: g.observing.Usage, Sources: g.observing.Sources, process: p,
	}
}

func (l *Look) reach(ctx context.Context) error {
	err := l.process.reach(ctx)
	if err != nil {
		l.process.stop()
	}
	return err
}

// Run observes and runs tasks until one of them ends.
func (l *Look) Run(ctx context.Context, tasks ...func(context.Context) error) error {
	return l.process.start(ctx, append(tasks, l.process.observeUsage)...)
}

// Close stops what Open started, for commands that do not call Run.
func (l *Look) Close() { l.process.stop() }
