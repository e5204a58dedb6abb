package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/custom"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status/doctor"
	"github.com/evenkeel/evenkeel/status/doctor/probe"
)

// DoctorOptions are the flags of `evenkeel doctor` besides the common ones.
type DoctorOptions struct {
	// Format is one of output.Formats, Color one of terminal.ColorModes.
	Format, Color string
	// Mode is the command of the examined process: run, serve, extender or nodesync.
	Mode string
	// Prometheus is the --prom of nodesync, if given.
	Prometheus string
	// As is the user whose permissions are checked, AsGroups are that user's groups; empty means the caller.
	As       string
	AsGroups []string
	// Extender is the extender to query, SchedulerConfig a file with
	// kube-scheduler's configuration; both may be empty.
	Extender        remote.Extender
	SchedulerConfig string
	// LegacyPlugins are further names of Evenkeel's plugin inside kube-scheduler.
	LegacyPlugins []string
	// Progress receives notes about slow steps.
	Progress io.Writer
}

// Validate reports the first error in the flags.
func (o *DoctorOptions) Validate(out io.Writer) error {
	if err := output.Check(out, o.Format, output.Formats, o.Color); err != nil {
		return err
	}
	if modes := doctor.Modes(); !slices.Contains(modes, doctor.Mode(o.Mode)) {
		return exit.Usagef("--mode: %q is not one of %q%s", o.Mode, modes, likely.Hint(o.Mode, modes))
	}
	if o.Prometheus != "" && !o.marks() {
		return exit.Usagef("--prom requires --mode nodesync")
	}
	if o.Extender.URL == "" {
		return nil
	}
	if err := o.Extender.Validate(); err != nil {
		return exit.Usagef("--extender-url: %w", err)
	}
	return nil
}

func (o *DoctorOptions) marks() bool { return doctor.Mode(o.Mode) == doctor.ModeNodeSync }

// defaultLeaseName is the Lease's name unless a flag of the process sets it.
const defaultLeaseName = "evenkeel"

// Doctor runs `evenkeel doctor`: it checks the policy against the cluster, reports what
// is wrong and how to fix it, and changes nothing. It returns an error if it found a
// problem.
func Doctor(ctx context.Context, options flags.Options, wanted DoctorOptions, out io.Writer) error {
	if err := wanted.Validate(out); err != nil {
		return err
	}
	installation := &doctor.Installation{Mode: doctor.Mode(wanted.Mode), PolicyFile: options.PolicyFile, LegacyPlugins: wanted.LegacyPlugins}
	if wanted.SchedulerConfig != "" {
		config, err := probe.SchedulerConfig(wanted.SchedulerConfig)
		if err != nil {
			return exit.Usage(err)
		}
		installation.SchedulerConfig = config
	}
	if wanted.marks() {
		options.NodeSync = &flags.NodeSync{Prometheus: wanted.Prometheus}
	}
	look, err := app.Open(ctx, options)
	if err != nil {
		return err
	}
	e := examination{look: look, options: &options, wanted: &wanted, steps: terminal.NewSteps(wanted.Progress)}
	err = e.examine(ctx, installation)
	e.steps.Done()
	if err != nil {
		return err
	}
	report := doctor.Examine(installation)
	if err := output.Show(out, wanted.Format, wanted.Color, report, report.Table); err != nil {
		return err
	}
	if report.Problems > 0 {
		return fmt.Errorf("doctor: problems found: %d", report.Problems)
	}
	return nil
}

// examination collects the facts that package doctor judges.
type examination struct {
	look    *app.Look
	options *flags.Options
	wanted  *DoctorOptions
	steps   *terminal.Steps
}

