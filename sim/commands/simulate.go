package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/contest"
	"github.com/evenkeel/evenkeel/sim/report"
	"github.com/evenkeel/evenkeel/sim/rivals"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

// Simulate runs `evenkeel simulate`: it replays usage in virtual time and reports the
// results of each variant.
func Simulate(ctx context.Context, o SimulateOptions, out, progress io.Writer) error {
	if err := output.Check(out, o.Output, SimulateFormats, o.Color); err != nil {
		return err
	}
	if err := folderExists("--report", o.Report); err != nil {
		return exit.Usage(err)
	}
	o.Shape.Seed, o.Recipe.Seed = o.Run.Seed, o.Run.Seed
	err := o.fleet()
	if err != nil {
		return exit.Usage(err)
	}
	if o.Run.Variants, err = o.variants(); err != nil {
		return err
	}
	if err := cmp.Or(o.Run.Validate(), o.scored()); err != nil {
		return exit.Usage(err)
	}
	far := terminal.NewProgress(progress, time.Now())
	o.Run.KeepUsage = o.Report != ""
	o.Run.Progress = func(variant string, step, steps int) {
		far.Say(time.Now(), fmt.Sprintf("%s: %d%%", layout.Printable(variant), 100*step/max(1, steps)))
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(sim.GCPercent))
	}
	results, err := sim.Run(ctx, o.Run)
	far.Done()
	if err != nil {
		return fmt.Errorf("simulating: %w", err)
	}
	heading := o.heading()
	if o.Notes != nil && heading.WarmUpSteps < o.Run.WarmUp {
		fmt.Fprintf(o.Notes, "--warm-up %d: only the last of %d steps is scored\n", o.Run.WarmUp, heading.Steps)
	}
	if err := o.writeReport(heading, results); err != nil {
		return err
	}
	return o.print(out, heading, results)
}

// scored rejects a --warm-up that leaves nothing to score. For a short trace, it shortens
// the default.
func (o *SimulateOptions) scored() error {
	steps := o.heading().Steps
	if o.flags == nil || !o.flags.Changed("warm-up") || o.Run.WarmUp < steps {
		return nil
	}
	return fmt.Errorf("--warm-up: %d is all of the %d steps that are played; it must be less", o.Run.WarmUp, steps)
}

func (o *SimulateOptions) heading() report.Heading {
	h := report.Heading{
		Version: o.Version, Trace: o.replayed, MemoryTrace: o.replayedMemory, Pods: len(o.Run.Fleet.Replicas), Nodes: o.Run.Fleet.Nodes, Steps: cmp.Or(o.Run.Steps, o.Run.Fleet.Steps),
		WarmUpSteps: o.Run.WarmUp, Policies: o.Policies, Seed: o.Run.Seed, HotLinePercent: o.Run.HotLinePercent,
		LagSeconds: o.Run.Lag.Seconds(), GapSeconds: o.Run.Gap.Seconds(), CycleSeconds: o.Run.Every.Seconds(), MeasureServed: o.Run.MeasureServed,
		HiddenPodsPercent: o.Run.Blind.HiddenPodsPercent, LostSamplesPercent: o.Run.Blind.LostSamplesPercent, PodsMeasuredSeconds: o.Run.Blind.Every.Seconds(),
	}
	h.WarmUpSteps = min(h.WarmUpSteps, h.Steps-1)
	return h
}

