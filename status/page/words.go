package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
)

// listedHot is the maximum number of hot nodes that are explained.
const listedHot = 20

// addNotHot explains the hottest of the nodes that are above an evict line but not hot.
func (p *Page) addNotHot() {
	for _, n := range p.hottest {
		if n.NotHot.ByMeasure() && !n.Provisional && len(p.NotHot) < listedHot {
			p.NotHot = append(p.NotHot, NotHotNode{Name: n.Name, Summary: n.NotHot.Sentence(n.Name)})
		}
	}
}

// addHot explains the hottest of the hot nodes.
func (p *Page) addHot(f *Facts) {
	for _, n := range p.hottest {
		if !n.isHot() || len(p.Hot) == listedHot {
			return
		}
		if n.Provisional {
			continue
		}
		if hot, ok := f.hot(n.Name); ok {
			p.Hot = append(p.Hot, hot)
		}
	}
}

// hot explains a hot node as `evenkeel explain` does, but it describes what is done about
// the node on the basis of the last cycle and of the moves that were made.
func (f *Facts) hot(name string) (HotNode, bool) {
	facts := f.Facts
	facts.Planned, facts.NoPlan, facts.Paused = nil, f.action(name), ""
	n, err := status.OfNode(&facts, name)
	if err != nil { // impossible: the node is from the observation
		return HotNode{}, false
	}
	by := n.OverEvict()
	cooling := by == ""
	if cooling {
		by = status.Cooling + "; " + n.OverLeave()
	}
	return HotNode{Name: name, By: by, cooling: cooling, Summary: n.Summary, Action: status.Sentence(facts.NoPlan)}, true
}

// action describes what is done about a hot node.
func (f *Facts) action(name string) string {
	if leaving := f.leaving(name); leaving != "" {
		return leaving
	}
	if !f.Moving.ByUsage && f.Moving.ByPlugins && (f.Cycle == nil || len(f.planned(name)) == 0) {
		return "no plugin of the policy moves pods because their node is hot"
	}
	if stopped := f.stopped(); len(stopped) > 0 {
		return "no pod is moved: " + stopped[0]
	}
	if f.Cycle == nil {
		return f.NoPlan
	}
	at := clock(f.Cycle.At)
	if f.Cycle.Closed != "" {
		return fmt.Sprintf("the cycle at %s planned nothing: %s", at, f.Cycle.Closed)
	}
	for i := range f.Cycle.Plan.Nodes {
		report := &f.Cycle.Plan.Nodes[i]
		switch {
		case report.Name != name:
			continue
		case report.State != thresholds.Hot:
			return fmt.Sprintf("it was not hot at the last cycle, at %s, and the next one decides what is moved", at)
		case report.Reason != "":
			return fmt.Sprintf("the cycle at %s left it hot: %s (%s)", at, report.Why(), report.Reason)
		case len(f.planned(name)) > 0:
			moves := f.planned(name)
			return fmt.Sprintf("the cycle at %s planned %s off it%s; %d landed", at, reasons.Count(len(moves), "move"), onlyLogged(moves), f.landed(name, f.Cycle.At))
		}
		if landed := f.landed(name, f.Now.Add(-timeLine)); landed > 0 {
			return fmt.Sprintf("%s off it landed in the last hour; the cycle at %s found nothing more that has to leave", reasons.Count(landed, "move"), at)
		}
		return fmt.Sprintf("the cycle at %s found nothing that has to leave", at)
	}
	return fmt.Sprintf("the cycle at %s did not include it: the policy's nodeSelector excludes it, or it was not ready", at)
}

// planned returns the moves that the last cycle planned off a node.
func (f *Facts) planned(name string) []strategies.Move {
	return slices.DeleteFunc(slices.Clone(f.Cycle.Plan.Moves), func(m strategies.Move) bool { return m.From != name })
}

// onlyLogged returns a clause that says how many moves are only logged; empty if none is.
func onlyLogged(moves []strategies.Move) string {
	logged := len(slices.DeleteFunc(slices.Clone(moves), func(m strategies.Move) bool { return !m.DryRun }))
	if logged == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d only logged, in dry run)", logged)
}

// landed counts the moves off a node that were recorded since a time and have landed.
func (f *Facts) landed(name string, since time.Time) (moves int) {
	for i := range f.Ended {
		if m := &f.Ended[i]; m.From == name && m.State == ledger.Landed && !m.Recorded.Before(since) {
			moves++
		}
	}
	return moves
}

// leaving describes the pods that are on their way off a node; empty if there are none.
func (f *Facts) leaving(name string) string {
	var pods []string
	for i := range f.InFlight {
		if m := &f.InFlight[i]; m.From == name {
			to := "a node that kube-scheduler chooses"
			if m.To != "" {
				to = m.To
			}
			pods = append(pods, fmt.Sprintf("%s/%s to %s", m.Namespace, m.Pod, to))
		}
	}
	if len(pods) == 0 {
		return ""
	}
	verb := "are"
	if len(pods) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s %s on the way off it: %s", reasons.Count(len(pods), "pod"), verb, reasons.Names(pods, 3))
}

