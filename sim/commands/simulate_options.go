package commands

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/trace"
)

// SimulateOptions are the flags of `evenkeel simulate`.
type SimulateOptions struct {
	// Trace and MemoryTrace are files. If Trace is empty, a trace is generated.
	Trace, MemoryTrace string
	// Recording is a file written by `evenkeel record`. Stretch plays each of its readings
	// as one step.
	Recording string
	Stretch   bool
	Recipe    trace.Recipe
	// Generate is the kind of load to generate if there is no trace: one of generators.
	Generate string
	Dense    sim.Dense
	Shape    sim.Shape
	Run      sim.Config
	Policies []string
	Compare  []string
	// RivalLines selects the lines by which rivals evict. Its values are listed in the
	// variable RivalLines.
	RivalLines     []string
	Output, Report string
	Color          string
	// Version is the program's version.
	Version string
	// Notes, which may be nil, receives notes on what a recording does not
	// contain.
	Notes io.Writer

	flags *pflag.FlagSet
	// replayed and replayedMemory name what is replayed.
	replayed, replayedMemory string
}

// NewSimulateOptions returns the defaults.
func NewSimulateOptions() SimulateOptions {
	return SimulateOptions{
		Recipe: trace.DefaultRecipe(), Generate: generators[0], Dense: sim.DefaultDense(), Shape: sim.DefaultShape(), Compare: []string{"none", "upstream-metrics", "evenkeel"},
		Run: sim.Config{
			WarmUp: sim.DefaultWarmUp, Every: sim.DefaultEvery, Lag: sim.DefaultLag, Gap: sim.DefaultGap,
			HotLinePercent: sim.DefaultHotLine, ExtenderWeight: sim.DefaultExtenderWeight,
			MaxUnavailablePercent: sim.DefaultMaxUnavailable, Seed: 1,
		},
		RivalLines: []string{ownLines}, Output: "table",
	}
}

// SimulateFormats are the output formats of `evenkeel simulate`.
const SimulateFormats = "table|json|csv"

// comparisons holds the names that --compare accepts.
var comparisons = []string{
	"none", "upstream-requests", "upstream-metrics", "openshift", "koordinator", "trimaran", "trimaran-risk",
	"evict-only", "extender-only", "admission", "admission+taints", "evenkeel", "oracle",
}

// generators holds the values of --generate. mixed generates waves, noise, leaks and
// deploys; daily-bursts, for each group of pods, a daily burst at a fixed hour;
// random-bursts the same at random hours; and dense steady pods that crowd one of several
// nodes.
var generators = []string{"mixed", "daily-bursts", "random-bursts", "dense"}

// AddTo defines the flags.
func (o *SimulateOptions) AddTo(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.Recording, "recording", o.Recording, "Recording to replay, as evenkeel record writes it: with its own nodes, pods and placement.")
	flags.BoolVar(&o.Stretch, "stretch", o.Stretch, "Play each reading of a recording as five minutes, for a first look at a short one.")
	flags.StringVar(&o.Trace, "trace", o.Trace, "CPU trace to replay: CSV, gzip or not. Without it usage is generated.")
	flags.StringVar(&o.MemoryTrace, "memory-trace", o.MemoryTrace, "Memory trace with as many series. Without it the .mem.csv beside a .cpu.csv is taken.")
	flags.StringArrayVar(&o.Policies, "policy", nil, "Policy file to add as a variant (repeatable).")
	flags.StringSliceVar(&o.Compare, "compare", o.Compare, "Variants to compare: "+strings.Join(comparisons, ", ")+".")
	flags.StringSliceVar(&o.RivalLines, "rival-lines", o.RivalLines, "Lines by which Koordinator and upstream evict: "+ownLines+", "+equalLines+" to those of the first --policy or the shipped one, or both.")
	flags.Float64Var(&o.Shape.PodsPerNode, "pods-per-node", o.Shape.PodsPerNode, "Pods per node; with --generate=dense, of the crowded node, and 110 unless set.")
	flags.IntVar(&o.Shape.Nodes, "nodes", o.Shape.Nodes, "Number of nodes; 0 derives it from --pods-per-node.")
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
	flags.Float64Var(&o.Run.DeploysPerDay, "deploys", o.Run.DeploysPerDay, "Average number of rollouts per workload per day.")
	flags.BoolVar(&o.Run.MeasureServed, "measure-served", false, "On full nodes, measure pods at the CPU that they get, as in life, not at what they ask for.")
	flags.Float64Var(&o.Run.Blind.HiddenPodsPercent, "hidden-pods", 0, "Share of pods, in percent, whose usage Evenkeel's source never reports.")
	flags.Float64Var(&o.Run.Blind.LostSamplesPercent, "lost-samples", 0, "Share of samples of nodes and pods, in percent, that Evenkeel's source loses.")
	flags.DurationVar(&o.Run.Blind.Every, "pods-measured-every", 0, "How often Evenkeel's source measures pods; 0s is every step of five minutes.")
	flags.IntVar(&o.Run.MaxUnavailablePercent, "max-unavailable", o.Run.MaxUnavailablePercent, "maxUnavailable of each owner's PodDisruptionBudget, in percent; 100 has none.")
	flags.Uint64Var(&o.Run.Seed, "seed", o.Run.Seed, "Random seed.")
	flags.StringVarP(&o.Output, "output", "o", o.Output, "Output format: "+SimulateFormats+".")
	output.AddColor(flags, &o.Color)
	flags.StringVar(&o.Report, "report", o.Report, "File to write an HTML report to.")
	flags.StringVar(&o.Generate, "generate", o.Generate, "What to generate without --trace: "+strings.Join(generators, "|")+".")
	flags.Float64Var(&o.Dense.LoadPercent, "dense-load", o.Dense.LoadPercent, "With --generate=dense, what the pods of the crowded node ask of its CPU together, in percent.")
	flags.Float64Var(&o.Dense.Sigma, "dense-sigma", o.Dense.Sigma, "With --generate=dense, how much their log-normal sizes differ; 0 for equal ones.")
	flags.StringVar((*string)(&o.Dense.Kind), "dense-pods", string(o.Dense.Kind), "With --generate=dense, what they are: plain, old (for two days) or stateful (with a claim, for two days).")
	flags.IntVar(&o.Recipe.Series, "generate-series", o.Recipe.Series, "Series to generate without --trace.")
}

func (o *SimulateOptions) traces() (cpu, memory *trace.Trace, err error) {
	if o.Trace == "" {
		if o.MemoryTrace != "" {
			return nil, nil, errors.New("--memory-trace needs --trace")
		}
		switch o.Generate {
		case generators[0]:
			return trace.Generate(o.Recipe)
		case generators[1], generators[2]:
			cpu, err = trace.Bursts(o.Recipe, o.Generate == generators[1])
			return cpu, nil, err
		}
		return nil, nil, fmt.Errorf("--generate: want %s, got %q", strings.Join(generators, ", "), o.Generate)
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
