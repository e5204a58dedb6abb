package text

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
)

// endings describes reasons whose end is known, for example "rolling out, 2m left".
var endings = map[reasons.Reason]string{
	reasons.OwnerRollingOut:       "new or just rolled out",
	reasons.OwnerJustScaled:       "just scaled",
	reasons.PodStarting:           "just started",
	reasons.OwnerCoolingDown:      "rests after its last moves",
	reasons.NodeSettling:          "its node settles after a move",
	reasons.OwnerMovesPerHour:     "its owner has used up its moves for this hour",
	reasons.NamespaceMovesPerHour: "its namespace has used up its moves for this hour",
	reasons.NodePoolMovesPerHour:  "its node pool has used up its moves for this hour",
}

// saves describes the hot time that the moves off one node are expected to save.
func saves(moves []*status.PlanMove) string {
	total := 0.0
	for _, m := range moves {
		total += m.HotMinutesSaved
	}
	if total <= 0 {
		return ""
	}
	if a := moves[0].Ahead; a != nil {
		return fmt.Sprintf(" %s expected to save %.0f of them.", reasons.Are(len(moves), "move"), total)
	}
	return fmt.Sprintf(" Expected to save %.0f hot minutes within %.0f hours.", total, forecast.Horizon.Hours())
}

// takes describes the usage that moves take off a full node. The remaining pods will use
// some of it.
func takes(moves []*status.PlanMove) string {
	off, verb := 0.0, "take"
	for _, m := range moves {
		if m.FromBefore != nil {
			off += m.FromBefore.CPU - m.FromAfter.CPU
		}
	}
	if len(moves) == 1 {
		verb = "takes"
	}
	return fmt.Sprintf(" %s %s %.1f points of CPU off it, to nodes with less demand.", reasons.Count(len(moves), "move"), verb, off)
}

// why explains why a pod is not moved, and for how long.
func why(d *status.PlanDeclined, at time.Time) string {
	reason := reasons.Reason(d.Reason)
	words := cmp.Or(d.Detail, reason.Sentence())
	switch {
	case d.Until != nil:
		if brief := endings[reason]; brief != "" {
			words = brief
		}
		words += fmt.Sprintf(", %s left", duration.HumanDuration(d.Until.Sub(at)))
	case d.Passing:
		words += ", asked again in each cycle"
	}
	return fmt.Sprintf("%s (%s)", words, reason)
}

// beyond describes the evict lines that a node is beyond, for example "CPU 89.5% (avg_5m)
// and 88.1% (p50_5m), above the evict line of 65%".
func beyond(exceeded []ledger.Exceeded) string {
	var lines []string
	for i := 0; i < len(exceeded); {
		first, values := exceeded[i], []string(nil)
		for ; i < len(exceeded) && exceeded[i].Metric == first.Metric && exceeded[i].Line == first.Line; i++ {
			values = append(values, fmt.Sprintf("%s (%s)", valueOf(exceeded[i].Value, first.Percent), exceeded[i].Window))
		}
		than := "above"
		if first.Below {
			than = "below"
		}
		lines = append(lines, fmt.Sprintf("%s %s, %s the evict line of %s", named(first.Metric), status.Enumerated(values), than,
			strings.Replace(valueOf(first.Line, first.Percent), ".0%", "%", 1)))
	}
	return strings.Join(lines, "; ")
}

func named(metric string) string {
	if metric == "cpu" {
		return "CPU"
	}
	return metric
}

func valueOf(value float64, isPercent bool) string {
	if isPercent {
		return percentOf(value)
	}
	return fmt.Sprintf("%g", value)
}

func percentOf(value float64) string { return fmt.Sprintf("%.1f%%", value) }

// change formats a change from one value to another.
func change(before, after float64) string { return percentOf(before) + " → " + percentOf(after) }

// changeOf formats a change of one resource, which may be unknown.
func changeOf(before, after *status.Percents, of func(*status.Percents) float64) string {
	if before == nil || after == nil {
		return "unknown"
	}
	return change(of(before), of(after))
}

func cpuOf(p *status.Percents) float64 { return p.CPU }

func memoryOf(p *status.Percents) float64 { return p.Memory }

func sentence(words string) string { return strings.ToUpper(words[:1]) + words[1:] + "." }
