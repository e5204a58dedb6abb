package text

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/requests"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
)

// mostNodes and mostOwners bound the rows of tables that are not wide.
const mostNodes, mostOwners = 10, 20

// Requests prints for people whose requests misled kube-scheduler.
func Requests(p *layout.Page, r *status.Requests) {
	p.Width = cmp.Or(p.Width, map[bool]int{true: wideWidth, false: mostWidth}[p.Wide])
	p.Text("", "", "", requestsSummary(r))
	nodes, owners := r.Nodes, r.Owners
	if !p.Wide {
		nodes, owners = nodes[:min(len(nodes), mostNodes)], owners[:min(len(owners), mostOwners)]
	}
	hotTable(p, nodes)
	ownersTable(p, owners)
	if more := len(r.Nodes) - len(nodes) + len(r.Owners) - len(owners); more > 0 {
		p.Text("", "", "", fmt.Sprintf("%s left out; -o wide shows all.", reasons.Are(more, "row")))
	}
	for i := range owners {
		if words := adviceOn(&owners[i]); words != "" {
			p.Text("- ", "", "  ", words)
		}
	}
	if r.Provisional() {
		p.Line("", "")
		p.Text("", "", "", "Provisional: pods were measured for less than an hour, and a peak of a few samples is no peak. A running serve or extender knows about a day.")
	}
	for _, note := range r.Notes {
		p.Text("", "", "", note)
	}
}

// requestsSummary returns the sentences above the tables.
func requestsSummary(r *status.Requests) string {
	low := 0
	for i := range r.Owners {
		if r.Owners[i].Verdict == requests.TooLow {
			low++
		}
	}
	asks := fmt.Sprintf("%d owners ask for much less CPU than their pods use.", low)
	switch low {
	case 0:
		asks = "No owner asks for much less CPU than its pods use."
	case 1:
		asks = "1 owner asks for much less CPU than its pods use."
	}
	words := fmt.Sprintf("%s, %d hot by CPU. %s", reasons.Count(r.AllNodes, "node"), len(r.Nodes), asks)
	if r.Unmeasured > 0 {
		words += fmt.Sprintf(" The usage of %d of %d pods is not known.", r.Unmeasured, r.Pods)
	}
	if r.Process != "" {
		words += fmt.Sprintf(" Observed by %s %ds ago.", r.Process, r.SecondsAgo)
	}
	return words
}

func hotTable(p *layout.Page, nodes []requests.HotNode) {
	if len(nodes) == 0 {
		return
	}
	all := []layout.Column{
		{Title: "NODE", Cut: 12}, {Title: "HOT FOR", Right: true, Drop: 1}, {Title: "USED", Right: true}, {Title: "LINE", Right: true, Drop: 2},
		{Title: "REQUESTED", Right: true}, {Title: "MADE HOT BY", Wrap: true},
	}
	for i := range nodes {
		n := &nodes[i]
		layout.Row(all, n.Name, hotFor(n.HotMinutes), cores(n.UsedMilliCores), cores(n.LineMilliCores), cores(n.RequestedMilliCores), causes(n))
	}
	p.Line("", "")
	p.Table("", all...)
}

// hotFor formats minutes; unknown for a node that is hot by the newest reading alone.
func hotFor(minutes float64) string {
	if minutes == 0 {
		return none
	}
	return fmt.Sprintf("%.0fm", minutes)
}

// causes describes who made a node hot, in percent of its usage above the evict line.
func causes(n *requests.HotNode) string {
	const most, least = 3, 5 // owners, percent
	var words []string
	for i := range n.Owners {
		if s := &n.Owners[i]; len(words) < most && s.HeatPercent >= least {
			words = append(words, fmt.Sprintf("%s/%s %.0f%%", s.Namespace, s.Name, s.HeatPercent))
		}
	}
	if n.ExplainedPercent < 100-least {
		words = append(words, fmt.Sprintf("load that was requested %.0f%%", 100-n.ExplainedPercent))
	}
	return strings.Join(words, ", ")
}

func ownersTable(p *layout.Page, owners []requests.Finding) {
	if len(owners) == 0 {
		return
	}
	all := []layout.Column{
		{Title: "OWNER", Cut: 16}, {Title: "PODS", Right: true, Drop: 3}, {Title: "ASKS", Right: true}, {Title: "P50", Right: true, Drop: 2}, {Title: "P95", Right: true},
		{Title: "PEAK", Right: true, Drop: 1}, {Title: "HEAT", Right: true}, {Title: "HOT FOR", Right: true, Drop: 4}, {Title: "EVICTED", Right: true, Drop: 5}, {Title: "ADVICE", Wrap: true},
	}
	for i := range owners {
		f := &owners[i]
		layout.Row(all, f.Namespace+"/"+f.Name, fmt.Sprint(f.Pods), milli(f.RequestMilliCores), milli(f.P50MilliCores), milli(f.P95MilliCores), milli(f.PeakMilliCores),
			fmt.Sprintf("%.0f%%", f.HeatPercent), hotFor(f.HotMinutes), fmt.Sprint(f.Evictions), shortAdvice(f))
	}
	p.Line("", "")
	p.Table("", all...)
	p.Line("", "")
}

// milli formats CPU as in a manifest, with two significant digits or more.
func milli(n int64) string { return fmt.Sprintf("%dm", n) }

func shortAdvice(f *requests.Finding) string {
	switch {
	case f.Verdict == requests.Uneven:
		return "no request helps"
	case f.Verdict == requests.Bursts:
		return "right on average"
	case f.Advice == nil:
		return "raise the limit first"
	}
	return "ask for " + milli(f.Advice.RequestMilliCores)
}

// adviceOn says what else the advice does, or why there is none; empty if that is all.
func adviceOn(f *requests.Finding) string {
	name := f.Namespace + "/" + f.Name
	switch {
	case f.Verdict == requests.Uneven:
		return fmt.Sprintf("%s: its pods use %s to %s on average. Any single request would be wrong for %.0f%% of what they use. Split it, or leave it to eviction.",
			name, milli(f.LowestMilliCores), milli(f.HighestMilliCores), f.MisplacedPercent)
	case f.Verdict == requests.Bursts:
		return ""
	case f.Advice == nil:
		return name + ": its limit does not allow a higher request."
	}
	a, words := f.Advice, ""
	if a.NotFitting > 0 {
		words += fmt.Sprintf(" At least %d of its %s would no longer fit on any node.", a.NotFitting, reasons.Count(f.Measured, "measured pod"))
	}
	if a.AtLimit {
		words += " That is its limit; usage may be cut off there."
	}
	if a.QoS != a.NewQoS {
		words += fmt.Sprintf(" Its class changes from %s to %s.", a.QoS, a.NewQoS)
	}
	if words == "" {
		return ""
	}
	return fmt.Sprintf("%s, if it asks for %s:%s", name, milli(a.RequestMilliCores), words)
}
