package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
)

// summary describes a node's state, the reason for it, and what would be done about it.
func (n *NodeExplanation) summary(now time.Time) string {
	return strings.TrimSpace(n.name(now) + n.why() + " " + n.todo())
}

func (n *NodeExplanation) name(now time.Time) string {
	return fmt.Sprintf("%s is %s%s", n.Name, n.State, since(n.Since, now))
}

// OverEvict describes in which metrics and windows the node is above its evict lines;
// empty if it is not above any.
func (n *NodeExplanation) OverEvict() string {
	return strings.Join(phrases(n.Metrics, evictLine), "; ")
}

// Cooling is the explanation for a node that stays hot although no metric is above its
// evict line in all windows, because it has to drop below its leave lines first.
const Cooling = "no longer above an evict line in all windows"

// OverLeave describes in which metrics and windows the node is above its leave lines;
// empty if it is not above any.
func (n *NodeExplanation) OverLeave() string {
	return strings.Join(phrases(n.Metrics, leaveLine), "; ")
}

func (n *NodeExplanation) why() string {
	over := n.OverEvict()
	switch thresholds.State(n.State) {
	case thresholds.Hot:
		if over != "" {
			return ": " + over + "."
		}
		return ": it is " + Cooling + "; " + n.OverLeave() + "."
	case thresholds.Unknown:
		if n.NotHot != nil {
			return fmt.Sprintf(": %s. Nothing is decided on its usage.", n.NotHot.Text)
		}
		return fmt.Sprintf(" (%s): nothing is decided on its usage.", n.Unknown)
	case thresholds.Cool, thresholds.Warm:
	}
	return n.whyNotHot()
}

func (n *NodeExplanation) whyNotHot() string {
	words, notHot := "", n.NotHot
	if notHot != nil {
		words = ", " + notHot.NotHot()
	}
	low := phrases(n.Metrics, lowLine)
	switch {
	case thresholds.State(n.State) == thresholds.Cool && notHot != nil:
		return words + " It is predicted under every low line."
	case thresholds.State(n.State) == thresholds.Cool || len(low) == 0 && notHot == nil:
		return ": it is predicted under every low line."
	case notHot == nil && n.NotCool != nil:
		return ", not hot: it is under its evict lines. Not cool: " + n.NotCool.Text + "."
	case notHot == nil:
		return ", not hot: it is under its evict lines. Not cool: " + strings.Join(low, "; ") + "."
	}
	return words
}

// todo describes what would be done about the node.
func (n *NodeExplanation) todo() string {
	switch {
	case n.NoPlan != "":
		return Sentence(n.NoPlan)
	case thresholds.State(n.State) != thresholds.Hot && len(n.Leave) > 0 && !reasons.Reason(n.Leave[0].Reason).Relieves():
		return fmt.Sprintf("%s would be moved: %s.", reasons.Count(len(n.Leave), "pod"), n.whyLeave())
	case thresholds.State(n.State) != thresholds.Hot && len(n.Leave) > 0:
		return fmt.Sprintf("%s would be moved before that: it is expected to be %s.", reasons.Count(len(n.Leave), "pod"), n.Expected)
	case thresholds.State(n.State) != thresholds.Hot && len(n.Arrive) > 0:
		return reasons.Count(len(n.Arrive), "pod") + " would be moved here."
	case thresholds.State(n.State) != thresholds.Hot && n.Closed != "":
		return fmt.Sprintf("It takes no moved pods: %s.", n.Closed)
	case thresholds.State(n.State) != thresholds.Hot:
		return ""
	case len(n.Arrive) > 0 && n.LeftAlone == "":
		return reasons.Count(len(n.Arrive), "pod") + " would be moved here."
	case len(n.Arrive) > 0:
		return fmt.Sprintf("No pod would be moved off it (%s), and %s here.", because(n.LeftAlone, n.Detail), reasons.Count(len(n.Arrive), "pod"))
	case len(n.Leave) > 0 && n.LeftAlone != "":
		return fmt.Sprintf("%s would be moved, but that is not enough to cool it (%s).", reasons.Count(len(n.Leave), "pod"), because(n.LeftAlone, n.Detail)) + n.Relief.IfSlow()
	case len(n.Leave) > 0:
		return reasons.Count(len(n.Leave), "pod") + " would be moved." + n.Relief.IfSlow()
	case n.LeftAlone != "":
		return fmt.Sprintf("No pod would be moved (%s).", because(n.LeftAlone, n.Detail)) + n.Relief.IfSlow()
	}
	if n.byPluginsOnly {
		return "No plugin of the policy moves pods because their node is hot."
	}
	return "No pod has to be moved."
}

