package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/sim"
	"github.com/evenkeel/evenkeel/internal/sim/report"
	"github.com/evenkeel/evenkeel/internal/sim/trace"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// SimulateOptions are the flags of `evenkeel simulate`.
type SimulateOptions struct {
	// Trace and MemoryTrace are files; without a Trace one is generated.
	Trace, MemoryTrace string
	// Recording is a file that `evenkeel record` wrote; Stretch plays each of its readings as a step.
	Recording      string
	Stretch        bool
	Recipe         trace.Recipe
	Shape          sim.Shape
	Run            sim.Config
	Policies       []string
	Compare        []string
	Output, Report string
	// Version is the program's.
	Version string
	// Notes, which may be nil, is where it is told what a recording leaves open.
	Notes io.Writer

	flags *pflag.FlagSet
	// replayed and replayedMemory name what is replayed.
	replayed, replayedMemory string
}

// NewSimulateOptions returns the defaults.
func NewSimulateOptions() SimulateOptions {
	return SimulateOptions{
		Recipe: trace.DefaultRecipe(), Shape: sim.DefaultShape(), Compare: []string{"none", "upstream-metrics", "evenkeel"},
		Run: sim.Config{
			WarmUp: sim.DefaultWarmUp, Every: sim.DefaultEvery, Lag: sim.DefaultLag, Gap: sim.DefaultGap,
			HotLinePercent: sim.DefaultHotLine, ExtenderWeight: sim.DefaultExtenderWeight,
			MaxUnavailablePercent: sim.DefaultMaxUnavailable, Seed: 1,
		},
		Output: "table",
	}
}

// SimulateFormats are the output formats of `evenkeel simulate`.
const SimulateFormats = "table|json|csv"

// comparisons are what can be compared, beside the policies.
var comparisons = []string{"none", "upstream-requests", "upstream-metrics", "evict-only", "extender-only", "evenkeel", "oracle"}

// AddTo defines the flags.
func (o *SimulateOptions) AddTo(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.Recording, "recording", o.Recording, "Recording to replay, as evenkeel record writes it: with its own nodes, pods and placement.")
	flags.BoolVar(&o.Stretch, "stretch", o.Stretch, "Play each reading of a recording as five minutes, for a first look at a short one.")
	flags.StringVar(&o.Trace, "trace", o.Trace, "CPU trace to replay: CSV, gzip or not. Without it usage is generated.")
	flags.StringVar(&o.MemoryTrace, "memory-trace", o.MemoryTrace, "Memory trace with as many series. Without it the .mem.csv beside a .cpu.csv is taken.")
	flags.StringArrayVar(&o.Policies, "policy", nil, "Policy file to play as a variant of its own; may be given several times.")
	flags.StringSliceVar(&o.Compare, "compare", o.Compare, "Variants to compare: "+strings.Join(comparisons, ", ")+".")
	flags.Float64Var(&o.Shape.PodsPerNode, "pods-per-node", o.Shape.PodsPerNode, "Pods to a node.")
	flags.IntVar(&o.Shape.Nodes, "nodes", o.Shape.Nodes, "Nodes; 0 counts them by --pods-per-node.")
	flags.IntVar(&o.Shape.Pods, "pods", o.Shape.Pods, "Pods; 0 is one per series.")
	flags.IntVar(&o.Shape.ReplicasPerOwner, "replicas-per-owner", o.Shape.ReplicasPerOwner, "Pods that share a ReplicaSet.")
	flags.Float64Var(&o.Shape.MeanCPUPercent, "mean-cpu", o.Shape.MeanCPUPercent, "Mean CPU usage of all nodes, in percent, that they are sized for.")
	flags.Float64Var(&o.Shape.MeanMemoryPercent, "mean-memory", o.Shape.MeanMemoryPercent, "The same for memory.")
	flags.Float64Var(&o.Shape.RequestPercent, "requested", o.Shape.RequestPercent, "Share of all nodes, in percent, that the pods request together.")
	flags.IntVar(&o.Run.Steps, "steps", o.Run.Steps, "Steps of five minutes to play; 0 plays the whole trace.")
	flags.IntVar(&o.Run.WarmUp, "warm-up", o.Run.WarmUp, "Steps before anything is scored.")
	flags.DurationVar(&o.Run.Every, "descheduling-interval", o.Run.Every, "Time between two cycles.")
	flags.DurationVar(&o.Run.Lag, "lag", o.Run.Lag, "How late usage arrives.")
	flags.DurationVar(&o.Run.Gap, "gap", o.Run.Gap, "How long a pod is away when it is moved.")
	flags.Float64Var(&o.Run.HotLinePercent, "hot-line", o.Run.HotLinePercent, "Usage in percent above which node-time counts as hot.")
	flags.Int64Var(&o.Run.ExtenderWeight, "extender-weight", o.Run.ExtenderWeight, "Weight of the extender in kube-scheduler's configuration.")
	flags.Float64Var(&o.Run.DeploysPerDay, "deploys", o.Run.DeploysPerDay, "How often a day each owner is deployed anew, on average.")
	flags.IntVar(&o.Run.MaxUnavailablePercent, "max-unavailable", o.Run.MaxUnavailablePercent, "maxUnavailable of each owner's PodDisruptionBudget, in percent; 100 has none.")
	flags.Uint64Var(&o.Run.Seed, "seed", o.Run.Seed, "Seed of everything that goes by chance.")
	flags.StringVarP(&o.Output, "output", "o", o.Output, "Output format: "+SimulateFormats+".")
	flags.StringVar(&o.Report, "report", o.Report, "File to write an HTML report to.")
	flags.IntVar(&o.Recipe.Series, "generate-series", o.Recipe.Series, "Series to generate without --trace.")
}

