package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// examineCoverage reports whether enough usage is known to evict, and why samples were rejected.
func examineCoverage(p *Installation, n *notes) {
	if p.Readings == nil {
		return
	}
	level := p.coverage(n)
	for i := range p.Readings.Sources {
		if p.Readings.Sources[i].Err == nil {
			p.refused(n, i, level)
		}
	}
}

// coverage applies the observer's criteria, but accepts windows that are too short,
// because a single reading cannot fill windows. It returns the level of its finding.
func (p *Installation) coverage(n *notes) Level {
	ready := p.Readings.readyNodes()
	known, coming, unknown := 0, 0, map[reasons.Reason][]string{}
	starting := p.anyStarting()
	for _, i := range ready {
		node := &p.Readings.Snapshot.Nodes[i].Node
		switch why := p.Readings.View.Nodes[i].Unknown; {
		case why == "" || why == reasons.WindowTooShort:
			known++
		case why == reasons.NoUsageSample && (starting || p.answered() > 0 && p.Readings.young(node.ReadySince)):
			coming++
		default:
			unknown[why] = append(unknown[why], node.Name)
		}
	}
	summary := fmt.Sprintf("%d of %s have fresh, plausible usage; %g%% needed", known, reasons.Count(len(ready), "ready node"), p.Load.Usage.MinCoveragePercent)
	if len(unknown) > 0 {
		summary += " (" + causes(unknown) + ")"
	}
	f, closed := n.ok("", "%s.", summary), p.closed(known+coming, len(ready))
	f.fix(fixCoverage(unknown))
	switch {
	case closed != "":
		f.Level, f.Subject, f.Says = Problem, string(closed), p.consequence()+": "+f.Says
	case coming > 0:
		f.Level = Warning
		f.Says += fmt.Sprintf(" The usage of %d more is still to come: they or the source started less than %v ago.", coming, warmUp)
	case len(unknown) > 0:
		f.Level = Warning
	}
	return f.Level
}

// consequence describes the effect of too little usage.
func (p *Installation) consequence() string {
	if p.Mode == ModeNodeSync {
		return "Nothing new would be written on most nodes"
	}
	return "Nothing would be evicted"
}

// closed returns why nothing would be evicted.
func (p *Installation) closed(known, ready int) reasons.Reason {
	switch {
	case known == 0 && p.answered() == 0:
		return reasons.UsageSourceUnavailable
	case known == 0:
		return reasons.NoUsageData
	case 100*float64(known) < p.Load.Usage.MinCoveragePercent*float64(ready):
		return reasons.UsageCoverageTooLow
	}
	return ""
}

func causes(unknown map[reasons.Reason][]string) string {
	summary := make([]string, 0, len(unknown))
	for why, nodes := range unknown {
		slices.Sort(nodes)
		summary = append(summary, fmt.Sprintf("%s: %d, %s", why, len(nodes), list(nodes)))
	}
	slices.Sort(summary)
	return strings.Join(summary, "; ")
}

// fixCoverage explains, for each cause, where to look.
func fixCoverage(unknown map[reasons.Reason][]string) string {
	var fixes []string
	for _, one := range []struct {
		why reasons.Reason
		fix string
	}{
		{reasons.NoUsageSample, "NoUsageSample: see sources and matching."},
		{reasons.UsageStale, "UsageStale: the source's samples are older than maxAge: see clock, and the interval at which it scrapes."},
		{reasons.UsageFromTheFuture, "UsageFromTheFuture: a clock or a time zone is wrong; see the source's finding."},
		{reasons.UsageAbsurd, "UsageAbsurd: a unit is wrong; see the source's finding."},
		{reasons.UsageContradictory, "UsageContradictory: a fraction was read as a percentage, or a series belongs to another node; see the source's finding."},
		{reasons.UsageAmbiguous, "UsageAmbiguous: several samples of one node; see matching."},
		{reasons.AllocatableUnknown, "AllocatableUnknown: the node has no allocatable cpu or memory, because its kubelet has not registered it fully."},
	} {
		if _, ok := unknown[one.why]; ok {
			fixes = append(fixes, one.fix)
		}
	}
	return strings.Join(fixes, "\n")
}

// refusals lists the causes of rejected samples that the coverage check reports. The
// matching check reports the other causes.
var refusals = []usage.Cause{usage.Future, usage.Stale, usage.Absurd, usage.Contradictory, usage.Unreadable, usage.Unreachable}

// refused reports the rejected samples, at the level of their effect.
func (p *Installation) refused(n *notes, i int, level Level) {
	if level == OK {
		level = Warning
	}
	for _, cause := range refusals {
		if problem := p.Readings.Sources[i].Problems[cause]; problem.Count > 0 {
			n.add(level, p.sourceName(i), "%s rejected: %s: %s.", reasons.Count(problem.Count, "sample"), causeWords[cause], strings.Join(problem.Examples, "; ")).
				fix(fixRefused(&p.Sources[i], cause))
		}
	}
}

// causeWords describes the causes.
var causeWords = map[usage.Cause]string{
	usage.Future:        "from the future",
	usage.Stale:         "too old",
	usage.Absurd:        "negative, not a number, or far more than the node has",
	usage.Contradictory: "contradicted by other usage",
	usage.Unreadable:    "not understood",
	usage.Unreachable:   "no answer",
}

func fixRefused(s *policy.Source, cause usage.Cause) string {
	switch cause {
	case usage.Future:
		return advice(s, source.Future, "The clock of the nodes, or of this machine, is wrong: see whether they are synchronised (NTP).")
	case usage.Stale:
		return "Scrape more often, or allow older samples (at the price of acting on them):\n" + outer(s.Type, "maxAge: 3m")
	case usage.Absurd:
		return fixUnit(s, "Most often the unit is wrong: milli-cores for cores, KiB for bytes, a percentage beyond 100.")
	case usage.Contradictory:
		return fixUnit(s, "Most often a fraction (0.65) is read as a percentage (65) or vice versa, or a series belongs to another node.")
	case usage.Unreachable:
		return "These nodes did not answer: look at the first error. If all others answer, NetworkPolicies and firewalls are the usual cause."
	default:
		return "See the examples: they are not in the source's format."
	}
}

// fixUnit adds to why where to set the unit of a source, if it can be set.
func fixUnit(s *policy.Source, why string) string {
	if where := advice(s, source.WrongUnit, ""); where != "" {
		return why + "\n" + where
	}
	return why
}