// whyLeave explains the moves off the node in words.
func (n *NodeExplanation) whyLeave() string {
	var why []string
	for i := range n.Leave {
		if words := n.Leave[i].why(); !slices.Contains(why, words) {
			why = append(why, words)
		}
	}
	return strings.Join(why, "; ")
}

// onlyLogged returns a sentence about moves that would only be logged; empty if there are
// none.
func onlyLogged(moves ...ExplainedMove) string {
	logged := 0
	for i := range moves {
		if moves[i].DryRun {
			logged++
		}
	}
	if logged == 0 {
		return ""
	}
	return fmt.Sprintf(" %s would only be logged, because the plugin is in dry run.", reasons.Count(logged, "move"))
}

// unless returns a clause that explains that evicting is paused, if it is and there are
// moves to make.
func unless(paused string, moves bool) string {
	if paused == "" || !moves {
		return ""
	}
	return " Not now: " + paused + "."
}

// summary describes whether a pod would be moved, and why or why not.
func (p *PodExplanation) summary() string {
	name := p.Namespace + "/" + p.Name
	uses := "uses " + p.Usage.String()
	if !p.Measured {
		uses += " by estimate"
	}
	if m := p.Move; m != nil {
		after := "It is not known how full " + m.To + " is."
		if m.ToAfter != nil {
			after = fmt.Sprintf("%s would be at %.1f%% cpu and %.1f%% memory with it.", m.To, m.ToAfter.CPU, m.ToAfter.Memory)
		}
		return fmt.Sprintf("%s would be moved from %s to %s: %s, and it %s. %s%s", name, m.From, m.To, m.why(), uses, after, m.Expected.words())
	}
	if e := p.Eviction; e != nil {
		goes := "Its replacement would go to " + e.To
		if e.To == "" {
			goes = "Where its replacement would go: " + e.NoDestination
		}
		would := "would be evicted"
		if e.DryRun {
			would = "would be evicted in dry run"
		}
		return fmt.Sprintf("%s %s from %s: %s asks for it, because %s. %s.", name, would, e.From, e.Plugin, e.Why, goes)
	}
	where := fmt.Sprintf("It runs on %s (%s) and %s", p.Node, p.NodeState, uses)
	if reasons.Reason(p.Reason) == reasons.NotPlanned {
		return fmt.Sprintf("Whether %s would be moved is not known here: %s. %s.", name, p.Detail, where)
	}
	return fmt.Sprintf("%s would not be moved (%s). %s.", name, because(p.Reason, p.Detail), where)
}

// summaryOfMoved describes what happened to a moved pod.
func (p *PodExplanation) summaryOfMoved() string {
	m := &p.Moves[0]
	name := p.Namespace + "/" + p.Name
	if m.Pod != p.Name {
		return fmt.Sprintf("%s replaces %s, which was moved off %s (%s), and runs on no node that is known yet.", name, m.Pod, m.From, m.State)
	}
	text := fmt.Sprintf("%s no longer runs: its move off %s, planned to %s, is %s", name, m.From, cmp.Or(m.To, "nowhere"), m.State)
	switch {
	case ledger.State(m.State) == ledger.Landed:
		text += fmt.Sprintf(": %s replaces it on %s", cmp.Or(m.Replacement, "a pod"), m.Node)
	case m.Replacement != "":
		text += fmt.Sprintf(": %s replaces it, booked on %s", m.Replacement, cmp.Or(m.Node, "no node"))
	}
	return text + "."
}

// words describes the expected effect of a move; empty for nil.
func (s *Saved) words() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(" Expected to save %.0f hot minutes in %s.", s.HotMinutes, InMinutes(s.Within))
}
