package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/doctor"
	"github.com/evenkeel/evenkeel/internal/doctor/probe"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/reasons"
)

// DoctorOptions are the flags of `evenkeel doctor` beside the common ones.
type DoctorOptions struct {
	// Format is one of Formats.
	Format string
	// Mode is the command whose process is examined: run, serve, extender or nodesync.
	Mode string
	// Prometheus is the --prom of nodesync; empty without.
	Prometheus string
	// As is whose permissions are checked; empty: those of whoever asks.
	As string
	// ExtenderURL is where the extender is asked about itself, SchedulerConfig a file with kube-scheduler's configuration;
	// both may be empty.
	ExtenderURL, SchedulerConfig string
	// Progress is told what takes time.
	Progress io.Writer
}

// Validate reports the first mistake in the flags.
func (o *DoctorOptions) Validate() error {
	if err := ValidFormat(o.Format); err != nil {
		return err
	}
	if !slices.Contains(doctor.Modes(), doctor.Mode(o.Mode)) {
		return exit.Usagef("--mode: %q is not one of %q", o.Mode, doctor.Modes())
	}
	if o.Prometheus != "" && !o.marks() {
		return exit.Usagef("--prom goes with --mode nodesync")
	}
	return nil
}

func (o *DoctorOptions) marks() bool { return doctor.Mode(o.Mode) == doctor.ModeNodeSync }

// process is what of a process is wired to be examined.
func (o *DoctorOptions) process(options *Options) parts {
	options.LeaderElect, options.MetricsAddress = false, "0"
	if !o.marks() {
		return parts{}
	}
	options.DryRun, options.Marking = true, &Marking{Prometheus: o.Prometheus}
	return parts{marking: true}
}

// defaultLeaseName is the Lease's name unless a flag of the process says otherwise.
const defaultLeaseName = "evenkeel"

// Doctor is `evenkeel doctor`: it looks at the policy on the cluster, says what is wrong and how to mend it, and changes
// nothing. It is an error if a problem was found.
func Doctor(ctx context.Context, options Options, wanted DoctorOptions, out io.Writer) error {
	if err := wanted.Validate(); err != nil {
		return err
	}
	patient := &doctor.Patient{Mode: doctor.Mode(wanted.Mode), PolicyFile: options.PolicyFile}
	if wanted.SchedulerConfig != "" {
		config, err := probe.SchedulerConfig(wanted.SchedulerConfig)
		if err != nil {
			return exit.Usage(err)
		}
		patient.SchedulerConfig = config
	}
	needs := wanted.process(&options)
	a, err := newApp(ctx, options, needs)
	if err != nil {
		return err
	}
	if err := a.examine(ctx, wanted, patient); err != nil {
		return err
	}
	report := doctor.Examine(patient)
	if err := write(out, wanted.Format, report, report.Table); err != nil {
		return err
	}
	if report.Problems > 0 {
		return fmt.Errorf("doctor: problems found: %d", report.Problems)
	}
	return nil
}

// examine gathers what is judged.
func (a *App) examine(ctx context.Context, wanted DoctorOptions, patient *doctor.Patient) error {
	patient.Load, patient.Sources, patient.MovesByUsage = a.load, a.askedSources(), a.readsUsage()
	client, err := a.kube.As(wanted.As)
	if err != nil {
		return err
	}
	needs, err := a.needs(patient)
	if err != nil {
		return err
	}
	patient.Rights = probe.Rights(ctx, client, needs)
	if err := a.readUsage(ctx, wanted, patient); err != nil {
		return err
	}
	if wanted.ExtenderURL != "" {
		patient.Extender = probe.Extender(ctx, http.DefaultClient, wanted.ExtenderURL)
	}
	patient.Pause = a.pause(ctx)
	patient.Clock = doctor.Clock{Known: a.kube.Clock.Known(), Skew: a.kube.Clock.Skew()}
	return ctx.Err()
}

