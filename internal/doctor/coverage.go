package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

// examineCoverage reports whether anything would be evicted on what is known,
// and why samples were not taken.
func examineCoverage(p *Patient, n *notes) {
	if p.Readings == nil {
		return
	}
	level := p.gate(n)
	for i := range p.Readings.Sources {
		if p.Readings.Sources[i].Err == nil {
			p.refused(n, i, level)
		}
	}
}

// gate judges as the observer does, but for windows that are too short: one
// reading cannot fill them. It returns how bad it is.
func (p *Patient) gate(n *notes) Level {
	ready := p.Readings.readyNodes()
	known, unknown := 0, map[reasons.Reason][]string{}
	for _, i := range ready {
		why := p.Readings.View.Nodes[i].Unknown
		if why == "" || why == reasons.WindowTooShort {
			known++
			continue
		}
		unknown[why] = append(unknown[why], p.Readings.Snapshot.Nodes[i].Node.Name)
	}
	said := fmt.Sprintf("%d of %s have fresh and sane usage; %g %% are needed", known, reasons.Count(len(ready), "ready node"), p.Load.Usage.MinCoveragePercent)
	if len(unknown) > 0 {
		said += " (" + causes(unknown) + ")"
	}
	f, closed := n.ok("", "%s.", said), p.closed(known, len(ready))
	f.fix(mendCoverage(unknown))
	switch {
	case closed != "":
		f.Level, f.Subject, f.Says = Problem, string(closed), p.consequence()+": "+f.Says
	case len(unknown) > 0:
		f.Level = Warning
	}
	return f.Level
}

// consequence is what comes of too little usage.
func (p *Patient) consequence() string {
	if p.Mode == ModeNodeSync {
		return "Nothing new would be written on most nodes"
	}
	return "Nothing would be evicted"
}

// closed returns why nothing would be evicted.
func (p *Patient) closed(known, ready int) reasons.Reason {
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
	said := make([]string, 0, len(unknown))
	for why, nodes := range unknown {
		slices.Sort(nodes)
		said = append(said, fmt.Sprintf("%s: %d, %s", why, len(nodes), list(nodes)))
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}

// mendCoverage points to where the cause is told.
func mendCoverage(unknown map[reasons.Reason][]string) string {
	var mend []string
	for _, one := range []struct {
		why  reasons.Reason
		mend string
	}{
		{reasons.NoUsageSample, "NoUsageSample: see sources and matching."},
		{reasons.UsageStale, "UsageStale: the source's samples are older than maxAge: see clock, and the interval at which it scrapes."},
		{reasons.UsageFromTheFuture, "UsageFromTheFuture: a clock or a time zone is wrong; see the source's finding."},
		{reasons.UsageAbsurd, "UsageAbsurd: a unit is wrong; see the source's finding."},
		{reasons.UsageContradictory, "UsageContradictory: a fraction was taken for a percentage, or a series for another node's; see the source's finding."},
		{reasons.UsageAmbiguous, "UsageAmbiguous: several samples of one node; see matching."},
		{reasons.AllocatableUnknown, "AllocatableUnknown: the node states no allocatable cpu or memory: its kubelet has not registered it fully."},
	} {
		if _, ok := unknown[one.why]; ok {
			mend = append(mend, one.mend)
		}
	}
	return strings.Join(mend, "\n")
}

// refusals are the causes for which samples are not taken that are told here;
// the others are matters of matching.
var refusals = []usage.Cause{usage.Future, usage.Stale, usage.Absurd, usage.Contradictory, usage.Unreadable, usage.Unreachable}

// refused reports the samples that were not taken; they are as bad as what they
// lead to.
func (p *Patient) refused(n *notes, i int, level Level) {
	if level == OK {
		level = Warning
	}
	for _, cause := range refusals {
		if problem := p.Readings.Sources[i].Problems[cause]; problem.Count > 0 {
			n.add(level, p.sourceName(i), "%s not taken: %s: %s.", reasons.Count(problem.Count, "sample"), says[cause], strings.Join(problem.Examples, "; ")).
				fix(mendRefused(&p.Sources[i], cause))
		}
	}
}

// says puts causes into words.
var says = map[usage.Cause]string{
	usage.Future:        "from the future",
	usage.Stale:         "too old",
	usage.Absurd:        "negative, not a number, or far more than the node has",
	usage.Contradictory: "in contradiction to what else is known",
	usage.Unreadable:    "no sense could be made of them",
	usage.Unreachable:   "no answer",
}

func mendRefused(s *policy.Source, cause usage.Cause) string {
	switch cause {
	case usage.Future:
		return advice(s, source.Future, "The clock of the nodes, or of this machine, is wrong: see whether they are synchronised (NTP).")
	case usage.Stale:
		return "Scrape more often, or allow older samples (at the price of acting on them):\n" + outer(s.Type, "maxAge: 3m")
	case usage.Absurd:
		return mendUnit(s, "Most often the unit is wrong: milli-cores for cores, KiB for bytes, a percentage beyond 100.")
	case usage.Contradictory:
		return mendUnit(s, "Most often a fraction (0.65) is read as a percentage (65), or the other way round, or a series is of another node.")
	case usage.Unreachable:
		return "These nodes did not answer: look at the first error; NetworkPolicies and firewalls are the usual cause where all others do."
	default:
		return "See the examples: what is there is not in the source's format."
	}
}

// mendUnit says where the unit of a source is set, if it is.
func mendUnit(s *policy.Source, why string) string {
	if where := advice(s, source.WrongUnit, ""); where != "" {
		return why + "\n" + where
	}
	return why
}