// Simulate is `evenkeel simulate`: it replays usage in virtual time and tells what each variant comes to.
func Simulate(ctx context.Context, o SimulateOptions, out, progress io.Writer) error {
	if !slices.Contains(strings.Split(SimulateFormats, "|"), o.Output) {
		return exit.Usagef("output format %q: allowed are %s", o.Output, SimulateFormats)
	}
	o.Shape.Seed, o.Recipe.Seed = o.Run.Seed, o.Run.Seed
	err := o.fleet()
	if err != nil {
		return exit.Usage(err)
	}
	if o.Run.Variants, err = o.variants(); err != nil {
		return err
	}
	if err := o.Run.Validate(); err != nil {
		return exit.Usage(err)
	}
	o.Run.KeepUsage, o.Run.Progress = o.Report != "", bar(progress)
	results, err := sim.Run(ctx, o.Run)
	if err != nil {
		return fmt.Errorf("simulating: %w", err)
	}
	heading := o.heading()
	if err := o.writeReport(heading, results); err != nil {
		return err
	}
	return o.print(out, heading, results)
}

func (o *SimulateOptions) heading() report.Heading {
	h := report.Heading{
		Version: o.Version, Trace: o.replayed, MemoryTrace: o.replayedMemory, Pods: len(o.Run.Fleet.Replicas), Nodes: o.Run.Fleet.Nodes, Steps: o.Run.Steps,
		WarmUpSteps: o.Run.WarmUp, Policies: o.Policies, Seed: o.Run.Seed, HotLinePercent: o.Run.HotLinePercent,
		LagSeconds: o.Run.Lag.Seconds(), GapSeconds: o.Run.Gap.Seconds(), CycleSeconds: o.Run.Every.Seconds(),
	}
	if h.Steps == 0 {
		h.Steps = o.Run.Fleet.Steps
	}
	return h
}