func (e *examination) examine(ctx context.Context, installation *doctor.Installation) error {
	look, wanted := e.look, e.wanted
	installation.Load, installation.Sources = look.Load, policyfile.AskedSources(look.File, look.Profiles)
	installation.MovesByUsage = len(policy.Strategies(look.Profiles)) > 0
	client, err := look.Kube.As(wanted.As, wanted.AsGroups)
	if err != nil {
		return err
	}
	e.steps.Begin("Asking whether the API server steers")
	if err := e.lookAtSteering(ctx, installation); err != nil {
		return err
	}
	needs, err := e.needs(installation)
	if err != nil {
		return err
	}
	e.steps.Begin("Asking for permissions")
	installation.Rights = probe.Rights(ctx, client, needs)
	installation.Fence = probe.Fence(ctx, client, &installation.Rights, &installation.Load.NodeSync)
	if installation.Mode.Evicts() && installation.MovesByUsage {
		installation.InvalidAnnotations = probe.InvalidAnnotations(ctx, client)
		installation.Unwatched = probe.Unwatched(ctx, client, installation.Load.Eviction.RecreatingControllers)
	}
	if err := e.readUsage(ctx, installation); err != nil {
		return err
	}
	e.steps.Begin("Asking the extender, and reading the kill switch and the ledger")
	if wanted.Extender.URL != "" {
		installation.Extender = probe.Extender(ctx, &wanted.Extender)
	}
	state := look.Pause.Read(ctx, false)
	installation.Pause = doctor.Pause{
		Reason: state.Reason, Says: state.String(), ByAnnotation: state.ByAnnotation,
		Namespace: e.options.Namespace, Name: pause.Name, Ledger: evictor.ConfigMapName, Annotation: pause.Annotation,
	}
	installation.Ledger.Stored, installation.Ledger.Err = probe.Ledger(ctx, look.Kube.Client, cmp.Or(e.options.Namespace, flags.DefaultNamespace))
	if !installation.Ledger.Stored && installation.Ledger.Err == nil {
		installation.Ledger.OtherNamespaces = probe.OtherNamespaces(ctx, look.Kube.Client, e.options.Namespace, evictor.ConfigMapName, pause.Name)
	}
	if u, unreadable := errors.AsType[*configmap.Unreadable](installation.Ledger.Err); unreadable {
		installation.Ledger.Accept, installation.Ledger.Accepted = u.Accept(), u.Accepted
	}
	installation.Clock = doctor.Clock{Known: look.Kube.Clock.Known(), Skew: look.Kube.Clock.Skew()}
	return ctx.Err()
}

// lookAtSteering asks the API server whether it can steer. It does nothing for a process that does not evict.
func (e *examination) lookAtSteering(ctx context.Context, installation *doctor.Installation) error {
	if !installation.Mode.Evicts() {
		return nil
	}
	look := e.look
	client, err := look.Kube.Dynamic()
	if err != nil {
		return err
	}
	if installation.Steering, err = probe.Steering(ctx, look.Kube.Client, client, look.Kube.Clock.Now()); err != nil {
		return fmt.Errorf("asking about steering: %w", err)
	}
	if version, err := look.Kube.Version(ctx); err == nil {
		installation.Steering.Version = version
	}
	return nil
}

// needs lists the permissions that the process requires.
func (e *examination) needs(installation *doctor.Installation) ([]doctor.Need, error) {
	look := e.look
	dynamic, err := look.Kube.DynamicResources()
	if err != nil {
		return nil, err
	}
	process := doctor.Process{
		Mode: installation.Mode, Load: look.Load, Sources: policyfile.ReadSources(look.File, look.Profiles),
		Namespace: e.options.Namespace, LeaseName: defaultLeaseName, ConfigMapName: evictor.ConfigMapName, PauseName: pause.Name, LeaderElect: !e.wanted.marks(),
		MovesByUsage: installation.MovesByUsage, PlansEvictions: policyfile.EnablesUpstream(look.Profiles), CollectsMetrics: collectsMetrics(look.Profiles),
		PriorityClasses: len(look.PriorityClasses) > 0, DynamicResources: dynamic, NodesOnly: look.Usage.SignalsOnly,
		ByAPIServer: installation.ByAPIServer(), ByWebhook: installation.Steering.ByWebhook(),
	}
	for _, kind := range look.Load.Eviction.RecreatingControllers {
		resource, served, err := custom.Resource(look.Kube.Client.Discovery(), schema.ParseGroupKind(kind))
		if err != nil {
			return nil, err
		}
		if served {
			process.Controllers = append(process.Controllers, resource.GroupResource())
		}
	}
	return process.Needs(), nil
}

