package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
)

// converted adds the notes of converters.
func (s *survey) converted() {
	for _, doc := range s.File.Converted {
		for _, n := range doc.Notes {
			s.findings = append(s.findings, FindingOf(n))
		}
	}
}

// scope finds policies with nothing to run.
func (s *survey) scope() {
	const message = "without a DeschedulerPolicy nothing is evicted: run and serve refuse this policy"
	switch {
	case s.Profiles == nil && len(s.File.Converted) > 0:
		s.note("", message+"; the earlier system did not evict either")
	case s.Profiles == nil && !s.load.Eviction.DefaultProfile:
		s.note("eviction.defaultProfile", "false, and "+message)
	case s.Profiles == nil:
		s.note("", message)
	case !s.moves() && slices.ContainsFunc(s.metered(), func(m metered) bool { return m.fails == "" }):
		s.note("profiles", "no profile enables %s, which steers where pods land: LowNodeUtilization evicts by measured usage and leaves that to kube-scheduler",
			policy.DefaultStrategy)
	case !s.moves():
		s.note("profiles", "no profile enables %s, so nothing is moved by real usage", policy.DefaultStrategy)
	case !s.relieves:
		s.note("profiles", "no profile enables %s, so hot nodes are not relieved", policy.DefaultStrategy)
	}
	for _, m := range s.metered() {
		if m.fails != "" {
			s.findings = append(s.findings, Finding{Level: Error, Field: m.field, Text: "LowNodeUtilization fails in every cycle and moves nothing: " + m.fails})
			continue
		}
		s.note(m.field, "%s", m.words())
	}
}

// idle finds profiles that enable nothing, such as one whose plugins are null. Converters already report what the
// legacy system had switched off.
func (s *survey) idle() {
	if s.Profiles == nil || len(s.File.Converted) > 0 {
		return
	}
	for i := range s.Profiles.Profiles {
		profile := &s.Profiles.Profiles[i]
		if len(profile.Plugins.Deschedule.Enabled)+len(profile.Plugins.Balance.Enabled) == 0 {
			s.warn(fmt.Sprintf("profiles[%d].plugins", i), "profile %q enables no plugin for deschedule or balance, so it evicts nothing", profile.Name)
		}
	}
}

// plugins finds plugins that conflict with each other.
func (s *survey) plugins() {
	if !s.moves() {
		return
	}
	for i := range s.Profiles.Profiles {
		profile := &s.Profiles.Profiles[i]
		enabled := profile.Plugins.Balance.Enabled
		for _, name := range enabled {
			if s.relieves && (name == "LowNodeUtilization" || name == "HighNodeUtilization") {
				by := "other measures"
				if name == lowNodeUtilization && slices.ContainsFunc(s.metered(), func(m metered) bool { return m.profile == i }) {
					by = "usage that it reads itself, with other lines,"
				}
				s.warn(fmt.Sprintf("profiles[%d].plugins.balance.enabled", i),
					"%s moves pods by %s than %s and may undo its moves", name, by, policy.DefaultStrategy)
			}
		}
		if len(policy.StrategiesOf(profile)) > 0 && evictorArgs(profile).MinReplicas < 2 {
			s.note(fmt.Sprintf("profiles[%d].pluginConfig", i),
				"DefaultEvictor has no minReplicas of 2 or more: a workload with one replica is down while it moves, also if it has the annotation evenkeel.io/surge of earlier versions")
		}
	}
}

// warnings adds the warnings from loading: lines that leave out a resource, and retired
// settings.
func (s *survey) warnings() {
	for _, n := range s.File.Warnings() {
		s.findings = append(s.findings, FindingOf(n))
	}
}

// levels finds lines that leave no headroom.
func (s *survey) levels() {
	const nearlyFull = 90
	for _, metric := range s.lines.Metrics() {
		given := s.lines[metric]
		if evict := given.Evict; (metric == usage.CPU || metric == usage.Memory) && !given.Deviation && evict != nil && *evict > nearlyFull {
			s.warn(fmt.Sprintf("lines.%s.evict", metric),
				"%s%% is nearly all there is: pods suffer before anything is moved", number(*evict))
		}
	}
}

// hot finds rules that let noise make a node hot or cool.
func (s *survey) hot() {
	windows := s.load.Hot.Windows
	last := func(w usage.Window) bool { return w.Kind == usage.KindLast }
	switch {
	case !s.relieves:
	case !slices.ContainsFunc(windows, func(w usage.Window) bool { return !last(w) }) && s.load.Hot.ConsecutiveSamples < 3:
		s.warn("hot.windows", "only %s decides, %s: one spike makes a node hot", windowNames(windows), samples(s.load))
	case !slices.ContainsFunc(windows, func(w usage.Window) bool { return last(w) || w.Kind == usage.KindQuantile }):
		s.note("hot.windows", "averages alone decide: a spike of less than a minute can carry them over a line for minutes; p50_5m beside them does not follow it")
	}
}

