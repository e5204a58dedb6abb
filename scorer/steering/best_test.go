package steering

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// way is a way to steer.
type way struct {
	asked  int64
	absent error
	proven bool
	used   int
	// settled counts the calls of Settle.
	settled int
}

func (w *way) Proven(context.Context) (bool, error) { return w.proven, w.absent }

func (w *way) Restricts(*ledger.Leaving) bool { return false }

func (w *way) Ready(context.Context, *ledger.Leaving) (reasons.Reason, bool) {
	w.used++
	return "", false
}

func (w *way) Undo(context.Context, *ledger.Intent)                      {}
func (w *way) Settle(context.Context)                                    { w.settled++ }
func (w *way) Proves(context.Context, *ledger.Move) (unset ledger.Proof) { return unset }
func (w *way) Asked(context.Context) int64                               { return w.asked }

// Each cycle is steered in the best proven way: by the extender while it is asked, otherwise by the
// API server, otherwise by the extender after a probe. The probe is an eviction. While the extender
// is not asked, it happens only if the API server is not set up to steer.
func TestBestSteering(t *testing.T) {
	absent, broken := fmt.Errorf("%w: no right to write Steerings", ledger.ErrNotInstalled), errors.New("a pod with a key passes as it is")
	type step struct {
		asked      int64
		absent     error
		wantProven bool
		wantServer bool // the API server steers
		wantHold   bool
	}
	cases := map[string][]step{
		"no requests, and the API server steers": {{wantProven: true, wantServer: true}, {wantProven: true, wantServer: true}},
		"neither":                                {{absent: absent}, {absent: absent}},
		"kube-scheduler asks":                    {{asked: 1}, {asked: 2}},
		"kube-scheduler no longer asks":          {{asked: 5}, {asked: 5, wantProven: true, wantServer: true}},
		"kube-scheduler begins to ask":           {{wantProven: true, wantServer: true}, {asked: 3}},
		"the API server begins to steer":         {{absent: absent}, {wantProven: true, wantServer: true}},
		"the API server should steer, and does not": {
			{absent: broken, wantHold: true}, {absent: broken, wantHold: true}, {wantProven: true, wantServer: true}, {absent: broken, wantHold: true},
		},
		"it does not, and kube-scheduler has asked":   {{asked: 3}, {asked: 3, absent: broken}, {asked: 4, absent: broken}},
		"the extender started anew and is asked less": {{asked: 9}, {asked: 2, wantProven: true, wantServer: true}, {asked: 3}},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			extender, server := &way{}, &way{proven: true}
			best := &Best{Extender: extender, Admission: server}
			for i, s := range steps {
				extender.asked, server.absent, extender.used, server.used = s.asked, s.absent, 0, 0
				proven, err := best.Proven(t.Context())
				best.Ready(t.Context(), &ledger.Leaving{})
				if proven != s.wantProven || s.wantHold != errors.Is(err, broken) || err != nil && !s.wantHold || server.used > 0 != s.wantServer || extender.used > 0 == s.wantServer {
					t.Errorf("step %d: proven %v, error %v, by the API server %v", i, proven, err, server.used > 0)
				}
			}
		})
	}
}

// Keys of an earlier cycle or of another process are cleared even while kube-scheduler asks the
// extender.
func TestBestSettlesBoth(t *testing.T) {
	extender, server := &way{asked: 1}, &way{proven: true}
	best := &Best{Extender: extender, Admission: server}
	for i, step := range []struct {
		asked int64
		want  int
	}{{1, 1}, {1, 2}, {2, 3}} {
		extender.asked = step.asked
		if _, err := best.Proven(t.Context()); err != nil {
			t.Fatal(err)
		}
		if best.Settle(t.Context()); server.settled != step.want {
			t.Errorf("step %d: settled %d times, want %d", i, server.settled, step.want)
		}
	}
}
