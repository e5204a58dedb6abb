package evictor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

var (
	errForbidden = apierrors.NewForbidden(deployments, "web-a", errors.New("no such right"))
	errConflict  = apierrors.NewConflict(deployments, "web-a", errors.New("it has changed"))
	errSilence   = errors.New("connection reset by peer")
)

// Scenes of a surge. The ledger is announced for half a second at the beginning
// of the cycle, and again for the surge, so that the Deployment is scaled up at
// 1.1 s; its replacement is bound 1.9 s later and ready 3 s after that.
func TestSurge(t *testing.T) {
	cases := map[string]struct {
		play  func(*surgePlay)
		want  []string
		calls []string
		// open says that the Deployment is left to the next cycle.
		open bool
	}{
		"scaled up, evicted once the replacement is ready, scaled back at once": {
			play:  func(*surgePlay) {},
			want:  []string{"a"},
			calls: []string{"web-a to 2@1.1", "evict a@6.1", "web-a to 1@6.1"},
		},
		"its budget is waited for only once there are two": {
			play: func(p *surgePlay) {
				p.budget("web", 0, "1")
				p.after(9*time.Second, func() { p.budget("web", 1, "2") })
			},
			want:  []string{"a"},
			calls: []string{"web-a to 2@1.1", "evict a@9.1", "web-a to 1@9.1"},
		},
		"several budgets let nobody go": {
			play: func(p *surgePlay) {
				p.budget("one", 1, "1")
				p.budget("two", 1, "1")
			},
			want: []string{"a: SeveralPodDisruptionBudgets"},
		},
		"a replacement that is never ready": {
			play:  func(p *surgePlay) { p.readyIn = -1 },
			want:  []string{"a: SurgeFailed"},
			calls: []string{"web-a to 2@1.1", "web-a to 1@300.5"},
		},
		"a replacement that is never bound": {
			play:  func(p *surgePlay) { p.landsIn = -1 },
			want:  []string{"a: SurgeFailed"},
			calls: []string{"web-a to 2@1.1", "web-a to 1@300.5"},
		},
		"a replacement that goes again": {
			play: func(p *surgePlay) {
				p.after(3400*time.Millisecond, func() {
					p.mu.Lock()
					defer p.mu.Unlock()
					delete(p.alive, "new-a")
				})
			},
			want:  []string{"a: SurgeFailed"},
			calls: []string{"web-a to 2@1.1", "web-a to 1@3.5"},
		},
		"a cycle that ends first": {
			play:  func(p *surgePlay) { p.readyIn, p.config.deadline = -1, 10*time.Second },
			want:  []string{"a: CycleDeadline"},
			calls: []string{"web-a to 2@1.1", "web-a to 1@10.1"},
		},
		"a pod that goes meanwhile": {
			play: func(p *surgePlay) {
				p.after(4*time.Second, func() {
					p.mu.Lock()
					defer p.mu.Unlock()
					delete(p.alive, "a")
					p.ledger.Leaves("uid-a", time.Now())
				})
			},
			want:  []string{"a: PodChanged"},
			calls: []string{"web-a to 2@1.1", "web-a to 1@4.1"},
		},
		"a source that cools down meanwhile": {
			play: func(p *surgePlay) {
				p.config.cooled = func() bool { return time.Since(p.start) > 4*time.Second }
			},
			want:  []string{"a: SourceNoLongerHot"},
			calls: []string{"web-a to 2@1.1", "web-a to 1@4.1"},
		},
		"somebody has scaled it since it was planned": {
			play: func(p *surgePlay) { p.wants["web-a"] = 3 },
			want: []string{"a: SurgeFailed"},
		},
		"somebody wants three meanwhile: left to them": {
			play:  func(p *surgePlay) { p.after(4*time.Second, func() { p.rescale("web-a", 3) }) },
			want:  []string{"a: SurgeFailed"},
			calls: []string{"web-a to 2@1.1"},
		},
		"somebody wants one again before the replacement is bound: found out within five seconds": {
			play: func(p *surgePlay) {
				p.landsIn = 10 * time.Second
				p.after(4*time.Second, func() { p.rescale("web-a", 1) })
			},
			want:  []string{"a: SurgeFailed"},
			calls: []string{"web-a to 2@1.1"},
		},
		"the scale changes under the hand": {
			play: func(p *surgePlay) {
				p.setAnswers = []error{errConflict, errConflict, nil, errConflict, errConflict}
			},
			want: []string{"a"},
			calls: []string{
				"!web-a to 2@1.1", "!web-a to 2@1.3", "web-a to 2@1.5", "evict a@6.5", "!web-a to 1@6.5", "!web-a to 1@6.5", "web-a to 1@6.5",
			},
		},
		"the scale changes all the time": {
			play: func(p *surgePlay) {
				p.setAnswers = []error{errConflict, errConflict, errConflict, errConflict, errConflict}
			},
			want:  []string{"a: SurgeFailed"},
			calls: []string{"!web-a to 2@1.1", "!web-a to 2@1.3", "!web-a to 2@1.5", "!web-a to 2@1.7", "!web-a to 2@1.9"},
		},
		"scales may not be read": {
			play: func(p *surgePlay) { p.readAnswers = []error{errForbidden} },
			want: []string{"a: SurgeFailed"},
		},
		"scales may not be set": {
			play:  func(p *surgePlay) { p.setAnswers = []error{errForbidden} },
			want:  []string{"a: SurgeFailed"},
			calls: []string{"!web-a to 2@1.1"},
		},
		"a call that is carried out and not answered": {
			play: func(p *surgePlay) {
				p.setAnswers, p.carriesOut = []error{errSilence}, true
			},
			want:  []string{"a: SurgeFailed"},
			calls: []string{"!web-a to 2@1.1", "web-a to 1@1.1"},
		},
		"a call that may yet be carried out is the next cycle's": {
			play:  func(p *surgePlay) { p.setAnswers = []error{errSilence} },
			want:  []string{"a: SurgeFailed"},
			calls: []string{"!web-a to 2@1.1"},
			open:  true,
		},
		"a Deployment that cannot be scaled back at once is when the cycle ends": {
			play:  func(p *surgePlay) { p.setAnswers = []error{nil, errSilence} },
			want:  []string{"a"},
			calls: []string{"web-a to 2@1.1", "evict a@6.1", "!web-a to 1@6.1", "web-a to 1@6.1"},
		},
		"a Deployment that is gone": {
			play: func(p *surgePlay) {
				p.readyIn = -1
				p.after(4*time.Second, func() {
					p.mu.Lock()
					defer p.mu.Unlock()
					delete(p.wants, "web-a")
				})
			},
			want:  []string{"a: SurgeFailed"},
			calls: []string{"web-a to 2@1.1"},
		},
		"scales that cannot be read for a while": {
			play:  func(p *surgePlay) { p.readAnswers = []error{nil, errSilence, errSilence} },
			want:  []string{"a"},
			calls: []string{"web-a to 2@1.1", "evict a@6.5", "web-a to 1@6.5"},
		},
		"an eviction that is refused for a while": {
			play: func(p *surgePlay) { p.answers["a"] = []error{tooMany(3), tooMany(0)} },
			want: []string{"a"},
			calls: []string{
				"web-a to 2@1.1", "!evict a@6.1", "!evict a@9.1", "evict a@10.1", "web-a to 1@10.1",
			},
		},
		"an eviction that fails": {
			play:  func(p *surgePlay) { p.answers["a"] = []error{errSilence} },
			want:  []string{"a: EvictionFailed"},
			calls: []string{"web-a to 2@1.1", "!evict a@6.1", "web-a to 1@6.1"},
		},
		"the kill switch before it begins": {
			play: func(p *surgePlay) {
				p.config.paused = func(context.Context) error { return &reasons.Refusal{Reason: reasons.Paused, Detail: "by hand"} }
			},
			want: []string{"a: Paused"},
		},
		"a Lease that is lost before it begins": {
			play: func(p *surgePlay) { p.config.leads = func() error { return errSilence } },
			want: []string{"a: NotLeader"},
		},
		"a ledger that cannot be stored": {
			play: func(p *surgePlay) {
				stored := 0
				p.config.commit = func(context.Context) error {
					if stored++; stored == 2 {
						return errSilence
					}
					return nil
				}
			},
			want: []string{"a: LedgerUnwritable"},
		},
		"nobody to scale": {
			play: func(p *surgePlay) { p.config.scaler = nil },
			want: []string{"a: SurgeFailed"},
		},
		"a dry run scales nothing and waits for no budget": {
			play: func(p *surgePlay) {
				p.budget("web", 0, "1")
				p.config.dryRun = true
			},
			want:  []string{"a"},
			calls: []string{"evict a@0.0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			surging(t, func(t *testing.T, p *surgePlay) {
				tc.play(p)
				if diff := cmp.Diff(tc.want, p.run(t.Context(), "a")); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.calls, p.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				time.Sleep(20 * time.Minute) // everything that was started has ended by then
				if open := len(p.ledger.Surges()) > 0; open != tc.open {
					t.Errorf("left to the next cycle: %v, want %v", open, tc.open)
				}
				if !tc.open && !p.config.dryRun {
					p.settled(t)
				}
			})
		})
	}
}

