package ledger

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Replacement is the state of a move's replacement; zero if it is gone.
type Replacement struct {
	Exists, Ready, Terminating bool
	Restarts                   int
}

// OutcomeFacts is the data by which a landed move is judged, some time after it
// landed. If the source exists but is not measured at that time, the move must
// be judged later.
type OutcomeFacts struct {
	// Now is recorded as the time of judgement.
	Now time.Time
	Replacement
	// SourceUsed is the source's current usage; zero if the source is gone or not
	// measured. SourceHot reports whether it is hot.
	SourceUsed cluster.Amounts
	SourceHot  bool
	// DestinationOver is the opposite of Outcome.DestinationUnder.
	DestinationOver bool
}

// Assess judges a landed move.
func Assess(move Move, facts OutcomeFacts) Outcome {
	return Outcome{
		Judged:           facts.Now,
		Planned:          move.To != "" && move.Node == move.To,
		SourceCooler:     move.Node != move.From && (!facts.SourceHot || move.relieved(facts.SourceUsed)),
		DestinationUnder: !facts.DestinationOver,
		// A replacement that was deleted since, for example by a scale-down, does not
		// count against the move.
		Healthy: !facts.Exists || facts.Ready && facts.Restarts <= 0,
	}
}

// relieved reports whether the source uses less than when the move was planned,
// measured in the resource of which the pod used the largest share. The
// difference must be at least half of the pod's usage, because other pods come
// and go. Unknown usage counts as no relief.
func (m *Move) relieved(sourceUsed cluster.Amounts) bool {
	largest, relieved := 0.0, false
	for r, moved := range m.Usage {
		before, after := m.FromUsed[r], sourceUsed[r]
		if moved <= 0 || before <= 0 || after <= 0 {
			continue
		}
		if share := float64(moved) / float64(before); share > largest {
			largest, relieved = share, before-after >= moved-moved/2
		}
	}
	return relieved
}
