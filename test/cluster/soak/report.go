package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// Minute is the report about one minute.
type Minute struct {
	Minute int `json:"minute"`
	Now    Now `json:"now"`
	Counts `json:",inline"`
	Moves  MoveCounts `json:"moves"`
	// Patches is the number of patches in this minute.
	Patches  int                `json:"patches"`
	Vitals   map[string]*Vitals `json:"vitals,omitempty"`
	LedgerKB float64            `json:"ledgerKB"`
}

// Patches describes the cost of changing the pods' usage.
type Patches struct {
	Made   int `json:"made"`
	Failed int `json:"failed"`
	// MeanMilliseconds is the mean duration of a patch, LateSeconds the longest delay of
	// one.
	MeanMilliseconds float64 `json:"meanMilliseconds"`
	LateSeconds      float64 `json:"lateSeconds"`
}

// Report is the result of a run.
type Report struct {
	Baseline bool    `json:"baseline"`
	Trace    string  `json:"trace"`
	Nodes    int     `json:"nodes"`
	Pods     int     `json:"pods"`
	Minutes  float64 `json:"minutes"`
	Lines    Lines   `json:"evictLines"`

	Counts Counts     `json:"counts"`
	Moves  MoveCounts `json:"moves"`
	Totals Totals     `json:"totals"`
	// EvictionsPerPodDay refers to days of the run, EvictionsPerPodTraceDay to days of the
	// trace, whose steps are five minutes long.
	EvictionsPerPodDay      float64   `json:"evictionsPerPodDay"`
	EvictionsPerPodTraceDay float64   `json:"evictionsPerPodTraceDay"`
	Patches                 Patches   `json:"patches"`
	LedgerBytes             int       `json:"ledgerBytes"`
	LedgerPeakBytes         int       `json:"ledgerPeakBytes"`
	Processes               []Process `json:"processes"`
	Timeline                []Minute  `json:"timeline"`
	// Alerts describes the alerts that were evaluated during the run; nil if none were.
	Alerts *Alerts `json:"alerts,omitempty"`
	// Trouble describes the faults and hostile requests that Evenkeel was exposed to; nil if
	// there were none.
	Trouble *Trouble `json:"trouble,omitempty"`
	// Pending names pods that stayed pending.
	Pending []string `json:"pending,omitempty"`
	// Failures lists why the run has failed; empty if it has not.
	Failures []string `json:"failures"`
}

// Trouble describes the faults and hostile requests that a run caused on purpose.
type Trouble struct {
	// Faults counts the API server's faults by name.
	Faults map[string]int `json:"faults,omitempty"`
	// HostileSent counts the requests of a hostile client, HostileAnswered the responses
	// with status 200.
	HostileSent     int64 `json:"hostileSent,omitempty"`
	HostileAnswered int64 `json:"hostileAnswered,omitempty"`
	// EvictedTwice names pods for which two evictions were granted.
	EvictedTwice []string `json:"evictedTwice,omitempty"`
}

// Alerts describes how the shipped alerts behaved in a run. None should fire, because the
// trouble that a run causes on purpose is shorter than the waiting time of any alert.
type Alerts struct {
	// Watched names the alerts that could have fired in a run of this length, TooLong those
	// with a longer waiting time.
	Watched []string `json:"watched"`
	TooLong []string `json:"tooLong,omitempty"`
	Fired   []string `json:"fired,omitempty"`
}

// troubleFailures returns further reasons why a run with trouble has failed: growing
// memory, and moves that were made twice.
func (r *Report) troubleFailures() (failures []string) {
	if r.Trouble == nil {
		return nil
	}
	for _, p := range r.Processes {
		if p.RSS.Verdict == Grew {
			failures = append(failures, fmt.Sprintf("%s has more and more memory resident: %d MiB in the second quarter, %d in the last one",
				p.Name, p.RSS.SecondQuarter>>20, p.RSS.LastQuarter>>20))
		}
	}
	if r.Moves.Doubled > 0 {
		failures = append(failures, fmt.Sprintf("%d moves landed with a replacement that another move has", r.Moves.Doubled))
	}
	if len(r.Trouble.EvictedTwice) > 0 {
		failures = append(failures, "evicted twice: "+strings.Join(r.Trouble.EvictedTwice, ", "))
	}
	return failures
}

// traceStep is the duration of a step in a recorded trace.
const traceStep = 5 * time.Minute

// Finish computes the derived figures and the failures.
func (r *Report) Finish(step time.Duration) {
	if r.Minutes > 0 && r.Pods > 0 {
		perMinute := float64(r.Counts.Evictions) / float64(r.Pods) / r.Minutes
		r.EvictionsPerPodDay = perMinute * (24 * time.Hour).Minutes()
		r.EvictionsPerPodTraceDay = r.EvictionsPerPodDay * step.Minutes() / traceStep.Minutes()
	}
	r.Failures = []string{}
	for _, p := range r.Processes {
		if p.Restarts > 0 {
			r.Failures = append(r.Failures, fmt.Sprintf("%s died %d times", p.Name, p.Restarts))
		}
		if p.Goroutines.Verdict == Grew {
			r.Failures = append(r.Failures, fmt.Sprintf("%s has more and more goroutines: %d in the second quarter, %d in the last one",
				p.Name, p.Goroutines.SecondQuarter, p.Goroutines.LastQuarter))
		}
	}
	if r.Alerts != nil && len(r.Alerts.Fired) > 0 {
		r.Failures = append(r.Failures, "alerts fired: "+strings.Join(r.Alerts.Fired, ", "))
	}
	r.Failures = append(r.Failures, r.troubleFailures()...)
	if len(r.Pending) > 0 {
		const most = 5
		r.Failures = append(r.Failures, fmt.Sprintf("%d pods stayed Pending, such as %s", len(r.Pending), strings.Join(r.Pending[:min(most, len(r.Pending))], ", ")))
	}
}

