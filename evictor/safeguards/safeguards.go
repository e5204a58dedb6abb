// Package safeguards decides whether anything may be evicted now, and whose pods. It
// implements the protection of pods, the minimum number of available pods of an owner,
// hourly budgets, cooldowns of owners whose moves did not help, the settling time of
// nodes whose measurements have to catch up, and the breaker that stops evicting when it
// does harm.
//
// It decides nothing about usage, fit or PodDisruptionBudgets, and takes the calendar's
// answer as input. All its information comes from the moves in the ledger and a few other
// facts, so a new process applies the same limits as its predecessor. It is purely
// functional: it never reads a clock and keeps no state between Verdicts.
//
// An event counts for a fixed time after it happened, regardless of when the question is
// asked. A time more than an hour in the future is a clock error and is ignored, because
// otherwise the event would count until then.
package safeguards

import (
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Rules apply a Config. They are safe for concurrent use.
type Rules struct {
	config Config
}

// New returns the Rules of a Config; negative values count as 0.
func New(config Config) *Rules {
	c := config
	for _, bound := range []*int{
		&c.MaxPerHour, &c.MaxPerHourOfNamespace, &c.MaxPerHourOfOwner, &c.MaxPerHourOfPool, &c.MaxPercentPerHour, &c.MaxPercentPerHourOfOwner,
		&c.Breaker.MaxPending, &c.Breaker.MaxUnready, &c.Breaker.MaxErrors,
	} {
		*bound = max(*bound, 0)
	}
	for _, wait := range []*time.Duration{
		&c.NodeSettle, &c.MoveTTL, &c.Cooldown.Always, &c.Cooldown.Base, &c.Breaker.PendingAfter, &c.Breaker.UnreadyAfter, &c.Breaker.Rest,
	} {
		*wait = max(*wait, 0)
	}
	c.Cooldown.Max = max(c.Cooldown.Max, c.Cooldown.Base)
	return &Rules{config: c}
}

// Breaker returns when evicting stops.
func (r *Rules) Breaker() *Breaker { return &r.config.Breaker }

// Cooldown returns how long an owner is left alone after the first move that did not help.
func (r *Rules) Cooldown() time.Duration { return r.config.Cooldown.Base }

// At judges the facts at a time. The Verdict keeps a reference only to their Census.
func (r *Rules) At(facts Facts, now time.Time) *Verdict {
	v := &Verdict{
		config: &r.config, now: now, pods: facts.Pods, owners: map[string]*owner{}, nodes: map[string]settling{},
		hours: map[party]*hour{}, before: map[string]counts{}, unasked: map[string]denied{}, namespaces: map[string]*troubles{}, failing: map[string]closure{}, unsteered: map[string]reasons.Reason{},
	}
	for _, moves := range [...][]ledger.Move{facts.Ended, facts.InFlight} {
		for i := range moves {
			v.take(&moves[i], &facts)
		}
	}
	v.hourEnds = v.freeAgain()
	v.close(&facts)
	return v
}