// variants returns the comparisons in the given order, then the policies.
func (o *SimulateOptions) variants() ([]sim.Variant, error) {
	load := policy.Default(kinds.All)
	shipped, err := registry.New(policy.DefaultStrategy)
	if err != nil {
		return nil, err
	}
	load.NodeSync.Taint.Enabled, load.NodeSync.RejectTaint.Enabled = true, true // for variants in which nodesync runs
	own, err := sim.NewPolicy(&load, shipped)
	if err != nil {
		return nil, err
	}
	known := map[string]sim.Variant{
		"none":              {},
		"upstream-requests": {Upstream: upstreamArgs(cluster.Percents{20, 20}, cluster.Percents{50, 50}, nil)},
		"upstream-metrics":  onMetrics(""),
		"openshift":         {Rival: contest.OpenShift},
		"koordinator":       {Rival: contest.Koordinator, Lines: rivals.KoordinatorHigh},
		"trimaran":          onMetrics(contest.Trimaran),
		"trimaran-risk":     onMetrics(contest.TrimaranRisk),
		"evict-only":        {Policy: own, Evicts: true, Lines: evictLines(load.Lines)},
		"extender-only":     {Policy: own, Steers: true},
		"admission":         {Policy: own, Evicts: true, Admission: true, Lines: evictLines(load.Lines)},
		"admission+taints":  {Policy: own, Evicts: true, Admission: true, Marks: true, Lines: evictLines(load.Lines)},
		"evenkeel":          {Policy: own, Evicts: true, Steers: true, Lines: evictLines(load.Lines)},
		"oracle":            {Oracle: true},
	}
	policies, err := o.policyVariants()
	if err != nil {
		return nil, err
	}
	lines, err := o.rivalLines(append(slices.Clone(policies), known["evenkeel"]))
	if err != nil {
		return nil, err
	}
	var all []sim.Variant
	for _, name := range o.Compare {
		variant, ok := known[name]
		if !ok {
			return nil, exit.Usagef("--compare: %q is not one of %s%s", name, strings.Join(comparisons, ", "), likely.Hint(name, comparisons))
		}
		variant.Name = name
		all = append(all, lines.of(variant)...)
	}
	for i, variant := range policies {
		if slices.ContainsFunc(all, func(other sim.Variant) bool { return other.Name == variant.Name }) {
			return nil, exit.Usagef("--policy %s: there is a variant %q already; files to compare need different names", o.Policies[i], variant.Name)
		}
		all = append(all, variant)
	}
	return all, nil
}

func (o *SimulateOptions) policyVariants() ([]sim.Variant, error) {
	var all []sim.Variant
	for _, file := range o.Policies {
		variant, err := policyVariant(file)
		if err != nil {
			return nil, err
		}
		if !variant.Evicts && o.Notes != nil {
			fmt.Fprintf(o.Notes, "--policy %s: %s, so it only steers here\n", file, status.NothingByUsage)
		}
		all = append(all, variant)
	}
	return all, nil
}

// policyVariant returns the variant in which both halves use a policy file, including the
// strategies' arguments in its DeschedulerPolicy.
func policyVariant(path string) (_ sim.Variant, err error) {
	defer policyfile.Recover(path, &err)
	file, _, err := policyfile.Read(path, compat.Convert)
	if err != nil {
		return sim.Variant{}, err
	}
	strategies, err := strategiesOf(file)
	if err != nil {
		return sim.Variant{}, err
	}
	p, err := sim.NewPolicy(&file.Load, strategies...)
	if err != nil {
		return sim.Variant{}, exit.Usagef("%s: %w", path, err)
	}
	variant := sim.Variant{Name: filepath.Base(path), Policy: p, Evicts: len(strategies) > 0, Steers: true}
	if !variant.Evicts {
		return variant, nil
	}
	variant.Lines = evictLines(file.Load.Lines)
	for _, strategy := range strategies {
		if strategy.Describe().Thresholds == nil {
			continue
		}
		lines, err := policy.Overlay(&file.Load, strategy)
		if err != nil {
			return sim.Variant{}, exit.Usagef("%s: %w", path, err)
		}
		variant.Lines = evictLines(lines)
	}
	return variant, nil
}

// strategiesOf returns the strategies that a policy runs, which are those of the first
// profile that has any.
func strategiesOf(file *policy.File) (strategies []plugin.Strategy, err error) {
	switch {
	case file.Descheduler == nil && file.DefaultProfile:
		shipped, err := registry.New(policy.DefaultStrategy)
		return []plugin.Strategy{shipped}, err
	case file.Descheduler == nil:
		return nil, nil
	}
	policyfile.SetupPlugins()
	profiles, _, err := policyfile.Profiles(file)
	if err != nil {
		return nil, err
	}
	if _, err := settings.Lines(&file.Load, policy.Strategies(profiles)); err != nil { // no process would start with such lines
		return nil, policyfile.Invalid(policyfile.NameOf(file), err.Error())
	}
	for _, given := range policyfile.Planned(profiles) {
		strategy, ok := given.(plugin.Strategy)
		if !ok {
			return nil, fmt.Errorf("%s: strategy %s cannot be replayed", policyfile.NameOf(file), given.Describe().Name)
		}
		strategies = append(strategies, strategy)
	}
	return strategies, nil
}

func (o *SimulateOptions) print(out io.Writer, heading report.Heading, results []sim.Result) error {
	switch o.Output {
	case "json":
		return report.JSON(out, heading, results)
	case "csv":
		return report.CSV(out, results)
	}
	var failed error
	err := output.Show(out, o.Output, o.Color, nil, func(p *layout.Page) { failed = report.Table(p, results) })
	return errors.Join(failed, err)
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