// No more than five Deployments are scaled up at a time, and all get their
// turn.
func TestSurgesAtATime(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
		if got := p.run(t.Context(), names...); len(got) != len(names) || p.most != maxSurges {
			t.Errorf("%v moved, up to %d at a time, want all and up to %d", got, p.most, maxSurges)
		}
		p.settled(t)
	})
}

// While a move waits for its replacement, it reads the Deployment's scale every
// five seconds and not at every tick.
func TestSurgeLooksSeldom(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		p.readyIn = -1
		p.run(t.Context(), "a")
		if lasted := int(time.Since(p.start) / scaleCheckInterval); p.reads > lasted+2 || p.reads < lasted/2 {
			t.Errorf("asked for the scale %d times in %v", p.reads, time.Since(p.start))
		}
	})
}

// Once a landing shows that kube-scheduler is not steered, nobody is evicted
// any more, not even in the same pass.
func TestSurgeThatWasNotSteeredStopsTheOthers(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		p.config.steered = func(*ledger.Move) ledger.Proof { return ledger.NotSteered }
		p.budget("web", 0, "1")
		p.after(3050*time.Millisecond, func() { p.budget("web", 1, "2") }) // it lands at 3.0 s and is looked at at 3.1 s
		executor := p.evictor()
		p.wants["web-a"], p.alive["a"], p.alive["b"] = 1, aPod("a"), aPod("b")
		other := surgeOf("b")
		other.Surge = ""
		for _, outcome := range executor.begin(t.Context(), []Move{surgeOf("a"), other}, nil).run(t.Context()) {
			if outcome.Reason != reasons.SteeringAbsent {
				t.Errorf("%s: %q, want it left for %s", outcome.Move.Pod, outcome.Reason, reasons.SteeringAbsent)
			}
		}
		if diff := cmp.Diff([]string{"web-a to 2@1.1", "web-a to 1@3.1"}, p.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
	})
}

