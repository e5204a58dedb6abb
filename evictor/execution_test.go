package evictor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// scene records the outcomes of a cycle's moves, and when each eviction was tried ("!" if it was
// refused).
type scene struct {
	play    func(*play)
	moves   []string
	want    []string
	evicted []string
}

func (s scene) test(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		s.play(p)
		if diff := cmp.Diff(s.want, p.run(s.moves...)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(s.evicted, p.evicted); diff != "" {
			t.Errorf("evictions (-want +got):\n%s", diff)
		}
	})
}

// The scenes show what becomes of a cycle's moves, and when each eviction is tried ("!" if it is
// refused).
func TestExecutor(t *testing.T) {
	cases := map[string]scene{
		"one eviction per interval": {
			play:    func(*play) {},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b", "c"},
			evicted: []string{"a@0.0", "b@0.2", "c@0.4"},
		},
		"without a budget, a tenth of an owner's replicas at once, until their replacements are ready": {
			play: func(p *play) {
				p.config.replicas = func(*v1.Pod) int { return 29 } // two at once
				p.landsIn, p.readyIn = 2900*time.Millisecond, 5*time.Second
			},
			moves:   []string{"a", "b", "c", "d"},
			want:    []string{"a", "b", "c", "d"},
			evicted: []string{"a@0.0", "b@0.2", "c@8.0", "d@8.2"},
		},
		"one at a time for an owner whose number of replicas is unknown": {
			play:    func(p *play) { p.config.replicas = func(*v1.Pod) int { return 0 } },
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@2.0"},
		},
		"a budget without room is waited for": {
			play: func(p *play) {
				p.budget("web", 0, "1")
				p.after(9900*time.Millisecond, func() { p.budget("web", 1, "2") })
			},
			moves:   []string{"a"},
			want:    []string{"a"},
			evicted: []string{"a@10.0"},
		},
		"an exhausted budget delays no other moves": {
			play: func(p *play) {
				p.budget("web", 0, "1")
				p.pods["b"] = aPod("b", func(pod *v1.Pod) { pod.Labels = nil })
			},
			moves:   []string{"a", "b"},
			want:    []string{"b", "a: CycleDeadline"},
			evicted: []string{"b@0.0"},
		},
		"a budget that its controller has not seen yet has no room": {
			play: func(p *play) {
				p.budget("web", 5, "1")
				for _, pdb := range p.Budgets(aPod("a")) {
					pdb.Generation = 2
				}
			},
			moves: []string{"a"},
			want:  []string{"a: CycleDeadline"},
		},
		"pods with several budgets are left alone": {
			play: func(p *play) {
				p.budget("one", 5, "1")
				p.budget("two", 5, "1")
			},
			moves: []string{"a"},
			want:  []string{"a: SeveralPodDisruptionBudgets"},
		},
		"refused for a budget that seemed to have room: again once the budget has changed": {
			play: func(p *play) {
				p.budget("web", 1, "1")
				p.answers["a"] = []error{tooMany(0)}
				p.after(3900*time.Millisecond, func() { p.budget("web", 0, "2") })
				p.after(6900*time.Millisecond, func() { p.budget("web", 1, "3") })
			},
			moves:   []string{"a"},
			want:    []string{"a"},
			evicted: []string{"!a@0.0", "a@7.0"},
		},
		"refused for a budget that does not change: every ten seconds": {
			play: func(p *play) {
				p.budget("web", 1, "1")
				p.answers["a"] = []error{tooMany(0), tooMany(0)}
			},
			moves:   []string{"a"},
			want:    []string{"a"},
			evicted: []string{"!a@0.0", "!a@10.0", "a@20.0"},
		},
		"refused for an API server that is busy: when it says": {
			play:    func(p *play) { p.answers["a"] = []error{tooMany(3), tooMany(0)} },
			moves:   []string{"a", "b"},
			want:    []string{"b", "a"},
			evicted: []string{"!a@0.0", "b@0.0", "!a@3.0", "a@4.0"},
		},
		"a move that waits for its owner's move in flight is made": {
			play: func(p *play) {
				p.config.replicas = func(*v1.Pod) int { return 2 }
				p.landsIn = 31*time.Second + tick/2
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@31.2"},
		},
		"a budget that allows one pod at a time, even if each takes less": {
			play: func(p *play) {
				p.budget("web", 1, "1")
				p.landsIn = -1
				for i := range 3 { // each eviction uses up the limit for 25 seconds
					p.after(time.Duration(i)*25*time.Second+100*time.Millisecond, func() { p.budget("web", 0, "taken") })
					p.after(time.Duration(i+1)*25*time.Second-100*time.Millisecond, func() { p.budget("web", 1, "free") })
				}
				p.config.deadline = 10 * time.Minute
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b", "c"},
			evicted: []string{"a@0.0", "b@25.0", "c@50.0"},
		},
		"at the deadline, waiting moves are left over": {
			play: func(p *play) {
				p.config.replicas, p.config.deadline = func(*v1.Pod) int { return 2 }, 10*time.Second
				p.landsIn = -1
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b: CycleDeadline"},
			evicted: []string{"a@0.0"},
		},
		"a move that is no longer useful is skipped": {
			play: func(p *play) {
				p.config.change = func(m *Move) {
					switch m.Pod {
					case "a":
						m.From = "warm"
					case "b":
						m.To = "gone"
					}
				}
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a: SourceNoLongerHot", "b: LandingGone", "c"},
			evicted: []string{"c@0.0"},
		},
		"a pod that has changed is left": {
			play: func(p *play) {
				p.pods["a"] = aPod("a", terminating)
				p.pods["b"] = aPod("b", func(pod *v1.Pod) { pod.UID = "second" })
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a: PodChanged", "b: PodChanged", "c"},
			evicted: []string{"c@0.0"},
		},
		"a move that was cancelled since it was planned is left": {
			play:    func(p *play) { p.after(100*time.Millisecond, func() { p.ledger.Cancel("uid-b", time.Now()) }) },
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: MoveCancelled", "c"},
			evicted: []string{"a@0.0", "c@0.2"},
		},
		"the total limit ends the cycle": {
			play:    func(p *play) { p.config.limits.Total = new(uint(1)) },
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: EvictionLimit", "c: EvictionLimit"},
			evicted: []string{"a@0.0"},
		},
		"a node's limit ends the node": {
			play:    func(p *play) { p.config.limits.PerNode = new(uint(2)) },
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b", "c: EvictionLimit"},
			evicted: []string{"a@0.0", "b@0.2"},
		},
		"a namespace's limit ends the namespace": {
			play: func(p *play) {
				p.config.limits.PerNamespace = new(uint(1))
				p.config.change = func(m *Move) {
					if m.Pod == "c" {
						m.Namespace = "other"
					}
				}
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: EvictionLimit", "c"},
			evicted: []string{"a@0.0", "c@0.2"},
		},
		"the kill switch during a cycle": {
			play:    func(p *play) { p.answers["b"] = []error{&reasons.Refusal{Reason: reasons.Paused, Detail: "by hand"}} },
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: Paused", "c: Paused"},
			evicted: []string{"a@0.0", "!b@0.2"},
		},
		"a pod that the framework's filters refuse": {
			play: func(p *play) {
				p.answers["a"] = []error{&reasons.Refusal{Reason: reasons.PreEvictionFilter, Detail: ""}}
			},
			moves:   []string{"a", "b"},
			want:    []string{"a: PreEvictionFilter", "b"},
			evicted: []string{"!a@0.0", "b@0.0"},
		},
		"a call that failed": {
			play:    func(p *play) { p.answers["a"] = []error{errors.New("connection refused")} },
			moves:   []string{"a", "b"},
			want:    []string{"a: EvictionFailed", "b"},
			evicted: []string{"!a@0.0", "b@0.0"},
		},
		"the first move is a probe; once its replacement proved steering the others follow": {
			play:    func(p *play) { p.steered(ledger.Steered) },
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b", "c"},
			evicted: []string{"a@0.0", "b@2.0", "c@2.2"},
		},
		"a probe that proves nothing is followed by another": {
			play:    func(p *play) { p.steered(ledger.Unproven, ledger.Steered) },
			moves:   []string{"a", "b", "c", "d"},
			want:    []string{"a", "b", "c", "d"},
			evicted: []string{"a@0.0", "b@2.0", "c@4.0", "d@4.2"},
		},
		"a probe without a request from kube-scheduler ends the cycle": {
			play: func(p *play) {
				p.steered(ledger.NotSteered)
				p.notAsked, p.landsOn = true, "hot"
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: SteeringAbsent", "c: SteeringAbsent"},
			evicted: []string{"a@0.0"},
		},
		"a probe that does not land in its grace and twenty seconds ends the cycle": {
			play: func(p *play) {
				p.steered(ledger.Steered)
				p.landsIn = 31 * time.Second
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b: ProbeNotLanded"},
			evicted: []string{"a@0.0"},
		},
		"a probe whose owner wants no replacement is followed by another one": {
			play: func(p *play) {
				p.steered(ledger.Steered)
				p.landsIn = 3900 * time.Millisecond // pods of one template are interchangeable: the replacement of a proves b
				p.after(900*time.Millisecond, func() { p.ledger.CancelOwner("ns", "rs-1", 1, time.Now()) })
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b", "c"},
			evicted: []string{"a@0.0", "b@1.0", "c@4.0"},
		},
		"a refused first move is no probe": {
			play: func(p *play) {
				p.steered(ledger.Steered)
				p.answers["a"] = []error{errors.New("connection refused")}
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a: EvictionFailed", "b", "c"},
			evicted: []string{"!a@0.0", "b@0.0", "c@2.0"},
		},
		"steering that is proven needs no probe": {
			play: func(p *play) {
				p.steered(ledger.Unproven)
				p.config.proven = func() (bool, error) { return true, nil }
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b", "c"},
			evicted: []string{"a@0.0", "b@0.2", "c@0.4"},
		},
		"proven steering ends a hold": {
			play: func(p *play) {
				p.steered(ledger.Unproven)
				p.config.proven = func() (bool, error) { return true, nil }
				p.ledger.SetHold(ledger.Hold{Reason: string(reasons.SteeringAbsent), Since: time.Now(), Until: time.Now().Add(time.Hour)})
			},
			moves:   []string{"a"},
			want:    []string{"a"},
			evicted: []string{"a@0.0"},
		},
		"the API server does not steer": {
			play: func(p *play) {
				p.steered(ledger.Steered)
				p.config.proven = func() (bool, error) { return false, errors.New("no kind Steering") }
			},
			moves: []string{"a", "b"},
			want:  []string{"a: SteeringAbsent", "b: SteeringAbsent"},
		},
		"a replacement that cannot be steered yet delays no other moves": {
			play: func(p *play) {
				p.steered(ledger.Unproven)
				p.config.proven = func() (bool, error) { return true, nil }
				p.config.ready = func(move *ledger.Leaving) (reasons.Reason, bool) {
					return "", move.Intent.Pod == "a" && time.Since(p.start) < 900*time.Millisecond
				}
			},
			moves:   []string{"a", "b"},
			want:    []string{"b", "a"},
			evicted: []string{"b@0.0", "a@1.0"},
		},
		"a replacement that is restricted gets the nodes that take it": {
			play: func(p *play) {
				p.steered(ledger.Unproven)
				p.config.proven, p.config.restricts = func() (bool, error) { return true, nil }, true
				p.config.ready = func(move *ledger.Leaving) (reasons.Reason, bool) {
					if diff := cmp.Diff([]string{"cool"}, move.Nodes); diff != "" {
						p.t.Errorf("nodes (-want +got):\n%s", diff)
					}
					if move.Intent.Pod == "a" {
						return reasons.NamesUnsuited, false
					}
					return "", false
				}
			},
			moves:   []string{"a", "b"},
			want:    []string{"a: NamesUnsuited", "b"},
			evicted: []string{"b@0.0"},
		},
		"a replacement that is restricted, for a descheduler plugin whose policy observes nothing": {
			play: func(p *play) {
				p.steered(ledger.Unproven)
				p.config.proven, p.config.restricts, p.config.blind = func() (bool, error) { return true, nil }, true, true
				p.config.change = func(m *Move) { m.Plugin, m.Reason = "LowNodeUtilization", reasons.AskedByPlugin }
				p.config.ready = func(move *ledger.Leaving) (reasons.Reason, bool) {
					if len(move.Nodes) > 0 {
						p.t.Errorf("nodes %v, want none", move.Nodes)
					}
					return reasons.NamesUnsuited, false
				}
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@0.2"},
		},
		"steering that fails during a cycle ends it": {
			play: func(p *play) {
				p.steered(ledger.Unproven)
				p.config.proven = func() (bool, error) { return true, nil }
				p.config.ready = func(move *ledger.Leaving) (reasons.Reason, bool) {
					if move.Intent.Pod == "b" {
						return reasons.SteeringAbsent, false
					}
					return "", false
				}
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: SteeringAbsent", "c: SteeringAbsent"},
			evicted: []string{"a@0.0"},
		},
		"no moves": {play: func(p *play) { p.steered(ledger.NotSteered) }},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}

// A probe that terminates slowly delays its cycle, and with it all others, no longer than any other
// move would, even if it is the only move.
func TestAProbeIsWaitedForUntilTheDeadline(t *testing.T) {
	for _, moves := range [][]string{{"a"}, {"a", "b"}} {
		playing(t, func(t *testing.T, p *play) {
			p.steered(ledger.Steered)
			p.landsIn = -1
			p.pods["a"] = aPod("a", dyingFor(24*3600))
			p.runWith(p.evictor(), moves...)
			if took := time.Since(p.start); took > p.config.deadline {
				t.Errorf("the cycle of %v took %v, want %v at most", moves, took, p.config.deadline)
			}
		})
	}
}

// An owner never has more moves in flight than its limit, however long replacements take to land
// and become ready.
func TestExecutorKeepsTheOwnersLimit(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		const atOnce = 3
		p.config.replicas = func(*v1.Pod) int { return 10 * atOnce }
		p.landsIn, p.readyIn = 1700*time.Millisecond, 2300*time.Millisecond
		executor := p.evictor()
		evict := p.evict
		worst := 0
		moves := make([]Move, 12)
		for i := range moves {
			name := string(rune('a' + i))
			moves[i], p.pods[name] = moveOf(name), aPod(name)
		}
		p.evict = func(pod *v1.Pod, move *Move) error {
			err := evict(pod, move)
			inFlight, _ := p.ledger.Moves()
			onTheMove := 0
			for i := range inFlight {
				if inFlight[i].State != ledger.Intended {
					onTheMove++
				}
			}
			p.unready.Range(func(any, any) bool {
				onTheMove++
				return true
			})
			worst = max(worst, onTheMove)
			return err
		}
		results := carryOut(t.Context(), executor, moves)
		if worst > atOnce || len(results) != len(moves) {
			t.Errorf("%d of %d results, up to %d pods on the move, want at most %d", len(results), len(moves), worst, atOnce)
		}
		time.Sleep(time.Minute)
	})
}

// After a failed probe, later cycles evict nothing until kube-scheduler asks or half an hour has
// passed.
func TestExecutorRestsAfterAFailedProbe(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.steered(ledger.NotSteered)
		p.notAsked = true
		asked := int64(7)
		p.config.asked = func() int64 { return asked }
		executor := p.evictor()
		steps := []struct {
			name string
			want []string
		}{
			{"the last move of a cycle is judged, too", []string{"a"}},
			{"the next cycle rests", []string{"b: SteeringAbsent"}},
			{"kube-scheduler has asked: a probe", []string{"c"}},
			{"half an hour later: a probe", []string{"d"}},
		}
		for i, step := range steps {
			if i == 2 {
				asked++
			}
			if i == 3 {
				time.Sleep(30 * time.Minute)
			}
			executor.BeginCycle(t.Context())
			if diff := cmp.Diff(step.want, p.runWith(executor, string(rune('a'+i)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.name, diff)
			}
		}
		time.Sleep(time.Minute)
	})
}

// When a cycle is told to stop, it skips the remaining moves at once.
func TestExecutorStops(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.budget("web", 0, "1")
		ctx, cancel := context.WithCancel(t.Context())
		p.after(3*time.Second, cancel)
		executor := p.evictor()
		p.pods["a"] = aPod("a")
		results := carryOut(ctx, executor, []Move{moveOf("a")})
		if len(results) != 1 || results[0].Reason == "" || time.Since(p.start) != 3*time.Second {
			t.Errorf("results %v after %v", results, time.Since(p.start))
		}
	})
}

// Setting the clock by the API server's time, back or ahead, changes neither the duration of a cycle
// nor the wait for a probe. Waiting counts as progress.
func TestExecutorWhileTheClockIsSet(t *testing.T) {
	cases := map[string]struct {
		by    time.Duration
		setup func(*play)
		want  string
		took  time.Duration
	}{
		"a probe that never lands, clock set back":  {-time.Hour, neverLanding, "[a b: ProbeNotLanded]", 30 * time.Second},
		"a probe that never lands, clock set ahead": {time.Hour, neverLanding, "[a b: ProbeNotLanded]", 30 * time.Second},
		"a budget without room, clock set back":     {-time.Hour, noRoom, "[a: CycleDeadline b: CycleDeadline]", waitLimit},
		"a budget without room, clock set ahead":    {time.Hour, noRoom, "[a: CycleDeadline b: CycleDeadline]", waitLimit},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				tc.setup(p)
				p.config.now = func() time.Time {
					if time.Since(p.start) < 2*time.Second {
						return time.Now()
					}
					return time.Now().Add(tc.by)
				}
				executor := p.evictor()
				if got := fmt.Sprint(p.runWith(executor, "a", "b")); got != tc.want {
					t.Errorf("got %s, want %s", got, tc.want)
				}
				if took := time.Since(p.start); took < tc.took || took > tc.took+2*time.Second {
					t.Errorf("it took %v, want %v", took, tc.took)
				}
			})
		})
	}
}

func neverLanding(p *play) {
	p.steered(ledger.Steered)
	p.landsIn = -1
}

func noRoom(p *play) { p.budget("full", 0, "1") }

func TestExecutorDryRun(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.steered(ledger.NotSteered)
		p.config.dryRun = true
		progress := 0
		p.config.progress = func() { progress++ }
		p.evicted = nil
		executor := p.evictor()
		moves := []Move{moveOf("a"), moveOf("b")}
		p.pods["a"], p.pods["b"] = aPod("a"), aPod("b")
		results := carryOut(t.Context(), executor, moves)
		for _, result := range results {
			if result.Reason != "" {
				t.Errorf("result %+v", result)
			}
		}
		if len(results) != 2 || progress == 0 || time.Since(p.start) > time.Second {
			t.Errorf("%d results, %d times progress, %v", len(results), progress, time.Since(p.start))
		}
	})
}

// The moves of a plugin in dry run are neither recorded nor steered, and do not wait for budgets.
// The same move by a plugin that evicts is made afterwards.
func TestAPluginInDryRunMovesNothing(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		steers := 0
		p.steered(ledger.Steered)
		p.config.proven = func() (bool, error) {
			steers++
			return true, nil
		}
		p.config.ready = func(*ledger.Leaving) (reasons.Reason, bool) {
			steers++
			return "", false
		}
		p.pods["a"], p.pods["b"] = aPod("a", func(pod *v1.Pod) { pod.Labels = nil }), aPod("b")
		noRoom(p)
		e, trying := p.evictor(), *anyProfile
		trying.DryRun = true
		plan := strategies.Plan{}
		for _, name := range []string{"b", "a"} {
			plan.Moves = append(plan.Moves, strategies.Move{
				Pod:  strategies.Pod{Pod: &cluster.Pod{Namespace: "ns", Name: name, UID: "uid-" + name, Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}}},
				From: "hot", To: "cool",
			})
		}
		would := e.Make(t.Context(), &plan, &trying)
		inFlight, ended := p.ledger.Moves()
		if len(would) != 1 || would[0].Name != "a" || len(inFlight)+len(ended)+len(p.evicted)+steers+p.settled > 0 {
			t.Errorf("would make %+v; in the ledger %+v %+v; evicted %q; steered %d times", would, inFlight, ended, p.evicted, steers+p.settled)
		}
		if took := time.Since(p.start); took > time.Second {
			t.Errorf("it took %v", took)
		}
		plan.Moves = plan.Moves[1:]
		e.Make(t.Context(), &plan, anyProfile)
		if len(p.evicted) != 1 || !p.ledger.Moving("uid-a") || steers == 0 {
			t.Errorf("the plugin that evicts: evicted %q, moving %t, steered %d times", p.evicted, p.ledger.Moving("uid-a"), steers)
		}
		time.Sleep(time.Hour) // the replacement arrives
	})
}

