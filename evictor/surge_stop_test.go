package evictor

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
)

// Told to end at any moment, the Deployment is as it was, and the ledger says
// so.
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

// An API server that does not answer any more holds the end of the process up
// for five seconds, not for ever; the successor finds the surge in the ledger.
func TestSurgeLeavesWhatItCannotscaleBack(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		ctx, cancel := context.WithCancel(t.Context())
		p.after(4*time.Second, func() {
			p.mu.Lock()
			p.setTakes = time.Minute
			p.mu.Unlock()
			cancel()
		})
		p.config.scaler = hanging{p}
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
		Sleep(ctx, takes)
		return ctx.Err()
	}
	return h.surgePlay.SetScale(ctx, namespace, deployment, to)
}