// Other moves go on while a surge waits.
func TestSurgeHoldsNobodyUp(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		executor := p.evictor()
		p.wants["web-a"] = 1
		for _, name := range []string{"a", "b", "c"} {
			p.alive[name] = aPod(name)
		}
		other := func(name string) Move {
			move := surgeOf(name)
			move.Surge = ""
			return move
		}
		for _, outcome := range executor.begin(t.Context(), []Move{surgeOf("a"), other("b"), other("c")}, nil).run(t.Context()) {
			if outcome.Reason != "" {
				t.Errorf("%s: %s", outcome.Move.Pod, outcome.Reason)
			}
		}
		want := []string{"evict b@0.5", "evict c@0.7", "web-a to 2@1.1", "evict a@6.1", "web-a to 1@6.1"}
		if diff := cmp.Diff(want, p.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
	})
}

// A surge that comes to nothing ends as soon, however long its pod may take to end:
// the cycle, and so everybody's next moves, would wait for it.
func TestSurgeOfAPodWithALongGrace(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		p.wants["web-a"], p.alive["a"], p.readyIn = 1, aPod("a"), -1
		move := surgeOf("a")
		move.TTL += 9 * time.Minute
		outcomes := p.evictor().begin(t.Context(), []Move{move}, nil).run(t.Context())
		if len(outcomes) != 1 || outcomes[0].Reason != reasons.SurgeFailed {
			t.Errorf("outcomes %+v, want %s", outcomes, reasons.SurgeFailed)
		}
		if diff := cmp.Diff([]string{"web-a to 2@1.1", "web-a to 1@300.5"}, p.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
	})
}

