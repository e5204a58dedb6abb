package sim

import (
	"context"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// promised keeps what the first plan with moves predicts for the crowded node.
type promised struct {
	*evenkeel

	relief *strategies.Relief
	at     time.Time
}

func (p *promised) Planned(_ context.Context, _ *plugin.Plugin, made *strategies.Made) {
	for i := range made.Plan.Nodes {
		if r := made.Plan.Nodes[i].Relief; r != nil && p.relief == nil {
			p.relief, p.at = r, p.clock
		}
	}
}

// A packed node is relieved in about the time that the first plan predicts, with the shipped limits
// and with other, tighter ones.
func TestReliefTakesAsLongAsPredicted(t *testing.T) {
	shippedBounds := safeguards.Config{MaxPercentPerHour: 5, MaxPercentPerHourOfOwner: 50}
	for name, tc := range map[string]struct {
		pods         int
		load         float64
		kind         PodKind
		perOwner     int
		bounds       safeguards.Config
		perCycle     int
		ownerPercent float64
		bound        reasons.Reason // the predicted reason for delay
	}{
		"shipped, 60 pods at 85 %":                   {pods: 60, load: 85, perOwner: 10, bounds: shippedBounds, perCycle: 100, ownerPercent: 10},
		"shipped, 110 pods at 85 %":                  {pods: 110, load: 85, perOwner: 10, bounds: shippedBounds, perCycle: 100, ownerPercent: 10},
		"shipped, 250 pods at 95 %":                  {pods: 250, load: 95, perOwner: 25, bounds: shippedBounds, perCycle: 100, ownerPercent: 10, bound: reasons.MovesPerHour},
		"shipped, 110 pods of StatefulSets at 95 %":  {pods: 110, load: 95, kind: Stateful, perOwner: 10, bounds: shippedBounds, perCycle: 100, ownerPercent: 10},
		"shipped, owners of three pods":              {pods: 110, load: 95, perOwner: 3, bounds: shippedBounds, perCycle: 100, ownerPercent: 10},
		"five moves in a cycle":                      {pods: 110, load: 85, perOwner: 10, bounds: safeguards.Config{}, perCycle: 5, ownerPercent: 10, bound: reasons.MoveLimit},
		"an hour of ten moves":                       {pods: 110, load: 85, perOwner: 10, bounds: safeguards.Config{MaxPerHour: 10}, perCycle: 100, ownerPercent: 10, bound: reasons.MovesPerHour},
		"two owners, a tenth of whose pods may move": {pods: 110, load: 85, perOwner: 55, bounds: safeguards.Config{MaxPerHourOfOwner: 6}, perCycle: 100, ownerPercent: 10, bound: reasons.OwnerMovesPerHour},
	} {
		t.Run(name, func(t *testing.T) {
			d := DefaultDense()
			d.Pods, d.LoadPercent, d.ReplicasPerOwner = tc.pods, tc.load, tc.perOwner
			if tc.kind != "" {
				d.Kind = tc.kind
			}
			fleet, err := NewDenseFleet(d)
			if err != nil {
				t.Fatal(err)
			}
			p, config := shipped(t), tc.bounds
			config.NodeSettle, config.MoveTTL = time.Minute, 5*time.Minute
			config.Breaker = safeguards.Breaker{MaxPending: 99, MaxUnready: 99, PendingAfter: time.Hour, UnreadyAfter: time.Hour, MaxRefusedPercent: 100, MaxNotReadyPercent: 100}
			p.Evicting.Safeguards, p.Evicting.OwnerPercent, p.Options.MaxMoves = safeguards.New(config), tc.ownerPercent, tc.perCycle
			c := defaultsOn(fleet)
			c.Steps, c.MaxUnavailablePercent = 60, 100
			said, last, moves := promise(t, c, p)
			if said.relief == nil {
				t.Fatal("no plan predicts how long relief takes")
			}
			took := last.Sub(said.at)
			t.Logf("said: %s Took %v with %d moves", said.relief.Sentence(), took.Round(time.Second), moves)
			if said.relief.Bound != tc.bound && tc.bound != "" {
				t.Errorf("said to be slowed down by %q, want %q", said.relief.Bound, tc.bound)
			}
			const cycle = DefaultEvery
			if most := said.relief.Takes*3/2 + cycle; took > most {
				t.Errorf("took %v, at most %v by what was said", took, most)
			}
			if least := said.relief.Takes*2/3 - cycle; took < least {
				t.Errorf("took %v, at least %v by what was said", took, least)
			}
			if moves > said.relief.Moves+said.relief.Moves/10+1 || moves < said.relief.Moves-said.relief.Moves/10-1 {
				t.Errorf("%d moves were made, %d were said", moves, said.relief.Moves)
			}
		})
	}
}

// promise replays a fleet. It returns the prediction, when the last pod was evicted, and how many
// pods were evicted.
func promise(t *testing.T, c *Config, p *Policy) (said *promised, last time.Time, moves int) {
	t.Helper()
	player := started(t, c, &Variant{Name: "evenkeel", Policy: p, Evicts: true, Steers: true})
	said = &promised{evenkeel: player.evenkeel}
	said.executor = said
	playAll(t, player, func(int) {})
	_, ended := player.evenkeel.observer.Ledger().Moves()
	for i := range ended {
		if at := ended[i].Evicted; !at.IsZero() {
			moves++
			if at.After(last) {
				last = at
			}
		}
	}
	return said, last, moves
}