// needs lists what the process has to be allowed to do.
func (a *App) needs(patient *doctor.Patient) ([]doctor.Need, error) {
	file, _, err := policyfile.Read(a.options.PolicyFile)
	if err != nil {
		return nil, err
	}
	dynamic, err := a.kube.DynamicResources()
	if err != nil {
		return nil, err
	}
	process := doctor.Process{
		Mode: patient.Mode, Load: a.load, Sources: provided(patient.Sources, a.profiles),
		Namespace: a.options.Namespace, LeaseName: defaultLeaseName, ConfigMapName: evictor.ConfigMapName, LeaderElect: !a.parts.marking,
		MovesByUsage: patient.MovesByUsage, CollectsMetrics: collectsMetrics(a.profiles),
		PriorityClasses: len(policyfile.PriorityClasses(file)) > 0, DynamicResources: dynamic, NodesOnly: a.signalsOnly(),
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
	// listTimeout is how long nothing may come of the first lists of nodes and pods.
	listTimeout = 30 * time.Second
	// longestPause bounds the wait for a second reading.
	longestPause = 30 * time.Second
)

// readUsage asks every usage source once, and once more where counters have to be read twice.
func (a *App) readUsage(ctx context.Context, wanted DoctorOptions, patient *doctor.Patient) error {
	if wanted.As == "" {
		if patient.Unlisted = mayNotList(&patient.Rights); patient.Unlisted != "" {
			return nil
		}
	}
	snapshot := a.snapshot(ctx)
	if snapshot == nil {
		patient.Unlisted = fmt.Sprintf("for %v nothing came of the API server's lists of nodes and pods.", listTimeout)
		return nil
	}
	sources, err := a.makeSources()
	if err != nil {
		return err
	}
	panel, err := probe.NewPanel(probe.PanelConfig{Sources: sources, Usage: a.usageConfig(), Now: a.kube.Clock.Now})
	if err != nil {
		return fmt.Errorf("asking the usage sources: %w", err)
	}
	patient.Readings = panel.Ask(ctx, snapshot)
	if !panel.Incomplete(patient.Readings) {
		return nil
	}
	pause := min(a.load.Usage.SampleInterval.Duration, longestPause)
	if wanted.Progress != nil {
		_, _ = fmt.Fprintf(wanted.Progress, "Some nodes lack a resource; reading once more in %v.\n", pause)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
	}
	patient.Readings = panel.Ask(ctx, snapshot)
	return nil
}

// mayNotList says why nodes and pods cannot be known; empty where they can.
func mayNotList(rights *doctor.Rights) string {
	for i := range rights.Answers {
		answer := &rights.Answers[i]
		watched := answer.Group == "" && (answer.Resource == "nodes" || answer.Resource == "pods")
		if watched && answer.Verb == "list" && !answer.Allowed && answer.Err == nil {
			return fmt.Sprintf("it may not list %s.", answer.Resource)
		}
	}
	return ""
}

// snapshot lists nodes and pods; nil where nothing comes of that.
func (a *App) snapshot(ctx context.Context) *cluster.Snapshot {
	reflecting, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.list(reflecting) // it always returns nil
	}()
	defer func() {
		cancel()
		<-done
		a.stop()
	}()
	store := a.observer.Store()
	still, arrived := kube.Patience[int64]{Now: a.kube.Clock.Local}, a.kube.FirstPods(store.Synced)
	for !a.listed() {
		if still.Over(arrived(), listTimeout) || !waitFor(ctx, kube.ListsPoll) {
			return nil
		}
	}
	var snapshot *cluster.Snapshot
	store.Observe(func(s *cluster.Snapshot) { snapshot = s })
	return snapshot
}

// list feeds the store as the process does that is examined.
func (a *App) list(ctx context.Context) error {
	if !a.parts.marking {
		return a.reflect(ctx)
	}
	a.informers.Start(ctx.Done())
	return feedPods(ctx, a)
}

// listed says whether the store knows nodes and pods.
func (a *App) listed() bool {
	for _, synced := range a.synced {
		synced() // which tells the store
	}
	return a.observer.Store().Synced()
}

// pause reads the kill switch.
func (a *App) pause(ctx context.Context) doctor.Pause {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pause := doctor.Pause{Namespace: a.options.Namespace, ConfigMap: evictor.ConfigMapName}
	err := evictor.Paused(ctx, a.kube.Client, a.options.Namespace)
	refusal, refused := errors.AsType[*reasons.Refusal](err)
	switch {
	case refused && refusal.Reason == reasons.Paused:
		pause.Paused, pause.Says = true, refusal.Detail
	case refused:
		pause.Err = errors.New(refusal.Detail)
	default:
		pause.Err = err
	}
	return pause
}