func collectsMetrics(profiles *api.DeschedulerPolicy) bool {
	if profiles.MetricsCollector != nil && profiles.MetricsCollector.Enabled {
		return true
	}
	return slices.ContainsFunc(profiles.MetricsProviders, func(p api.MetricsProvider) bool { return p.Source == api.KubernetesMetrics })
}

const (
	// listTimeout is how long the first lists of nodes and pods may make no progress.
	listTimeout = 30 * time.Second
	// longestPause is the longest wait for a second reading.
	longestPause = 30 * time.Second
)

// readUsage queries every usage source once, and again if counters need a second reading.
func (e *examination) readUsage(ctx context.Context, installation *doctor.Installation) error {
	look := e.look
	if e.wanted.As == "" {
		if installation.Unlisted = mayNotList(&installation.Rights); installation.Unlisted != "" {
			return nil
		}
	}
	e.steps.Begin("Listing nodes and pods")
	still, arrived := kube.Patience[int64]{Now: look.Kube.Clock.Local}, look.Kube.FirstPods(look.Observer.Store().Synced)
	snapshot := list(ctx, look, func() bool { return still.Over(arrived(), listTimeout) || !waitFor(ctx, kube.ListsPoll) })
	if snapshot == nil {
		installation.Unlisted = fmt.Sprintf("the API server's lists of nodes and pods made no progress for %v.", listTimeout)
		return nil
	}
	reader, err := probe.NewSourceReader(probe.SourceReaderConfig{Sources: look.Sources, Usage: look.Usage, Now: look.Kube.Clock.Now})
	if err != nil {
		return fmt.Errorf("asking the usage sources: %w", err)
	}
	e.steps.Begin("Reading usage from each source")
	installation.Readings = reader.Ask(ctx, snapshot)
	if !installation.Incomplete() {
		return nil
	}
	pause := min(look.Load.Usage.SampleInterval.Duration, longestPause)
	e.steps.Begin(fmt.Sprintf("Some nodes lack a resource: reading usage once more after %v", pause))
	if !waitFor(ctx, pause) {
		return ctx.Err()
	}
	installation.Readings = reader.Ask(ctx, snapshot)
	return nil
}

// list returns one snapshot of nodes and pods, listed as the inspected process does. It
// polls late and returns nil if late returns true first.
func list(ctx context.Context, look *app.Look, late func() bool) *cluster.Snapshot {
	listing, cancel := context.WithCancel(ctx)
	group := errgroup.Group{}
	group.Go(func() error { return look.Feed(listing) })
	defer func() {
		cancel()
		_ = group.Wait() // always nil
		look.Close()
	}()
	for !look.Fed() {
		if late() {
			return nil
		}
	}
	var snapshot *cluster.Snapshot
	look.Observer.Store().Observe(func(s *cluster.Snapshot) { snapshot = s })
	return snapshot
}

// mayNotList explains why nodes and pods cannot be listed; empty if they can.
func mayNotList(rights *doctor.Rights) string {
	for i := range rights.Answers {
		answer := &rights.Answers[i]
		watched := answer.Group == "" && (answer.Resource == "nodes" || answer.Resource == "pods")
		if watched && answer.Verb == "list" && !answer.Allowed && answer.Err == nil {
			return fmt.Sprintf("it is not allowed to list %s.", answer.Resource)
		}
	}
	return ""
}