// A dry run returns the moves that it would have made, for later strategies. A run that evicts
// returns none.
func TestADryRunReturnsWhatItWouldHaveMade(t *testing.T) {
	for _, dry := range []bool{true, false} {
		playing(t, func(t *testing.T, p *play) {
			p.config.dryRun = dry
			p.pods["a"] = aPod("a")
			plan := strategies.Plan{}
			for _, name := range []string{"a", "gone"} {
				plan.Moves = append(plan.Moves, strategies.Move{
					Pod:  strategies.Pod{Pod: &cluster.Pod{Namespace: "ns", Name: name, UID: "uid-" + name, Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}}},
					From: "hot", To: "cool",
				})
			}
			var would []string
			for _, m := range p.evictor().Make(t.Context(), &plan, anyProfile) {
				would = append(would, m.Name)
			}
			if want := map[bool][]string{true: {"a"}}[dry]; !slices.Equal(would, want) {
				t.Errorf("dry %t: %q would have been made, want %q", dry, would, want)
			}
			time.Sleep(time.Hour) // the replacement arrives
		})
	}
}

// A dry run records no moves, so it cancels none. A move in flight for the same pod belongs to
// another process.
func TestDryRunCancelsNoMove(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.config.dryRun = true
		move := moveOf("a")
		p.pods["a"] = aPod("a")
		p.ledger.Record(time.Now(), move.Intent)
		refusal := &reasons.Refusal{Reason: reasons.PodChanged}
		p.evict = func(*v1.Pod, *Move) error { return refusal }
		results := carryOut(t.Context(), p.evictor(), []Move{move})
		if len(results) != 1 || results[0].Reason != reasons.PodChanged || !p.ledger.Moving("uid-a") {
			t.Errorf("results %+v, still moving %v", results, p.ledger.Moving("uid-a"))
		}
	})
}

