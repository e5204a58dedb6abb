package ledger

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Replacement is how the pod is that took a move up; zero where it is gone.
type Replacement struct {
	Exists, Ready, Terminating bool
	Restarts                   int
}

// OutcomeFacts are what a move that landed is judged by, some time after. A
// move whose source is not measured now, though it is there, is better judged
// later.
type OutcomeFacts struct {
	// Now becomes the time of the judgement.
	Now time.Time
	Replacement
	// SourceUsed is what the source uses now, zero where it is gone or not
	// measured; SourceHot says that it is hot.
	SourceUsed cluster.Amounts
	SourceHot  bool
	// DestinationOver says that the node of the replacement is above its evict
	// line.
	DestinationOver bool
}

// Assess judges what a move that landed has brought.
func Assess(move Move, facts OutcomeFacts) Outcome {
	return Outcome{
		Judged:           facts.Now,
		Planned:          move.To != "" && move.Node == move.To,
		SourceCooler:     !facts.SourceHot || move.relieved(facts.SourceUsed),
		DestinationUnder: !facts.DestinationOver,
		// A replacement that was deleted since, as by a scale-down, says
		// nothing against the move.
		Healthy: !facts.Exists || facts.Ready && facts.Restarts <= 0,
	}
}

// relieved reports whether the source uses less than when the move was planned:
// by at least half of what the pod used, in the resource of which the pod used
// the largest share, because other pods come and go meanwhile. What is not
// known relieves nobody.
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
