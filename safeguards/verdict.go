package safeguards

import (
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Verdict is what may be evicted at one time. It does not change and is safe
// for concurrent use; each question is answered in constant time.
type Verdict struct {
	config   *Config
	now      time.Time
	closures []closure // the most telling first

	hours  map[party]*hour
	owners map[string]*owner
	// before holds, by the UID of its pod, what was intended before each
	// intended move: of several that exceed a budget together the first may be
	// made.
	before map[string]counts
	// evictions are the times of the hour's, hourEnds is when a used-up hour
	// allows a move again.
	evictions []time.Time
	hourEnds  time.Time

	nodes            map[string]settling
	pending, unready trouble
}

// closure is why nothing may be evicted, and until when; zero where that is not
// known.
type closure struct {
	reason reasons.Reason
	detail string
	until  time.Time
}

// scope is what an hourly budget is for.
type scope int

const (
	everything scope = iota
	ofOwner
	ofNamespace
	ofPool
	scopes
)

// party is one that has a budget: an owner, a namespace, a pool, where those
// in none are one, or all together.
type party struct {
	scope scope
	name  string
}

// hour is what somebody has used of an hourly budget.
type hour struct {
	evicted int
	// intended are recorded and about to be evicted: they take their share in
	// advance.
	intended int
	// oldest is when the first of the evicted was.
	oldest time.Time
}

// counts are how many intended moves count against each budget that concerns a
// move.
type counts [scopes]int

// owner is what the moves of one owner's pods came to.
type owner struct {
	// unhelpful counts the newest cycles in a row with moves that did not help,
	// the last of which was known not to at since; cycle is when the newest of
	// them was recorded.
	unhelpful    int
	since, cycle time.Time
	pending      trouble
	unready      trouble
}

// trouble counts replacements that keep the breaker from closing, with the
// first as an example.
type trouble struct {
	count   int
	example string
}

func (t *trouble) add(move *ledger.Move, name string) {
	if t.count++; t.count == 1 {
		t.example = move.Namespace + "/" + name
	}
}

// settling is when a node was last touched by a move, and of which pod.
type settling struct {
	since time.Time
	pod   string
}
