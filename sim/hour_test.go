package sim

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
)

// In no hour of a replay do evictions exceed the hourly limits for all pods, for each owner and for
// each namespace.
func TestNoHourExceedsItsBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		fleet *Fleet
		// all is the hourly limit of all moves; 0 means 5 %.
		all int
		// alone reports whether steering is disabled, so that replacements may return.
		alone bool
		// reached names the limits that the replay reaches.
		reached map[string]bool
	}{
		"shipped, generated":                  {fleet: generated(t, 300, 62)},
		"shipped, generated, and not steered": {fleet: generated(t, 300, 62), alone: true, reached: map[string]bool{"cluster": true, "owner": true, "namespace": true}},
		"shipped, recorded":                   {fleet: mixed(t), reached: map[string]bool{"owner": true}},
		"a small number":                      {fleet: mixed(t), all: 6, reached: map[string]bool{"cluster": true, "namespace": true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := shipped(t)
			config := safeguards.Config{
				MaxPerHour: tc.all, MaxPercentPerHourOfOwner: 50, MoveTTL: 5 * time.Minute,
				Breaker: safeguards.Breaker{MaxPending: 99, MaxUnready: 99, MaxRefusedPercent: 100, MaxNotReadyPercent: 100},
			}
			if tc.all == 0 {
				config.MaxPercentPerHour = 5
			}
			p.Evicting.Safeguards, p.Evicting.OwnerPercent = safeguards.New(config), 100
			c := defaultsOn(tc.fleet)
			c.Steps, c.MaxUnavailablePercent = min(c.Steps, 144), 100
			player := started(t, c, &Variant{Name: name, Policy: p, Evicts: true, Steers: !tc.alone})
			most, made := map[string]int{}, 0
			playAll(t, player, func(step int) {
				h := hourOf(player)
				for party, used := range h.used {
					limit := h.limit(party, tc.all)
					if used > limit {
						t.Fatalf("step %d: %d moves of %v within the hour, at most %d", step, used, party, limit)
					}
					if used == limit {
						most[party.kind]++
					}
					made += used
				}
			})
			if made == 0 {
				t.Error("no moves")
			}
			for _, kind := range []string{"cluster", "owner", "namespace"} {
				if (most[kind] > 0) != tc.reached[kind] {
					t.Errorf("the bound of %s is reached %d times, want that at all: %v", kind, most[kind], tc.reached[kind])
				}
			}
		})
	}
}

// mover identifies the owner, the namespace or the cluster for which moves are counted.
type mover struct{ kind, namespace, owner string }

// hour counts the evictions within an hour and the existing pods.
type hour struct{ used, pods map[mover]int }

func hourOf(p *player) hour {
	h := hour{map[mover]int{}, map[mover]int{}}
	inFlight, ended := p.evenkeel.observer.Ledger().Moves()
	for _, moves := range [...][]ledger.Move{inFlight, ended} {
		for i := range moves {
			if m := &moves[i]; !m.Evicted.IsZero() && p.evenkeel.clock.Sub(m.Evicted) < time.Hour {
				count(h.used, m.Namespace, m.Owner.UID)
			}
		}
	}
	for _, pod := range p.world.pods() {
		owner := ""
		for _, ref := range pod.OwnerReferences {
			owner = string(ref.UID)
		}
		count(h.pods, pod.Namespace, owner)
	}
	return h
}

func count(of map[mover]int, namespace, owner string) {
	of[mover{kind: "cluster"}]++
	of[mover{kind: "namespace", namespace: namespace}]++
	if owner != "" {
		of[mover{"owner", namespace, owner}]++
	}
}

func (h hour) limit(of mover, all int) int {
	pods := h.pods[mover{kind: "cluster"}]
	if all == 0 {
		all = max(50, pods/20)
	}
	switch of.kind {
	case "owner":
		return max(2, h.pods[of]/2)
	case "namespace":
		return max((all+1)/2, all*h.pods[of]/pods)
	}
	return all
}