// recurs finds a period whose parts are too short for the sample interval.
func (s *survey) recurs() {
	period, interval := s.load.Eviction.Recurs(), s.load.Usage.SampleInterval.Duration
	if part := period / forecast.Parts; s.relieves && period > 0 && part < interval {
		s.warn("eviction.forecastPeriod", "%s has %d parts of %s, and usage is read every %s: parts without a sample are not known",
			span(period), forecast.Parts, part.Round(10*time.Millisecond), span(interval))
	}
}

// rising finds lines that are so high that even the slowest rise of memory above them
// counts as urgent.
func (s *survey) rising() {
	rising := &s.load.Hot.RisingMemory
	if !s.relieves || rising.Window.Duration == 0 {
		return
	}
	var reached []string
	for i, lines := range s.load.AllLines() {
		pool := ""
		if i == 0 {
			lines = s.lines
		} else {
			pool = " of pool " + s.load.NodePools[i-1].Name
		}
		for _, metric := range []usage.Metric{usage.Memory, policy.MemoryAvailable} {
			if s.usedAtEvict(metric, lines[metric]) >= rising.FullPercent {
				reached = append(reached, string(metric)+pool)
			}
		}
	}
	if len(reached) > 0 {
		s.warn("lines", "memory counts as nearly full at %s%%, which is reached at the evict line of %s: above it any steady rise is urgent, however slow",
			number(rising.FullPercent), strings.Join(reached, " and "))
	}
}

// usedAtEvict returns the memory usage, in percent, at the highest evict line of a
// metric. It returns 0 if there is none, or if the line is a distance from a mean instead
// of an absolute level.
func (s *survey) usedAtEvict(metric usage.Metric, lines policy.MetricLines) (highest float64) {
	for _, w := range s.load.Windows(policy.Lines{metric: lines}) {
		evict := lines.In(w).Evict
		if evict == nil || lines.Deviation {
			continue
		}
		used := *evict
		if s.load.Usage.LowerIsWorse(metric) {
			used = 100 - used
		}
		highest = max(highest, used)
	}
	return highest
}

// observation finds windows that are longer than a one-shot run observes.
func (s *survey) observation() {
	if !s.moves() || slices.ContainsFunc(s.load.Usage.Sources, remembers) {
		return
	}
	const usual = 15 * time.Minute // the longest default window
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
	const message = "a one-shot run samples for %s and judges %s by that, because no configured source has history"
	switch {
	case len(long) > 0:
		s.warn("usage.observationPeriod", message, span(period), strings.Join(long, " and "))
	case len(short) > 0:
		s.note("usage.observationPeriod", message, span(period), strings.Join(short, " and "))
	}
}

// remembers reports whether a source has data from before its first query.
func remembers(source policy.Source) bool { return source.Config.Describe().GivesWindows }

// pace finds unlimited evictions, and usage that expires too soon.
func (s *survey) pace() {
	e, u := &s.load.Eviction, &s.load.Usage
	if s.Profiles != nil && e.MaxMovesPerHour == intstr.FromInt32(0) {
		s.warn("eviction.maxMovesPerHour", "0 means unlimited evictions per hour")
	}
	if s.moves() && u.MinCoveragePercent < 50 {
		s.warn("usage.minCoveragePercent", "pods are moved while most nodes may be unknown (%s%%)", number(u.MinCoveragePercent))
	}
	if u.MaxAge.Duration < 2*u.SampleInterval.Duration {
		s.warn("usage.maxAge", "%s is less than two samples (sampleInterval %s): one that is late makes its node unknown",
			span(u.MaxAge.Duration), span(u.SampleInterval.Duration))
	}
	if s.moves() && e.EvictJobs {
		s.note("eviction.evictJobs", "each eviction of a Job's pod counts as a failure of the Job")
	}
}

// times finds calendars that never allow evictions.
func (s *survey) times() {
	calendar, err := s.load.Eviction.Calendar()
	if err != nil || s.Profiles == nil {
		return
	}
	open, why, changes := calendar.Open(s.Now)
	if open || !changes.IsZero() {
		return
	}
	s.warn("eviction.windows", "nothing is evicted within a year: %s", why)
}

// steering finds moves whose destination is left to chance.
func (s *survey) steering() {
	if !s.moves() {
		return
	}
	if s.load.Eviction.Steering == policy.SteeringNone {
		s.warn("eviction.steering", "none: pods are evicted without knowing whether kube-scheduler asks; they may go straight back")
	}
	if names := s.load.Eviction.SchedulerNames; !slices.Contains(names, "default-scheduler") {
		s.warn("eviction.schedulerNames", "pods of default-scheduler, which most pods use, are left alone; only those of %s are moved",
			strings.Join(names, ", "))
	}
}

// measured finds scoring that can leave pods waiting.
func (s *survey) measured() {
	m := s.load.Scoring.Measured
	if m == nil || !m.RejectAll || len(m.Limits) == 0 {
		return
	}
	s.note("scoring.measured.rejectAll", "pods wait while all nodes are above a limit")
}

// hasProvider reports whether the DeschedulerPolicy names a Prometheus.
func hasProvider(p *api.DeschedulerPolicy) bool {
	return p != nil && slices.ContainsFunc(p.MetricsProviders, func(m api.MetricsProvider) bool { return m.Prometheus != nil })
}