// Preparations for a move that is not made, or not yet, are undone.
func TestUnmadeMovesAreNotSteered(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.steered(ledger.Unproven)
		p.config.proven = func() (bool, error) { return true, nil }
		p.answers["a"] = []error{errors.New("connection refused")}
		p.landsIn = -1
		p.runWith(p.evictor(), "a")
		p.answers["b"] = []error{tooMany(0)}
		p.runWith(p.evictor(), "b")
		if diff := cmp.Diff([]string{"a", "b"}, p.undone); diff != "" {
			t.Errorf("undone (-want +got):\n%s", diff)
		}
	})
}

// A cycle that is told to stop undoes its preparations as well.
func TestSteeringIsSettledByAStoppedCycle(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		p.steered(ledger.Unproven)
		p.config.proven = func() (bool, error) { return true, nil }
		p.pods["a"] = aPod("a")
		ctx, stop := context.WithCancel(t.Context())
		c := p.evictor().Begin(ctx, []Move{moveOf("a")}, anyProfile)
		stop()
		c.End(ctx)
		if p.settled != 1 {
			t.Errorf("settled %d times", p.settled)
		}
	})
}

// The results of a cycle are stored even if the API server takes four seconds each to read and to
// write the ledger. A cycle ends even if the API server does not respond at all.
func TestResultsAreStoredSlowly(t *testing.T) {
	for name, tc := range map[string]struct{ takes, want time.Duration }{
		"slow": {takes: 8 * time.Second, want: 8 * time.Second},
		"away": {takes: time.Hour, want: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				stored := false
				p.config.commit = func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(tc.takes):
						stored = true
						return nil
					}
				}
				began := time.Now()
				p.evictor().Begin(t.Context(), nil, anyProfile).End(t.Context())
				if took := time.Since(began); took != tc.want || stored != (took == tc.takes) {
					t.Errorf("took %v, want %v; stored: %v", took, tc.want, stored)
				}
			})
		})
	}
}
