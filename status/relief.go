package status

import (
	"math"

	"github.com/evenkeel/evenkeel/strategies"
)

// Relief is how long the moves off a node take, from the next cycle on.
type Relief struct {
	// Text is a sentence that describes the relief.
	Text string `json:"text"`
	// Moves is the number of moves, and ThisCycle the number of moves that the next cycle
	// makes.
	Moves     int `json:"moves"`
	ThisCycle int `json:"thisCycle"`
	// Minutes is the time until the last move is made; a lower bound if AtLeast is true.
	Minutes float64 `json:"minutes"`
	AtLeast bool    `json:"atLeast,omitempty"`
	// Bound is the reason for the longest wait; absent if no move waits. Limit is the
	// number of moves that it allows, and Left the number that it still allows. Both are
	// absent if the bound does not count moves.
	Bound string `json:"bound,omitempty"`
	Limit int    `json:"limit,omitempty"`
	Left  *int   `json:"left,omitempty"`

	prompt bool
}

// IfSlow returns the Text with a space before it, unless all moves are made at once
// or there are none.
func (r *Relief) IfSlow() string {
	if r == nil || r.prompt {
		return ""
	}
	return " " + r.Text
}

// ReliefOf converts a relief to the form in which it is reported; nil for nil.
func ReliefOf(r *strategies.Relief) *Relief {
	if r == nil {
		return nil
	}
	is := &Relief{
		Text: r.Sentence(), Moves: r.Moves, ThisCycle: r.ThisCycle, Minutes: math.Round(r.Takes.Minutes()*10) / 10, AtLeast: r.AtLeast || r.Longer,
		Bound: string(r.Bound), Limit: r.Limit, prompt: r.Prompt(),
	}
	if r.Hourly() {
		is.Left = new(r.Left)
	}
	return is
}
