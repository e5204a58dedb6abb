package evictor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/ledger"
)

var (
	errForbidden = apierrors.NewForbidden(deployments, "web-a", errors.New("no such right"))
	errConflict  = apierrors.NewConflict(deployments, "web-a", errors.New("it has changed"))
	errSilence   = errors.New("connection reset by peer")
)

// Scenes of a surge. The ledger is announced for half a second at the beginning of the cycle, and again for the surge, so
// that the Deployment is scaled up at 1.1 s; its replacement is bound 1.9 s later and ready 3 s after that.
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
			play:  func(p *surgePlay) { p.readyIn, p.config.Deadline = -1, 10*time.Second },
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
				p.config.Recheck = func(*Move) Reason {
					if time.Since(p.start) > 4*time.Second {
						return SourceNotHot
					}
					return ""
				}
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
				p.config.Gate.config.Paused = func(context.Context) error { return &Refusal{Paused, "by hand"} }
			},
			want: []string{"a: Paused"},
		},
		"a Lease that is lost before it begins": {
			play: func(p *surgePlay) { p.config.Gate.config.Leads = func() error { return errSilence } },
			want: []string{"a: NotLeader"},
		},
		"a ledger that cannot be stored": {
			play: func(p *surgePlay) {
				stored := 0
				p.config.Gate.config.Commit = func(context.Context) error {
					if stored++; stored == 2 {
						return errSilence
					}
					return nil
				}
			},
			want: []string{"a: LedgerUnwritable"},
		},
		"nobody to scale": {
			play: func(p *surgePlay) { p.config.Scaler = nil },
			want: []string{"a: SurgeFailed"},
		},
		"a dry run scales nothing and waits for no budget": {
			play: func(p *surgePlay) {
				p.budget("web", 0, "1")
				p.config.Gate.config.DryRun = true
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
				if !tc.open && !p.config.Gate.config.DryRun {
					p.settled(t)
				}
			})
		})
	}
}

// Told to end at any moment, the Deployment is as it was, and the ledger says so.
func TestSurgeStops(t *testing.T) {
	cases := map[string]struct {
		after time.Duration
		play  func(*surgePlay)
		want  []string
		calls []string
	}{
		"while it is announced":           {after: 800 * time.Millisecond, want: []string{"a: CycleDeadline"}},
		"before the replacement is bound": {after: 2 * time.Second, want: []string{"a: CycleDeadline"}, calls: []string{"web-a to 2@1.1", "web-a to 1@2.0"}},
		"before the replacement is ready": {after: 4 * time.Second, want: []string{"a: CycleDeadline"}, calls: []string{"web-a to 2@1.1", "web-a to 1@4.0"}},
		"while the eviction is refused": {
			after: 7 * time.Second,
			play:  func(p *surgePlay) { p.answers["a"] = []error{tooMany(60)} },
			want:  []string{"a: CycleDeadline"},
			calls: []string{"web-a to 2@1.1", "!evict a@6.1", "web-a to 1@7.0"},
		},
		"while it is scaled up: the answer is waited for": {
			after: 2 * time.Second,
			play:  func(p *surgePlay) { p.setTakes = 3 * time.Second },
			want:  []string{"a: CycleDeadline"},
			calls: []string{"web-a to 2@4.1", "web-a to 1@7.1"},
		},
		"while it is scaled back": {
			after: 12 * time.Second, // scaled up from 1.1 to 4.1 s, so evicted at 9.1 s
			play:  func(p *surgePlay) { p.setTakes = 3 * time.Second },
			want:  []string{"a"},
			calls: []string{"web-a to 2@4.1", "evict a@9.1", "web-a to 1@15.1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			surging(t, func(t *testing.T, p *surgePlay) {
				if tc.play != nil {
					tc.play(p)
				}
				ctx, cancel := context.WithCancel(t.Context())
				p.after(tc.after, cancel)
				if diff := cmp.Diff(tc.want, p.run(ctx, "a")); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.calls, p.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				p.settled(t)
				time.Sleep(20 * time.Minute)
			})
		})
	}
}

// An API server that does not answer any more holds the end of the process up for five seconds, not for ever; the
// successor finds the surge in the ledger.
func TestSurgeLeavesWhatItCannotScaleBack(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		ctx, cancel := context.WithCancel(t.Context())
		p.after(4*time.Second, func() {
			p.mu.Lock()
			p.setTakes = time.Minute
			p.mu.Unlock()
			cancel()
		})
		p.config.Scaler = hanging{p}
		p.run(ctx, "a")
		if took := time.Since(p.start); took > 4*time.Second+scaleBackTimeout {
			t.Errorf("it took %v", took)
		}
		open := p.ledger.Surges()
		if len(open) != 1 || *open[0].Surge != (ledger.Surge{Deployment: "web-a", Replicas: 1}) {
			t.Fatalf("surges %+v, want that of web-a", open)
		}
		p.setTakes = 0
		if _, err := ScaleBack(t.Context(), p, open[0].Namespace, *open[0].Surge); err != nil || p.wants["web-a"] != 1 {
			t.Errorf("the successor: %v, %d replicas", err, p.wants["web-a"])
		}
		time.Sleep(20 * time.Minute)
	})
}

