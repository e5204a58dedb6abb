package safeguards

import (
	"time"

	"github.com/evenkeel/evenkeel/reasons"
)

// Verdict determines what may be evicted at one time. It is immutable and safe for
// concurrent use; each query takes constant time.
type Verdict struct {
	config   *Config
	now      time.Time
	closures []closure // the most informative one first

	pods   *Census
	hours  map[party]*hour
	owners map[string]*owner
	// unasked holds, by namespace, when a webhook last could not be called.
	unasked map[string]denied
	// before holds, for each intended move by pod UID, how many intents recorded before
	// it share its budgets. If several moves together exceed a budget, the first ones may
	// be made.
	before map[string]counts
	// all holds the times of all known evictions, and evictions those within the last
	// hour. evicted is the time of the latest eviction, and hourEnds the time at which a
	// used-up hourly budget allows a move again.
	all, evictions    []time.Time
	evicted, hourEnds time.Time

	nodes      map[string]settling
	namespaces map[string]*troubles
	// together holds the trouble that is recent enough to stop everyone.
	together troubles
	// unsteered holds, by namespace, why its replacements count as not steered.
	unsteered map[string]reasons.Reason
	// failing holds, by namespace, why its latest eviction calls forbid further ones.
	failing map[string]closure
}

// closure is a reason why nothing may be evicted, and when it ends; zero if unknown.
type closure struct {
	reason reasons.Reason
	detail string
	until  time.Time
}

func (c closure) words() (reasons.Reason, string) { return c.reason, c.detail }

// scope is the kind of party that an hourly budget covers.
type scope int

const (
	everything scope = iota
	ofOwner
	ofNamespace
	ofPool
	scopes
)

// party is an entity with a budget: an owner, a namespace, a pool (nodes outside all
// pools share one), or everything.
type party struct {
	scope scope
	name  string
}

// hour is the part of its hourly budget that a party has used.
type hour struct {
	evicted int
	// intended counts moves that are recorded but not made yet. They count in advance.
	intended int
	// oldest is the time of the earliest eviction.
	oldest time.Time
}

// counts holds, for each of a move's budgets, how many intended moves count against it.
type counts [scopes]int

// owner holds the results of one owner's moves.
type owner struct {
	// unhelpful counts the latest consecutive cycles with moves that did not help. since
	// is when such a move was last found, and cycle when the newest of them was recorded.
	unhelpful    int
	since, cycle time.Time
	// denied is when and how an eviction of one of its pods was last denied.
	denied denied
	// moved is when an earlier cycle last evicted one of its pods.
	moved    time.Time
	troubles troubles
	// bound is the newest move whose replacement was created with a node, with its time.
	bound settling
}

// denied is a denial by admission control.
type denied struct {
	at    time.Time
	words string
}

// troubleKind is the kind of trouble with a replacement: it waits for a node,
// it does not become ready, or it was not steered.
type troubleKind int

const (
	pending troubleKind = iota
	unready
	unsteered
	troubleKinds
)

type troubles [troubleKinds]trouble

// settling holds the time of the latest move that touched a node, and the pod that it
// moved.
type settling struct {
	since time.Time
	pod   string
}
