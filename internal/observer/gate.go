package observer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/usage"
)

// Blockers lists every reason for which usage is too poor to evict on.
func Blockers() []reasons.Reason {
	return []reasons.Reason{reasons.UsageSourceUnavailable, reasons.NoUsageData, reasons.UsageCoverageTooLow, reasons.UsageWindowsFilling}
}

func (m *measuring) gate(next *Observation) reasons.Reason {
	fresh, seen := next.Fresh, next.Fresh+next.Unknown()[reasons.WindowTooShort]
	if next.Batches == 0 { // what is known then is the past alone
		fresh, seen = 0, 0
	}
	enough := func(nodes int) bool {
		return nodes > 0 && 100*float64(nodes) >= m.config.MinCoverage*float64(next.Ready)
	}
	switch {
	case enough(fresh):
		return ""
	case enough(seen):
		return reasons.UsageWindowsFilling
	case seen == 0 && next.SourceError() != nil:
		return reasons.UsageSourceUnavailable
	case seen == 0:
		return reasons.NoUsageData
	}
	return reasons.UsageCoverageTooLow
}

// tell reports a change of the gate. That windows fill for a while after the start is no news.
func (o *Observer) tell(latest *Observation) {
	if latest.Blocked == reasons.UsageWindowsFilling || latest.Blocked == o.told {
		return
	}
	o.told = latest.Blocked
	if o.gated != nil {
		o.gated(latest)
	}
}

// SourceError is what the last reading failed with where no source could be read; nil where one could.
func (o *Observation) SourceError() error {
	var all []error
	for i := range o.Sources {
		switch {
		case !o.Sources[i].Asked:
		case o.Sources[i].Err == nil:
			return nil
		default:
			all = append(all, fmt.Errorf("%s: %w", o.Sources[i].Name, o.Sources[i].Err))
		}
	}
	return errors.Join(all...)
}

// Closed says in words why nothing may be evicted; empty where it may.
func (o *Observation) Closed() string {
	if o.Blocked == "" {
		return ""
	}
	if o.Changing && o.Blocked == reasons.UsageWindowsFilling {
		return fmt.Sprintf("%s: the policy names other sources or windows than before, which are being observed", o.Blocked)
	}
	said := fmt.Sprintf("%s: %d of %d ready nodes have fresh usage", o.Blocked, o.Fresh, o.Ready)
	if why := o.unknowns(); why != "" {
		said += " (" + why + ")"
	}
	if err := o.SourceError(); err != nil {
		said += "; " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return said
}

// unknowns counts the ready nodes that are unknown by their reason.
func (o *Observation) unknowns() string {
	counts := o.Unknown()
	reasons := make([]string, 0, len(counts))
	for reason, n := range counts {
		reasons = append(reasons, fmt.Sprintf("%s: %d", reason, n))
	}
	slices.Sort(reasons)
	return strings.Join(reasons, ", ")
}

// Unknown counts the ready nodes that are unknown by their reason.
func (o *Observation) Unknown() map[reasons.Reason]int {
	counts := map[reasons.Reason]int{}
	for i := range o.View.Nodes {
		if unknown := o.View.Nodes[i].Unknown; unknown != "" && o.View.Snapshot.Nodes[i].Node.Ready {
			counts[unknown]++
		}
	}
	return counts
}

// settled says whether the sources themselves vouch for as many samples as make a node hot, on as many nodes as have to be
// known.
func (m *measuring) settled(view *usage.View) bool {
	known, vouched := 0, 0
	for i := range view.Nodes {
		read := &view.Nodes[i]
		if !read.Known() {
			continue
		}
		known++
		settled := true
		for _, window := range m.config.HotWindows {
			w := view.WindowIndex(window)
			settled = settled && w >= 0 && 1+int(read.Vouched[w]/m.config.SampleInterval) >= m.config.Hot.ConsecutiveSamples
		}
		if settled {
			vouched++
		}
	}
	return known > 0 && 100*float64(vouched) >= m.config.MinCoverage*float64(known)
}
