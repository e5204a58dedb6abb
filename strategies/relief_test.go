package strategies

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/reasons"
)

// One sentence states how long relief takes, with the policy's name for what delays it.
func TestReliefInWords(t *testing.T) {
	for want, r := range map[string]Relief{
		"4 moves take less than a minute.": {Moves: 4, ThisCycle: 4, Takes: time.Second},
		"1 move takes less than a minute.": {Moves: 1, ThisCycle: 1},
		"125 moves take about 120m, 50 of them in the next cycle: maxMovesPerHour allows 50 an hour, of which 50 are left.": {
			Moves: 125, ThisCycle: 50, Takes: 2 * time.Hour, Bound: reasons.MovesPerHour, Limit: 50, Left: 50,
		},
		"125 moves take at least 3h20m, 50 of them in the next cycle: maxMovesPerCycle allows 50, and cycles are 5m apart.": {
			Moves: 125, ThisCycle: 50, Takes: 200 * time.Minute, AtLeast: true, Bound: reasons.MoveLimit, Limit: 50, Between: 5 * time.Minute,
		},
		"9 moves take more than 24h, none of them in the next cycle: one of the namespaces may use 1 an hour (maxMovesPerHourOfNamespace), of which 0 are left.": {
			Moves: 9, Takes: 24 * time.Hour, Longer: true, Bound: reasons.NamespaceMovesPerHour, Limit: 1,
		},
		"12 moves take about 3m: a PodDisruptionBudget allows 1 at once.": {
			Moves: 12, ThisCycle: 12, Takes: 3 * time.Minute, Bound: reasons.PodDisruptionBudgetExhausted, Limit: 1,
		},
		"12 moves take about 3m: maxInFlightPercentOfOwner allows one of the owners 1 at once.": {
			Moves: 12, ThisCycle: 12, Takes: 3 * time.Minute, Bound: reasons.OwnerPodsUnavailable, Limit: 1,
		},
		"2 moves take about 3m, none of them in the next cycle: the policy's calendar allows no evictions now.": {
			Moves: 2, Takes: 3 * time.Minute, Bound: reasons.OutsideWindow,
		},
	} {
		if got := r.Sentence(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