// A landing is a probe for which nobody had to be evicted.
func TestSurgeAsAProbe(t *testing.T) {
	cases := map[string]struct {
		steered ledger.Proof
		want    []string
		calls   []string
	}{
		"steered":  {ledger.Steered, []string{"a"}, []string{"web-a to 2@1.1", "evict a@6.1", "web-a to 1@6.1"}},
		"unproven": {ledger.Unproven, []string{"a"}, []string{"web-a to 2@1.1", "evict a@6.1", "web-a to 1@6.1"}},
		"absent":   {ledger.NotSteered, []string{"a: SteeringAbsent"}, []string{"web-a to 2@1.1", "web-a to 1@3.1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			surging(t, func(t *testing.T, p *surgePlay) {
				asked := 0
				p.config.steered = func(move *ledger.Move) ledger.Proof {
					asked++
					if move.State != ledger.Landed {
						t.Errorf("asked about a move that is %s", move.State)
					}
					return tc.steered
				}
				if diff := cmp.Diff(tc.want, p.run(t.Context(), "a")); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.calls, p.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if asked != 1 {
					t.Errorf("asked %d times about one landing", asked)
				}
				p.settled(t)
				time.Sleep(time.Minute)
			})
		})
	}
}

// What the ledger says of a pod while and after its Deployment is scaled up.
func TestSurgeOnRecord(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		p.before = func(_ string, to int32) {
			move, _ := p.ledger.Get("uid-a")
			if to == 2 && (!move.Surging() || move.State != ledger.Intended) {
				t.Errorf("about to be scaled up: %+v", move)
			}
			if to == 1 && (move.State != ledger.Landed || move.Evicted.IsZero()) {
				t.Errorf("about to be scaled back: %+v", move)
			}
		}
		p.run(t.Context(), "a")
		_, ended := p.ledger.Moves()
		if len(ended) != 1 || ended[0].Replacement != "uid-new-a" || ended[0].Node != "cool" || ended[0].Surging() || ended[0].SurgeFailed() {
			t.Errorf("the ledger ends with %+v", ended)
		}
	})
}

// The Gate takes a pod whose replacement has landed for one that is on record.
func TestClientEvictsAfterASurge(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	gate := newGate(t, a)
	moves, move := gate.config.Ledger, moveOf("web-1")
	moves.Record(time.Unix(100, 0), move.Intent)
	moves.BeginSurge("uid-web-1", ledger.Surge{Deployment: "web", Replicas: 1})
	pod := ledger.Pod{UID: "uid-new", Namespace: "ns", Name: "new", OwnerUID: "rs-1", OwnerKind: "ReplicaSet", TemplateHash: "h1"}
	if _, ok := moves.Bound(pod, "cool", time.Unix(101, 0)); !ok {
		t.Fatal("the replacement was not recognised")
	}
	if err := through(t.Context(), gate, move); err != nil {
		t.Fatal(err)
	}
	inFlight, ended := moves.Moves()
	if len(inFlight) > 0 || len(ended) != 1 || ended[0].Evicted.IsZero() {
		t.Errorf("in flight %+v, ended %+v, want one that has landed and was evicted", inFlight, ended)
	}
	if third, taken := moves.Match(ledger.Pod{UID: "uid-3", Namespace: "ns", OwnerUID: "rs-1", TemplateHash: "h1"}, time.Unix(102, 0)); taken {
		t.Errorf("a third pod took up %+v", third)
	}
}
