package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
)

// converted are the notes of converters.
func converted(s *Subject) []Finding {
	var findings []Finding
	for _, doc := range s.File.Converted {
		for _, n := range doc.Notes {
			level := Note
			if n.Lossy {
				level = Warning
			}
			findings = append(findings, Finding{Level: level, Field: n.Field, Text: n.Text})
		}
	}
	return findings
}

// scope finds policies without anything to run.
func scope(s *Subject) []Finding {
	const says = "there is no DeschedulerPolicy, so run and serve have nothing to run"
	switch {
	case s.Profiles == nil && len(s.File.Converted) > 0:
		return note("", says+"; the earlier system did not evict either")
	case s.Profiles == nil:
		return warn("", says)
	case s.args == nil:
		return note("profiles", "no profile enables %s, so nothing is moved by real usage", policy.RealUsageLowNodeUtilizationName)
	}
	return nil
}

// plugins finds plugins that work against each other.
func plugins(s *Subject) []Finding {
	if s.Profiles == nil {
		return nil
	}
	var findings []Finding
	for i, profile := range s.Profiles.Profiles {
		path := fmt.Sprintf("profiles[%d].plugins.balance.enabled", i)
		for _, name := range profile.Plugins.Balance.Enabled {
			if s.args != nil && (name == "LowNodeUtilization" || name == "HighNodeUtilization") {
				findings = append(findings, warn(path, "%s moves pods by other measures than %s and may undo its moves", name, policy.RealUsageLowNodeUtilizationName)...)
			}
		}
		if s.args != nil && slices.Contains(profile.Plugins.Balance.Enabled, policy.RealUsageLowNodeUtilizationName) && evictorArgs(&profile).MinReplicas < 2 {
			findings = append(findings, note(fmt.Sprintf("profiles[%d].pluginConfig", i),
				"DefaultEvictor has no minReplicas of 2 or more: a workload with one replica is down while it moves")...)
		}
	}
	return findings
}

// levels finds lines that leave no room.
func levels(s *Subject) []Finding {
	const nearlyFull = 90
	var findings []Finding
	for _, metric := range s.lines.Metrics() {
		given := s.lines[metric]
		if evict := given.Evict; (metric == usage.CPU || metric == usage.Memory) && !given.Deviation && evict != nil && *evict > nearlyFull {
			findings = append(findings, warn(fmt.Sprintf("lines.%s.evict", metric),
				"%s %% is nearly all there is: pods suffer before anything is moved", number(*evict))...)
		}
	}
	return findings
}

// hot finds rules that call a node hot or cool by chance.
func hot(s *Subject) []Finding {
	windows := s.load.Hot.Windows
	last := func(w usage.Window) bool { return w.Kind == usage.KindLast }
	switch {
	case s.args == nil:
		return nil
	case !slices.ContainsFunc(windows, func(w usage.Window) bool { return !last(w) }) && s.load.Hot.ConsecutiveSamples < 3:
		return warn("hot.windows", "only %s decides, %s: one spike makes a node hot", windowNames(windows), samples(s.load))
	case !slices.ContainsFunc(windows, func(w usage.Window) bool { return last(w) || w.Kind == usage.KindQuantile }):
		return note("hot.windows", "averages alone decide: a spike of less than a minute can carry them over a line for minutes; p50_5m beside them does not follow it")
	}
	return nil
}

// observation finds windows that a one-shot run has not seen.
func observation(s *Subject) []Finding {
	if s.args == nil || slices.ContainsFunc(s.load.Usage.Sources, remembers) {
		return nil
	}
	const usual = 15 * time.Minute // the longest window of the defaults
	period := s.load.Usage.ObservationPeriod.Duration
	var short, long []string
	for _, w := range s.load.Windows(s.lines) {
		switch {
		case w.Over > usual && w.Over > period:
			long = append(long, w.String())
		case w.Over > period:
			short = append(short, w.String())
		}
	}
	const says = "a one-shot run samples for %s and judges %s by that, because no source knows the past"
	switch {
	case len(long) > 0:
		return warn("usage.observationPeriod", says, span(period), strings.Join(long, " and "))
	case len(short) > 0:
		return note("usage.observationPeriod", says, span(period), strings.Join(short, " and "))
	}
	return nil
}

// remembers reports whether a source covers the time before it was first asked.
func remembers(source policy.Source) bool { return source.Config.Describe().GivesWindows }

// pace finds evicting without bounds, and usage that is out of date too soon.
func pace(s *Subject) []Finding {
	var findings []Finding
	e, u := &s.load.Eviction, &s.load.Usage
	if s.Profiles != nil && e.MaxMovesPerHour == 0 {
		findings = append(findings, warn("eviction.maxMovesPerHour", "0 is no bound: evictions of an hour are not limited")...)
	}
	if s.args != nil && u.MinCoveragePercent < 50 {
		findings = append(findings, warn("usage.minCoveragePercent", "pods are moved while most nodes may be unknown (%s %%)", number(u.MinCoveragePercent))...)
	}
	if u.MaxAge.Duration < 2*u.SampleInterval.Duration {
		findings = append(findings, warn("usage.maxAge", "%s is less than two samples (sampleInterval %s): one that is late makes its node unknown",
			span(u.MaxAge.Duration), span(u.SampleInterval.Duration))...)
	}
	if s.args != nil && e.EvictJobs {
		findings = append(findings, note("eviction.evictJobs", "each eviction of a Job's pod counts as a failure of the Job")...)
	}
	return findings
}

// times finds calendars that never let anything happen.
func times(s *Subject) []Finding {
	calendar, err := s.load.Eviction.Calendar()
	if err != nil || s.Profiles == nil {
		return nil
	}
	open, why, changes := calendar.Open(s.Now)
	if open || !changes.IsZero() {
		return nil
	}
	return warn("eviction.windows", "nothing is evicted within a year: %s", why)
}

// steering finds landings that are left to chance.
func steering(s *Subject) []Finding {
	if s.args == nil {
		return nil
	}
	var findings []Finding
	if s.load.Eviction.Steering == policy.SteeringNone {
		findings = append(findings, warn("eviction.steering", "none: pods are evicted without knowing whether kube-scheduler asks; they may go straight back")...)
	}
	if names := s.load.Eviction.SchedulerNames; !slices.Contains(names, "default-scheduler") {
		findings = append(findings, warn("eviction.schedulerNames", "pods of default-scheduler, which is that of most, are left alone; only those of %s are moved",
			strings.Join(names, ", "))...)
	}
	return findings
}

// measured finds scoring that can leave pods waiting.
func measured(s *Subject) []Finding {
	m := s.load.Scoring.Measured
	if m == nil || !m.RejectAll || len(m.Limits) == 0 {
		return nil
	}
	return note("scoring.measured.rejectAll", "pods wait while all nodes are above a limit")
}

// hasProvider reports whether the DeschedulerPolicy knows a Prometheus.
func hasProvider(p *api.DeschedulerPolicy) bool {
	return p != nil && slices.ContainsFunc(p.MetricsProviders, func(m api.MetricsProvider) bool { return m.Prometheus != nil })
}