func (o *SimulateOptions) traces() (cpu, memory *trace.Trace, err error) {
	if o.Trace == "" {
		if o.MemoryTrace != "" {
			return nil, nil, errors.New("--memory-trace needs --trace")
		}
		return trace.Generate(o.Recipe)
	}
	if cpu, err = trace.Open(o.Trace); err != nil {
		return nil, nil, err
	}
	file, asked := o.MemoryTrace, o.MemoryTrace != ""
	if !asked {
		if file = strings.Replace(o.Trace, ".cpu.csv", ".mem.csv", 1); file == o.Trace {
			return cpu, nil, nil
		}
	}
	memory, err = trace.Open(file)
	if !asked && errors.Is(err, fs.ErrNotExist) {
		return cpu, nil, nil
	}
	return cpu, memory, err
}

// variants are the comparisons in the order asked for, and the policies.
func (o *SimulateOptions) variants() ([]sim.Variant, error) {
	load := policy.Default(kinds.All)
	own, err := simPolicy(&load)
	if err != nil {
		return nil, err
	}
	known := map[string]sim.Variant{
		"none":              {},
		"upstream-requests": {Upstream: upstreamArgs(20, 50, nil)},
		"upstream-metrics":  {Upstream: upstreamArgs(45, 65, &nodeutilization.MetricsUtilization{Source: api.KubernetesMetrics})},
		"evict-only":        {Policy: own, Evicts: true},
		"extender-only":     {Policy: own, Steers: true},
		"evenkeel":          {Policy: own, Evicts: true, Steers: true},
		"oracle":            {Oracle: true},
	}
	var all []sim.Variant
	for _, name := range o.Compare {
		variant, ok := known[name]
		if !ok {
			return nil, exit.Usagef("--compare %q: allowed are %s", name, strings.Join(comparisons, ", "))
		}
		variant.Name = name
		all = append(all, variant)
	}
	for _, file := range o.Policies {
		variant, err := policyVariant(file)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other sim.Variant) bool { return other.Name == variant.Name }) {
			return nil, exit.Usagef("--policy %s: there is a variant %q already; files to compare need names of their own", file, variant.Name)
		}
		all = append(all, variant)
	}
	return all, nil
}

func upstreamArgs(low, high api.Percentage, metrics *nodeutilization.MetricsUtilization) *sim.Upstream {
	return &sim.Upstream{Args: &nodeutilization.LowNodeUtilizationArgs{
		Thresholds:         api.ResourceThresholds{"cpu": low, "memory": low},
		TargetThresholds:   api.ResourceThresholds{"cpu": high, "memory": high},
		MetricsUtilization: metrics,
	}}
}

// policyVariant is a policy file as both halves go by it. Thresholds in a DeschedulerPolicy are left out: they need upstream's
// loader, which asks the API server.
func policyVariant(path string) (sim.Variant, error) {
	file, _, err := policyfile.Read(path)
	if err != nil {
		return sim.Variant{}, err
	}
	p, err := simPolicy(&file.Load)
	if err != nil {
		return sim.Variant{}, exit.Usagef("%s: %w", path, err)
	}
	return sim.Variant{Name: filepath.Base(path), Policy: p, Evicts: true, Steers: true}, nil
}

func (o *SimulateOptions) print(out io.Writer, heading report.Heading, results []sim.Result) error {
	switch o.Output {
	case "json":
		return report.JSON(out, heading, results)
	case "csv":
		return report.CSV(out, results)
	}
	return report.Table(out, results)
}

func (o *SimulateOptions) writeReport(heading report.Heading, results []sim.Result) (err error) {
	if o.Report == "" {
		return nil
	}
	file, err := os.Create(o.Report)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return report.HTML(file, heading, results)
}

// bar draws how far a run is, once for each percent.
func bar(w io.Writer) func(variant string, step, steps int) {
	if w == nil {
		return nil
	}
	const width = 30
	drawn := -1
	return func(variant string, step, steps int) {
		percent := 100 * step / max(1, steps)
		if percent == drawn {
			return
		}
		drawn = percent
		filled := width * percent / 100
		_, _ = fmt.Fprintf(w, "\r%-20s [%s%s] %3d %%", variant, strings.Repeat("#", filled), strings.Repeat(" ", width-filled), percent)
		if step == steps {
			_, _ = fmt.Fprintln(w)
		}
	}
}
