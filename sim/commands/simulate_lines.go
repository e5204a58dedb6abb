package commands

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/contest"
)

// ownLines and equalLines are the values of --rival-lines.
const (
	ownLines   = "own"
	equalLines = "equal"
)

// RivalLines are the values of --rival-lines.
var RivalLines = []string{ownLines, equalLines}

// equalSuffix marks the rows of rivals that use Evenkeel's lines.
const equalSuffix = "-equal"

// rivalLines determines which lines rivals use: their own, those of a policy, or both in
// separate runs.
type rivalLines struct {
	own, equal bool
	lines      cluster.Percents
	memory     bool
}

// rivalLines takes Evenkeel's lines from the first of the given variants that evicts.
func (o *SimulateOptions) rivalLines(evenkeels []sim.Variant) (rivalLines, error) {
	for _, word := range o.RivalLines {
		if !slices.Contains(RivalLines, word) {
			return rivalLines{}, exit.Usagef("--rival-lines: %q is not one of %s%s", word, strings.Join(RivalLines, ", "), likely.Hint(word, RivalLines))
		}
	}
	r := rivalLines{own: slices.Contains(o.RivalLines, ownLines), equal: slices.Contains(o.RivalLines, equalLines)}
	if !r.equal {
		return r, nil
	}
	model := evenkeels[slices.IndexFunc(evenkeels, func(v sim.Variant) bool { return v.Evicts })]
	r.lines, r.memory = model.Lines, o.Run.Fleet.Memory
	if given := func(line float64) bool { return line > 0 && !math.IsInf(line, 1) }; !slices.ContainsFunc(r.lines[:], given) {
		return rivalLines{}, exit.Usagef("--rival-lines equal: %s has no evict line of cpu or memory in percent that others could take", model.Name)
	}
	return r, nil
}

// of returns the variants to play for one variant: one for each kind of lines. It returns
// only the variant itself if it has no usage lines or if its lines do not differ.
func (r rivalLines) of(v sim.Variant) []sim.Variant {
	at, differs := r.at(v)
	switch {
	case !r.equal || !differs:
		return []sim.Variant{v}
	case !r.own:
		return []sim.Variant{at}
	}
	return []sim.Variant{v, at}
}

// at returns a rival with the policy's lines; it has no line where the policy has none.
// differs reports whether the replay can show a difference.
func (r rivalLines) at(v sim.Variant) (_ sim.Variant, differs bool) {
	if v.Policy != nil || v.Lines == (cluster.Percents{}) {
		return v, false
	}
	for resource, line := range r.lines {
		if line > 0 && v.Lines[resource] != line {
			v.Lines[resource] = line
			differs = differs || r.memory || cluster.Resource(resource) != cluster.Memory
		}
	}
	v.Name += equalSuffix
	if v.Upstream != nil {
		v.Upstream = metricsArgs(v.Lines)
	}
	return v, differs
}

// evictLines returns a policy's evict lines for usage in percent, without those of its
// pools; 0 for a resource that has only a deviation or a line for memory.available, +Inf
// for a resource without a line.
func evictLines(of policy.Lines) (lines cluster.Percents) {
	for resource, metrics := range map[cluster.Resource][]usage.Metric{cluster.CPU: {usage.CPU}, cluster.Memory: {usage.Memory, thresholds.MemoryAvailable}} {
		lines[resource] = math.Inf(1)
		for _, metric := range metrics {
			switch line, judged := of[metric]; {
			case !judged || line.Evict == nil && !line.Deviation:
			case !line.Deviation && metric != thresholds.MemoryAvailable:
				lines[resource] = *line.Evict
			case math.IsInf(lines[resource], 1):
				lines[resource] = 0
			}
		}
	}
	return lines
}

// onMetrics returns the variant in which upstream's plugin evicts by usage while a rival,
// which may be empty, places pods. Descheduler ships no thresholds; the ones used here
// suit clusters at 50% CPU.
func onMetrics(beside contest.Name) sim.Variant {
	lines := cluster.Percents{65, 65}
	return sim.Variant{Rival: beside, Upstream: metricsArgs(lines), Lines: lines}
}

func metricsArgs(high cluster.Percents) *nodeutilization.LowNodeUtilizationArgs {
	low := high
	for resource := range low {
		if !math.IsInf(high[resource], 1) {
			low[resource] = min(45, high[resource])
		}
	}
	return upstreamArgs(low, high, &nodeutilization.MetricsUtilization{Source: api.KubernetesMetrics})
}

func upstreamArgs(low, high cluster.Percents, metrics *nodeutilization.MetricsUtilization) *nodeutilization.LowNodeUtilizationArgs {
	return &nodeutilization.LowNodeUtilizationArgs{
		Thresholds: thresholdsOf(low), TargetThresholds: thresholdsOf(high), MetricsUtilization: metrics,
	}
}

// thresholdsOf returns thresholds without resources that have no line.
func thresholdsOf(percents cluster.Percents) api.ResourceThresholds {
	of := api.ResourceThresholds{}
	for resource, percent := range percents {
		if !math.IsInf(percent, 1) {
			of[v1.ResourceName(cluster.Resource(resource).String())] = api.Percentage(percent)
		}
	}
	return of
}
