package app

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/strategies/hosted"
)

// generation is one policy with everything that a process makes from it. readPolicy makes
// the parts that need no API server, equip the others. After that, a generation never
// changes; a changed policy file leads to a new generation.
type generation struct {
	load     *policy.LoadPolicy
	file     *policy.File
	profiles *api.DeschedulerPolicy
	// classes holds the priority classes that the profiles refer to. They are looked up once
	// the API server can be reached.
	classes []policyfile.PriorityClass
	// unplanned names the profiles with strategies, and unread the plugins that read metrics,
	// that mode.onlyPlanned left out.
	unplanned, unread []string
	// content is the content of the policy file.
	content []byte
	// number counts the generations of the process, from 1.
	number int
	// signalsOnly reports whether cpu, memory and pods are not needed.
	signalsOnly bool
	// observing configures the Observer for this policy.
	observing observer.Config
	// retired is closed when another generation replaces this one.
	retired chan struct{}

	// plansUpstream reports whether destinations are found for the evictions of upstream
	// plugins.
	plansUpstream bool
	// evictor and runner are made by a process that evicts, nodeSync by one that writes to nodes, except in a dry run.
	evictor  *evictor.Evictor
	runner   *cycle.Runner
	nodeSync *nodesync.Syncer
}

// readPolicy makes the generation of a policy, as far as that is possible without the API
// server. process.equip completes it.
func (p *process) readPolicy(file *policy.File, content []byte, number int) (*generation, error) {
	if err := p.options.Override(file); err != nil {
		return nil, err
	}
	g := &generation{load: &file.Load, file: file, content: content, number: number, retired: make(chan struct{})}
	var err error
	g.profiles = &api.DeschedulerPolicy{}
	if p.mode.runsProfiles || file.Runs() {
		if g.profiles, g.classes, err = policyfile.Profiles(file); err != nil {
			return nil, err
		}
	}
	if p.mode.onlyPlanned {
		g.unplanned, g.unread = policyfile.KeepOnlyPlanned(g.profiles)
	}
	// Publishing needs cpu, memory and pods only if the policy judges cpu or memory or publishes annotations.
	g.signalsOnly = p.mode.onlyPublishes && !g.load.JudgesResources() && !g.load.NodeSync.Annotations.Enabled
	g.observing, err = p.observerConfig(g)
	return g, err
}

// equip makes the parts of a generation that need the API server: the values of the
// priority classes that the policy names, and the components that evict or publish. It
// may be repeated until it succeeds.
func (p *process) equip(ctx context.Context, g *generation) error {
	if len(g.classes) > 0 {
		asking, cancel := context.WithTimeout(ctx, kube.ReachTimeout)
		defer cancel()
		profiles, err := policyfile.ResolvePriorityClasses(asking, p.kube.Client, g.file, g.profiles, g.classes)
		if err != nil {
			return err
		}
		g.profiles = profiles
	}
	if p.kind == nil {
		return nil
	}
	return p.kind.equip(ctx, g)
}

// readsUsage reports whether the policy enables one of Evenkeel's own strategies, all of which move pods by
// real usage.
func (g *generation) readsUsage() bool { return len(policy.Strategies(g.profiles)) > 0 }

// publishesUsage reports whether the policy makes Evenkeel write to nodes.
func (g *generation) publishesUsage() bool { return g.load.NodeSync.Writes() }

// terms returns the parts of the policy that explanations use.
func (g *generation) terms() *live.Terms {
	terms := &live.Terms{
		SamplesNeeded: g.load.Hot.ConsecutiveSamples, Selector: g.profiles.NodeSelector,
		Protection: policyfile.Protection(g.profiles), MovesByUsage: g.readsUsage(), PlansUpstream: g.plansUpstream && hosted.Among(g.profiles),
		Shown: policyfile.Planned(g.profiles), OtherProfiles: policyfile.Unplanned(g.profiles),
	}
	if measured := settings.Measured(g.load.Scoring.Measured); measured != nil {
		terms.Limits = measured.Limits
	}
	return terms
}

