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
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
	"github.com/evenkeel/evenkeel/status/live"
)

// generation is one policy with everything that a process makes from it. Once complete, it never changes. A
// changed policy file becomes another generation, which replaces it.
type generation struct {
	load     *policy.LoadPolicy
	file     *policy.File
	profiles *api.DeschedulerPolicy
	// classes are the priority classes that the profiles refer to; they are looked up once the API server is reached.
	classes []policyfile.PriorityClass
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

	// landings reports whether the evictions of upstream plugins are planned.
	landings bool
	// evictor and runner are made by a process that evicts, nodeSync by one that writes to nodes, except in a dry run.
	evictor  *evictor.Evictor
	runner   *cycle.Runner
	nodeSync *nodesync.Syncer
}

// decoder decodes the part of a policy that a kind of process uses, without the API server.
type decoder func(*generation) error

// read makes the generation of a policy. It still has to be completed by policyUser.complete.
func (s *setup) read(file *policy.File, content []byte, number int) (*generation, error) {
	if err := s.options.Override(file); err != nil {
		return nil, err
	}
	g := &generation{load: &file.Load, file: file, content: content, number: number, retired: make(chan struct{})}
	if err := s.decode(g); err != nil {
		return nil, err
	}
	return g, s.observe(g)
}

// decodeProfiles decodes the DeschedulerPolicy without resolving the priority classes that it names.
func decodeProfiles(g *generation) (err error) {
	g.profiles, g.classes, err = policyfile.OfflineProfiles(g.file)
	return err
}

// decodeGiven decodes the DeschedulerPolicy, if there is one, for processes that run no plugins.
func decodeGiven(g *generation) error {
	if g.file.Runs() {
		return decodeProfiles(g)
	}
	g.profiles = &api.DeschedulerPolicy{}
	return nil
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
		Protection: policyfile.Protection(g.profiles), MovesByUsage: g.readsUsage(),
		Shown: policyfile.Planned(g.profiles), OtherProfiles: policyfile.Unplanned(g.profiles),
	}
	if measured := settings.Measured(g.load.Scoring.Measured); measured != nil {
		terms.Limits = measured.Limits
	}
	return terms
}

// observe adds the configuration of the Observer, with the usage sources in order.
func (s *setup) observe(g *generation) error {
	config, err := settings.Observing(g.load, policy.Strategies(g.profiles))
	if err != nil {
		return policyfile.Invalid(s.options.PolicyFile, err.Error())
	}
	config.Usage.SignalsOnly = g.signalsOnly
	if s.options.Recording {
		config.Usage.Startup = 0
	}
	selector, err := cycle.NodeSelector(g.profiles.NodeSelector)
	if err != nil {
		return policyfile.Invalid(s.options.PolicyFile, err.Error())
	}
	config.Taints.Selects = func(of map[string]string) bool { return selector.Matches(labels.Set(of)) }
	config.Reads = settings.SamplesOf(g.load, g.profiles.MetricsProviders, g.signalsOnly)
	for i, asked := range policyfile.ReadSources(g.file, g.profiles) {
		env := settings.SourceEnv(g.load, &asked, settings.Narrowed{SignalsOnly: g.signalsOnly, MemoryOnly: s.options.MemoryOnly})
		env.REST, env.ReadSecret, env.RequestToken, env.Now = s.kube.REST, s.kube.Secret, s.kube.TokensIn(s.namespace()), s.kube.Clock.Now
		env.WithholdCredentials = s.withholdCredentials
		reader, err := kinds.New(asked.Config, &env)
		if err != nil {
			return exit.Usagef("%s: usage.sources[%d] (%s): %w", s.options.PolicyFile, i, asked.Type, err)
		}
		config.Sources = append(config.Sources, reader)
	}
	g.observing = config
	return nil
}

// reload applies another policy when the policy file changes.
type reload struct {
	*process
	user policyUser
	// prepared is the generation of the content that was tried last. It is kept if something outside the policy
	// prevented it from taking effect, so that retries do not rebuild its indexes. tried is the number of
	// generations prepared so far.
	prepared *generation
	tried    int
}

// watchPolicy applies changes of the policy file.
func (p *process) watchPolicy(u policyUser) func(context.Context) error {
	return func(ctx context.Context) error {
		r := &reload{process: p, user: u}
		return policyfile.Watch(ctx, p.options.PolicyFile, p.current().content, p.policies, r.replace)
	}
}

// replace applies content and reports whether the policy changed. The policy is checked in the same way as
// the first one.
func (r *reload) replace(ctx context.Context, content []byte) (another bool, err error) {
	defer policyfile.Recover(r.options.PolicyFile, &err)
	if bytes.Equal(content, r.current().content) {
		return false, nil // the file differed only for a while
	}
	if r.prepared == nil || !bytes.Equal(r.prepared.content, content) {
		if r.prepared, err = r.prepare(ctx, content); err != nil {
			return false, err
		}
	}
	if err := r.user.startInformers(ctx); err != nil {
		return false, err
	}
	return true, r.swap()
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
	policyfile.PrintNotes(ctx, file, nil)
	if err := r.user.complete(ctx, next); err != nil {
		return nil, err
	}
	return next, nil
}

// swap replaces the current policy with the prepared one, between two cycles and between two observations.
func (r *reload) swap() error {
	r.cycling.Lock()
	defer r.cycling.Unlock()
	next := r.prepared
	if err := r.observer.Reconfigure(next.observing); err != nil {
		return fmt.Errorf("%s: %w", r.options.PolicyFile, err)
	}
	r.tell(next)
	r.authority.Reconsider()
	close(r.active.Swap(next).retired)
	r.prepared = nil
	return nil
}
