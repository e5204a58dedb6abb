package safeguards

import (
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/reasons"
)

func TestUnrest(t *testing.T) {
	breaker := Breaker{MaxDrainingPercent: 10, MaxUnschedulablePercent: 2, StandBack: 30 * time.Minute}
	calm := Stir{Nodes: 50, Draining: 1, Pods: 1000, Waiting: 3}
	with := func(change func(*Stir)) Stir {
		s := calm
		change(&s)
		return s
	}
	drained := with(func(s *Stir) { s.Draining = 6 })
	crowd := with(func(s *Stir) { s.Waiting = 30 })
	// Each step lasts for some minutes.
	type step struct {
		minutes int
		stir    Stir
	}
	cases := map[string]struct {
		steps []step
		want  reasons.Reason
	}{
		"calm":                            {[]step{{90, calm}}, ""},
		"a wave of drains":                {[]step{{20, calm}, {5, drained}}, reasons.NodesDraining},
		"a wave that ends":                {[]step{{20, calm}, {5, drained}, {1, calm}}, ""},
		"one that never ends":             {[]step{{20, calm}, {40, drained}}, ""},
		"the next one soon after it":      {[]step{{40, drained}, {1, calm}, {1, drained}}, ""},
		"the next one after a calm":       {[]step{{40, drained}, {31, calm}, {1, drained}}, reasons.NodesDraining},
		"waves that come and go, early":   {[]step{{5, drained}, {5, calm}, {5, drained}}, reasons.NodesDraining},
		"waves that come and go":          {[]step{{5, drained}, {10, calm}, {5, drained}, {10, calm}, {5, drained}}, ""},
		"pods that come and go":           {[]step{{60, calm}, {10, crowd}, {15, calm}, {10, crowd}, {2, crowd}}, ""},
		"a wave from the start":           {[]step{{1, drained}}, reasons.NodesDraining},
		"one node of three":               {[]step{{5, Stir{Nodes: 3, Draining: 1, Pods: 30}}}, ""},
		"two nodes of three":              {[]step{{5, Stir{Nodes: 3, Draining: 2, Pods: 30}}}, reasons.NodesDraining},
		"many more wait":                  {[]step{{60, calm}, {5, crowd}}, reasons.PodsUnschedulable},
		"as many wait as ever":            {[]step{{90, crowd}}, ""},
		"as many as at the start":         {[]step{{1, crowd}}, ""},
		"they stay":                       {[]step{{60, calm}, {45, crowd}}, ""},
		"four more in a small cluster":    {[]step{{60, Stir{Nodes: 3, Pods: 30}}, {5, Stir{Nodes: 3, Pods: 34, Waiting: 4}}}, ""},
		"many more of which few are new":  {[]step{{60, with(func(s *Stir) { s.Waiting = 200 })}, {5, with(func(s *Stir) { s.Waiting = 210 })}}, ""},
		"a cluster without nodes or pods": {[]step{{5, Stir{}}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u, at := &Unrest{}, noon
			for _, s := range tc.steps {
				for range s.minutes * 4 {
					at = at.Add(15 * time.Second)
					if !u.Due(at) {
						t.Fatal("not due after 15 s")
					}
					u.Observe(s.stir, breaker.MaxDrainingPercent, breaker.MaxUnschedulablePercent, breaker.StandBack, at)
				}
			}
			v := New(Config{Breaker: breaker}).At(Facts{Unrest: u}, at)
			got, detail := v.Closed()
			if got != tc.want {
				t.Errorf("closed by %q (%s), want %q", got, detail, tc.want)
			}
			if got != "" && (v.Until().Before(at) || v.Until().After(at.Add(30*time.Minute)) || !strings.Contains(detail, "%")) {
				t.Errorf("until %v at %v, %q", v.Until(), at, detail)
			}
			if len(u.hour) > 61 {
				t.Errorf("%d minutes are kept", len(u.hour))
			}
		})
	}
}

func TestUnrestOfAClockThatIsSetBack(t *testing.T) {
	u, breaker := &Unrest{}, Breaker{MaxDrainingPercent: 10, StandBack: time.Hour}
	u.Observe(Stir{Nodes: 10, Draining: 5}, breaker.MaxDrainingPercent, breaker.MaxUnschedulablePercent, breaker.StandBack, noon)
	earlier := noon.Add(-24 * time.Hour)
	if !u.Due(earlier) {
		t.Error("not due at an earlier time")
	}
	u.Observe(Stir{Nodes: 10, Draining: 5}, breaker.MaxDrainingPercent, breaker.MaxUnschedulablePercent, breaker.StandBack, earlier)
	if !u.draining.began.Equal(earlier) {
		t.Errorf("draining since %v, want %v", u.draining, earlier)
	}
}