// stopped returns why nothing is evicted, in words.
func (f *Facts) stopped() []string {
	stops, all := &f.Stops, []string{}
	add := func(why string) {
		if why != "" {
			all = append(all, why)
		}
	}
	add(f.Paused)
	switch {
	case stops.Usage != "" && f.Moving.ByPlugins && f.Moving.ByUsage:
		add("moves by real usage: " + stops.Usage)
	case f.Moving.ByUsage || !f.Moving.ByPlugins: // the plans of plugins do not need usage
		add(stops.Usage)
	}
	if stops.Ledger != "" {
		add("the stored ledger cannot be read: " + stops.Ledger)
	}
	if stops.Hold != "" {
		why := reasons.Reason(stops.Hold).Sentence()
		add(fmt.Sprintf("evicting is on hold until %s: %s (%s)", clock(stops.HoldUntil), why, stops.Hold))
	}
	if stops.Safeguard != "" {
		add(fmt.Sprintf("%s (%s)", stops.Safeguard.Sentence(), stops.Safeguard))
	}
	return all
}

// Problems lists the problems that need attention: sources that could not be read, and a
// policy that is not in effect.
func (p *Page) Problems() []string {
	all := p.unreadSources()
	if p.Process.PolicyProblem != "" {
		all = append(all, "the changed policy is not in effect: "+p.Process.PolicyProblem)
	}
	return all
}

func (p *Page) unreadSources() (all []string) {
	for i := range p.Sources {
		if s := &p.Sources[i]; s.Error != "" {
			all = append(all, s.Name+" could not be read: "+s.Error)
		}
	}
	return all
}

// headline returns the most important message.
func (p *Page) headline() Headline {
	if len(p.Hot) > 0 {
		first := &p.Hot[0]
		text := first.Name + " is hot"
		switch {
		case p.HotNodes > 1 && first.cooling: // the nodes after it are cooler, so they are cooling, too
			text = fmt.Sprintf("%d nodes are cooling; %s is the fullest of them", p.HotNodes, first.Name)
		case p.HotNodes > 1:
			text = fmt.Sprintf("%s is the hottest of %d hot nodes", first.Name, p.HotNodes)
		case first.cooling:
			text = first.Name + " is cooling"
		}
		return Headline{Node: first.Name, Text: text, By: first.By, Action: first.Action}
	}
	sorted := p.hottest
	if len(sorted) == 0 || sorted[0].Level == Unknown {
		return Headline{Text: "No usage is known", By: p.unread(), Action: cmp.Or(p.byPlugins, "Nothing is evicted.")}
	}
	first := sorted[0] // no node is hot, except according to its newest reading
	h := Headline{Node: first.Name, Text: "No node is hot; " + first.Name + " is the fullest", By: first.Uses(), Action: "Nothing has to be moved."}
	switch {
	case first.NotHot.ByMeasure() && !first.isHot():
		h.Text, h.Action = "No node is hot; "+first.Name+" is above an evict line", first.NotHot.Sentence(first.Name)
	case first.Why() != "":
		h.Action += " " + first.Why()
	}
	if first.isHot() {
		h.Text = first.Name + " is hot by its newest reading"
		h.Action = "Whether it is hot by the policy's windows is known once these are filled; nothing is evicted before that."
		if p.byPlugins != "" {
			h.Action = "Whether it is hot by the policy's windows is known once these are filled."
		}
	}
	if p.byPlugins != "" {
		h.Action = strings.TrimPrefix(h.Action+" "+p.byPlugins, "Nothing has to be moved. ")
	}
	return h
}

// byPlugins describes in sentences what the last cycle planned for descheduler plugins;
// empty if the policy has none that are planned.
func (f *Facts) byPlugins() string {
	switch {
	case !f.Moving.ByPlugins:
		return ""
	case f.Cycle == nil:
		return status.Sentence("descheduler's plugins: " + f.NoPlan)
	}
	var plugins []string
	var moves []strategies.Move
	declined := 0
	for i := range f.Cycle.Plan.Moves {
		if plugin := f.Cycle.Plan.Moves[i].Plugin; plugin != "" {
			moves = append(moves, f.Cycle.Plan.Moves[i])
			if !slices.Contains(plugins, plugin) {
				plugins = append(plugins, plugin)
			}
		}
	}
	for i := range f.Cycle.Plan.Declined {
		if f.Cycle.Plan.Declined[i].Plugin != "" {
			declined++
		}
	}
	at, stay := clock(f.Cycle.At), ""
	if declined > 0 {
		stay = fmt.Sprintf(" %s that a plugin asks for would stay, as listed below.", reasons.Count(declined, "pod"))
	}
	if len(moves) == 0 {
		return fmt.Sprintf("The cycle at %s planned no move for descheduler's plugins.%s", at, stay)
	}
	return fmt.Sprintf("The cycle at %s planned %s that %s asked for%s.%s", at, reasons.Count(len(moves), "move"), status.Enumerated(plugins), onlyLogged(moves), stay)
}

// unread explains why no usage is known.
func (p *Page) unread() string {
	if unread := p.unreadSources(); len(unread) > 0 {
		return unread[0]
	}
	if p.Observed == nil {
		return "There is no reading yet."
	}
	return "No source has reported any node yet."
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05") + " UTC" }