// observerConfig returns the Observer's configuration, with the usage sources in order.
func (p *process) observerConfig(g *generation) (observer.Config, error) {
	config, err := settings.Observing(g.load, policy.Strategies(g.profiles))
	if err != nil {
		return observer.Config{}, policyfile.Invalid(p.options.PolicyFile, err.Error())
	}
	config.Usage.SignalsOnly = g.signalsOnly
	if p.options.Recording {
		config.Usage.Startup = 0
	}
	selector, err := cycle.NodeSelector(g.profiles.NodeSelector)
	if err != nil {
		return observer.Config{}, policyfile.Invalid(p.options.PolicyFile, err.Error())
	}
	config.Taints.Selects = func(of map[string]string) bool { return selector.Matches(labels.Set(of)) }
	config.Reads = settings.SamplesOf(g.load, g.profiles.MetricsProviders, g.signalsOnly)
	for i, asked := range policyfile.ReadSources(g.file, g.profiles) {
		env := settings.SourceEnv(g.load, &asked, settings.Narrowed{SignalsOnly: g.signalsOnly, MemoryOnly: p.options.MemoryOnly})
		env.REST, env.ReadSecret, env.RequestToken, env.Now = p.kube.REST, p.kube.Secret, p.kube.TokensIn(p.namespace), p.kube.Clock.Now
		env.WithholdCredentials = p.mode.withholdCredentials
		reader, err := kinds.New(asked.Config, &env)
		if err != nil {
			return observer.Config{}, exit.Usagef("%s: usage.sources[%d] (%s): %w", p.options.PolicyFile, i, asked.Type, err)
		}
		config.Sources = append(config.Sources, reader)
	}
	return config, nil
}

// current returns the policy in effect.
func (p *process) current() *generation { return p.active.Load() }

// follow registers a function that is called with each policy that takes effect.
func (p *process) follow(follower func(*generation)) { p.followers = append(p.followers, follower) }

// tell passes a policy to the followers.
func (p *process) tell(g *generation) {
	for _, follower := range p.followers {
		follower(g)
	}
}

// eachPolicy runs a task for the policy in effect, and again for each policy that replaces it, until the context ends.
func (p *process) eachPolicy(ctx context.Context, task func(context.Context, *generation) error) error {
	for ctx.Err() == nil {
		g := p.current()
		running, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-g.retired:
				stop()
			case <-running.Done():
			}
		}()
		err := task(running, g)
		if err == nil {
			<-running.Done() // a finished task is started again only under a new policy
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// reload applies a new policy when the policy file changes.
type reload struct {
	process *process
	// prepared is the generation of the content that was tried last. It is kept if something
	// other than the policy prevented it from taking effect, so that retries do not rebuild
	// its indexes. tried is the number of generations prepared so far.
	prepared *generation
	tried    int
}

// watchPolicy applies changes to the policy file.
func (p *process) watchPolicy(ctx context.Context) error {
	r := &reload{process: p}
	return policyfile.Watch(ctx, p.options.PolicyFile, p.current().content, p.policies, r.replace)
}

// replace applies content and reports whether the policy changed. The policy is checked
// in the same way as the initial one.
func (r *reload) replace(ctx context.Context, content []byte) (another bool, err error) {
	p := r.process
	defer policyfile.Recover(p.options.PolicyFile, &err)
	if bytes.Equal(content, p.current().content) {
		return false, nil // the file was changed back
	}
	if r.prepared == nil || !bytes.Equal(r.prepared.content, content) {
		if r.prepared, err = r.prepare(ctx, content); err != nil {
			return false, err
		}
	}
	if err := p.startInformers(ctx); err != nil {
		return false, err
	}
	return true, r.swap()
}

// prepare makes the generation of a new policy.
func (r *reload) prepare(ctx context.Context, content []byte) (*generation, error) {
	p := r.process
	file, err := policyfile.Load(p.options.PolicyFile, content, p.options.Converters...)
	if err != nil {
		return nil, err
	}
	r.tried++
	next, err := p.readPolicy(file, content, 1+r.tried)
	if err != nil {
		return nil, err
	}
	policyfile.PrintNotes(ctx, file, nil)
	if err := p.equip(ctx, next); err != nil {
		return nil, err
	}
	return next, nil
}

// swap replaces the current policy with the prepared one, between two cycles and between two observations.
func (r *reload) swap() error {
	p, next := r.process, r.prepared
	p.cycling.Lock()
	defer p.cycling.Unlock()
	if err := p.observer.Reconfigure(next.observing); err != nil {
		return fmt.Errorf("%s: %w", p.options.PolicyFile, err)
	}
	p.tell(next)
	p.authority.Reconsider()
	close(p.active.Swap(next).retired)
	r.prepared = nil
	return nil
}