// hanging is a Scaler whose calls end with their context.
type hanging struct{ *surgePlay }

func (h hanging) SetScale(ctx context.Context, namespace, deployment string, to Scale) error {
	h.mu.Lock()
	takes := h.setTakes
	h.mu.Unlock()
	if takes > 0 {
		sleep(ctx, takes)
		return ctx.Err()
	}
	return h.surgePlay.SetScale(ctx, namespace, deployment, to)
}

// No more than five Deployments are scaled up at a time, and all get their turn.
func TestSurgesAtATime(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
		if got := p.run(t.Context(), names...); len(got) != len(names) || p.most != maxSurges {
			t.Errorf("%v moved, up to %d at a time, want all and up to %d", got, p.most, maxSurges)
		}
		p.settled(t)
	})
}

// Other moves go on while a surge waits.
func TestSurgeHoldsNobodyUp(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		executor, err := NewExecutor(p.config)
		if err != nil {
			t.Fatal(err)
		}
		p.wants["web-a"] = 1
		for _, name := range []string{"a", "b", "c"} {
			p.alive[name] = aPod(name)
		}
		other := func(name string) Move {
			move := surgeOf(name)
			move.Surge = ""
			return move
		}
		for _, outcome := range executor.Run(t.Context(), []Move{surgeOf("a"), other("b"), other("c")}, p.evictOne) {
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

// A landing is a probe for which nobody had to be evicted.
func TestSurgeAsAProbe(t *testing.T) {
	cases := map[string]struct {
		steered Steered
		want    []string
		calls   []string
	}{
		"steered":  {SteeredYes, []string{"a"}, []string{"web-a to 2@1.1", "evict a@6.1", "web-a to 1@6.1"}},
		"unproven": {SteeredUnproven, []string{"a"}, []string{"web-a to 2@1.1", "evict a@6.1", "web-a to 1@6.1"}},
		"absent":   {SteeredNo, []string{"a: SteeringAbsent"}, []string{"web-a to 2@1.1", "web-a to 1@3.1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			surging(t, func(t *testing.T, p *surgePlay) {
				asked := 0
				p.config.Steered = func(_ context.Context, move ledger.Move) Steered {
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

// A budget that forbids to move the only pod may allow it once there are two.
func TestNeverWithSurge(t *testing.T) {
	budget := func(minAvailable, maxUnavailable string, pods, desired int32) *policyv1.PodDisruptionBudget {
		pdb := &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: pods, DesiredHealthy: desired}}
		if minAvailable != "" {
			value := intstr.Parse(minAvailable)
			pdb.Spec.MinAvailable = &value
		}
		if maxUnavailable != "" {
			value := intstr.Parse(maxUnavailable)
			pdb.Spec.MaxUnavailable = &value
		}
		return pdb
	}
	cases := map[string]struct {
		pdb  *policyv1.PodDisruptionBudget
		want bool
	}{
		"one of one":                    {budget("1", "", 1, 1), false},
		"two of one":                    {budget("2", "", 1, 2), true},
		"half of one, rounded up":       {budget("50%", "", 1, 1), false},
		"51 percent of two is two":      {budget("51%", "", 1, 1), true},
		"all of one":                    {budget("100%", "", 1, 1), true},
		"none may be missing":           {budget("", "0", 1, 1), true},
		"one may be missing":            {budget("", "1", 1, 0), false},
		"half of one may be missing":    {budget("", "50%", 1, 0), false},
		"neither is said":               {budget("", "", 1, 1), false},
		"what cannot be read is all":    {budget("many", "", 1, 1), true},
		"a budget over several owners":  {budget("5", "", 5, 5), false},
		"a budget with room as it is":   {budget("1", "", 3, 1), false},
		"a budget that selects nothing": {budget("100%", "", 0, 0), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := NeverWithSurge(tc.pdb); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// The Gate takes a pod whose replacement has landed for one that is on record.
func TestGateEvictsAfterASurge(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	gate := newGate(t, a)
	moves, move := gate.config.Ledger, moveOf("web-1")
	moves.Record(time.Unix(100, 0), move.Intent)
	moves.BeginSurge("uid-web-1", ledger.Surge{Deployment: "web", Replicas: 1})
	pod := ledger.Pod{UID: "uid-new", Name: "new", OwnerUID: "rs-1", OwnerKind: "ReplicaSet", TemplateHash: "h1"}
	if _, ok := moves.Bound(pod, "cool", time.Unix(101, 0)); !ok {
		t.Fatal("the replacement was not recognised")
	}
	if _, err := through(t, gate, move); err != nil {
		t.Fatal(err)
	}
	inFlight, ended := moves.Moves()
	if len(inFlight) > 0 || len(ended) != 1 || ended[0].Evicted.IsZero() {
		t.Errorf("in flight %+v, ended %+v, want one that has landed and was evicted", inFlight, ended)
	}
	if third, taken := moves.Match(ledger.Pod{UID: "uid-3", OwnerUID: "rs-1", TemplateHash: "h1"}, time.Unix(102, 0)); taken {
		t.Errorf("a third pod took up %+v", third)
	}
}