// JSON writes the whole report.
func (r *Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Table writes the report without the timeline, for reading.
func (r *Report) Table(w io.Writer) error {
	var rows [][]string
	with := "with Evenkeel"
	if r.Baseline {
		with = "without Evenkeel"
	}
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	row("run", "%.1f min, %d nodes, %d pods, %s, trace %s", r.Minutes, r.Nodes, r.Pods, with, r.Trace)
	row("evictions", "%d; %.3f per pod and day, %.3f per pod and day of the trace; one replica %d at most",
		r.Counts.Evictions, r.EvictionsPerPodDay, r.EvictionsPerPodTraceDay, r.Counts.MostEvicted)
	row("hot-node-minutes", "%.1f of %.0f (%.2f %%), above %g %% CPU or %g %% memory", r.Totals.HotNodeMinutes, r.Totals.NodeMinutes,
		share100(r.Totals.HotNodeMinutes, r.Totals.NodeMinutes), r.Lines.CPUPercent, r.Lines.MemoryPercent)
	row("by means of 5 min", "%.1f (%.2f %%)", r.Totals.SustainedNodeMinutes, share100(r.Totals.SustainedNodeMinutes, r.Totals.NodeMinutes))
	row("deviation across nodes", "%.1f points of CPU, %.1f of memory; mean %.1f %% of CPU, peak %.1f %%",
		r.Totals.DeviationPercent, r.Totals.MemoryDeviationPercent, r.Totals.MeanPercent, r.Totals.PeakPercent)
	row("moves", "%d: %d landed, %d of them on plan, %d expired, %d cancelled, %d in flight", r.Moves.All, r.Moves.Landed, r.Moves.OnPlan,
		r.Moves.Expired, r.Moves.Cancelled, r.Moves.InFlight)
	row("landings", "%d by the watch: %d boomerangs, %d on hot nodes; %d pods deleted otherwise", r.Counts.Landings, r.Counts.Boomerangs,
		r.Counts.LandedHot, r.Counts.Deletions)
	row("patches of usage", "%d, %.1f ms each, %d failed, %.1f s late at most; %.1f s between two samples at most",
		r.Patches.Made, r.Patches.MeanMilliseconds, r.Patches.Failed, r.Patches.LateSeconds, r.Totals.LongestGapSeconds)
	if r.Trouble != nil {
		row("trouble", "faults %v; a hostile client sent %d requests, %d answered; %d moves doubled", r.Trouble.Faults,
			r.Trouble.HostileSent, r.Trouble.HostileAnswered, r.Moves.Doubled+len(r.Trouble.EvictedTwice))
	}
	if r.Alerts != nil {
		row("alerts", "%d of %d could fire in this time, fired %q; too short for %q", len(r.Alerts.Watched),
			len(r.Alerts.Watched)+len(r.Alerts.TooLong), r.Alerts.Fired, r.Alerts.TooLong)
	}
	if !r.Baseline {
		row("ledger", "%.1f kB, %.1f kB at most", kilobytes(r.LedgerBytes), kilobytes(r.LedgerPeakBytes))
	}
	for i := range r.Processes {
		r.Processes[i].rows(row)
	}
	for _, failure := range r.Failures {
		row("FAILED", "%s", failure)
	}
	return measure.Table(w, rows)
}

func (p *Process) rows(row func(name, format string, args ...any)) {
	const mib = 1 << 20
	trend := func(t Trend, unit int64, name string) string {
		return fmt.Sprintf("%d / %d / %d %s (%s)", t.Start/unit, t.Middle/unit, t.End/unit, name, t.Verdict)
	}
	row(p.Name, "start / middle / end: RSS %s, heap %s, %s; %d restarts, %d errors logged",
		trend(p.RSS, mib, "MiB"), trend(p.Heap, mib, "MiB"), trend(p.Goroutines, 1, "goroutines"), p.Restarts, p.Errors)
	for _, message := range p.Messages {
		row("", "%d × %s", message.Count, message.Text)
	}
}

func kilobytes(bytes int) float64 { return float64(bytes) / 1000 }

func share100(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// Line formats the minute as one line of text.
func (m *Minute) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%3d min  hot %d now, %d by 5 min  CPU %.1f ± %.1f %%, peak %.0f %%  evicted %d  landed %d, on plan %d of %d, boomerangs %d  patches %d",
		m.Minute, m.Now.HotNodes, m.Now.SustainedNodes, m.Now.MeanPercent, m.Now.DeviationPercent, m.Now.PeakPercent,
		m.Evictions, m.Landings, m.Moves.OnPlan, m.Moves.Landed, m.Boomerangs, m.Patches)
	if len(m.Vitals) == 0 {
		return b.String()
	}
	var rss, heap, goroutines []string
	for _, name := range slices.Sorted(maps.Keys(m.Vitals)) {
		v := m.Vitals[name]
		if v == nil {
			v = &Vitals{}
		}
		rss = append(rss, fmt.Sprint(v.RSSBytes>>20))
		heap = append(heap, fmt.Sprint(v.HeapBytes>>20))
		goroutines = append(goroutines, fmt.Sprint(v.Goroutines))
	}
	fmt.Fprintf(&b, "  ledger %.1f kB  RSS %s MiB, heap %s MiB, %s goroutines", m.LedgerKB, strings.Join(rss, "/"), strings.Join(heap, "/"), strings.Join(goroutines, "/"))
	return b.String()
}
