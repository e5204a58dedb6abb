package strategies

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel/evenkeel/reasons"
)

// Relief describes how long the moves off a node take, counted from the first cycle.
type Relief struct {
	// Moves is the number of moves, ThisCycle the number that the next cycle makes.
	Moves, ThisCycle int
	// Takes is the time until the last move is made. Longer reports whether it takes
	// longer than that. AtLeast reports whether some of the moves are an estimate, based
	// on the fewest that suffice.
	Takes           time.Duration
	Longer, AtLeast bool
	// Bound is the limit that delays the moves most; empty if none does. Limit is the
	// number of moves that it allows, Left the number still allowed; 0 if it does not
	// count moves. Between is the time between cycles.
	Bound       reasons.Reason
	Limit, Left int
	Between     time.Duration
}

// prompt is the duration below which a relief is not worth mentioning.
const prompt = time.Minute

// Prompt reports whether all moves are made at once.
func (r *Relief) Prompt() bool { return r.ThisCycle == r.Moves && r.Takes < prompt }

// Hourly reports whether the bound is an hourly limit on moves.
func (r *Relief) Hourly() bool {
	switch r.Bound {
	case reasons.MovesPerHour, reasons.OwnerMovesPerHour, reasons.NamespaceMovesPerHour, reasons.NodePoolMovesPerHour:
		return true
	default:
		return false
	}
}

// Sentence describes how long relief takes and why.
func (r *Relief) Sentence() string {
	takes := "about " + duration.HumanDuration(r.Takes)
	switch {
	case r.Longer:
		takes = "more than " + duration.HumanDuration(r.Takes)
	case r.Takes < prompt:
		takes = "less than a minute"
	case r.AtLeast:
		takes = "at least " + duration.HumanDuration(r.Takes)
	}
	verb := "take"
	if r.Moves == 1 {
		verb = "takes"
	}
	words := fmt.Sprintf("%s %s %s", reasons.Count(r.Moves, "move"), verb, takes)
	switch {
	case r.ThisCycle == 0:
		words += ", none of them in the next cycle"
	case r.ThisCycle < r.Moves:
		words += fmt.Sprintf(", %d of them in the next cycle", r.ThisCycle)
	}
	if why := r.why(); why != "" {
		words += ": " + why
	}
	return words + "."
}

// why explains what delays relief, naming the policy setting.
func (r *Relief) why() string {
	left := fmt.Sprintf("%d an hour, of which %d are left", r.Limit, r.Left)
	switch r.Bound {
	case "":
		return ""
	case reasons.MovesPerHour:
		return "maxMovesPerHour allows " + left
	case reasons.OwnerMovesPerHour:
		return "maxMovesPerHourOfOwner allows one of the owners " + left
	case reasons.NamespaceMovesPerHour:
		return fmt.Sprintf("one of the namespaces may use %d an hour (maxMovesPerHourOfNamespace), of which %d are left", r.Limit, r.Left)
	case reasons.NodePoolMovesPerHour:
		return "maxMovesPerHourOfNodePool allows its node pool " + left
	case reasons.MoveLimit:
		return fmt.Sprintf("maxMovesPerCycle allows %d, and cycles are %s apart", r.Limit, duration.HumanDuration(r.Between))
	case reasons.EvictionLimit:
		return fmt.Sprintf("evictionLimits allow %d off a node in a cycle, and cycles are %s apart", r.Limit, duration.HumanDuration(r.Between))
	case reasons.OwnerPodsUnavailable:
		return fmt.Sprintf("maxInFlightPercentOfOwner allows one of the owners %d at once", r.Limit)
	case reasons.PodDisruptionBudgetExhausted:
		return fmt.Sprintf("a PodDisruptionBudget allows %d at once", r.Limit)
	default:
		return r.Bound.Sentence()
	}
}
