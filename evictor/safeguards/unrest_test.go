package safeguards

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// scene describes changes made by others during some minutes. If it has more draining nodes or
// waiting pods than the previous scene, the additional ones are new unless old is set.
type scene struct {
	minutes                                 int
	nodes, draining, pods, waiting, parties int
	old                                     bool
}

// timeline plays scenes for an Unrest. If lasts is set, one process sees all of them. Otherwise
// each look is by a new process.
func timeline(scenes []scene, breaker *Breaker, lasts bool, look func(*Unrest, time.Time)) {
	u, memory, at := &Unrest{}, ledger.Unrest{}, noon
	for _, s := range scenes {
		began := at
		if s.old {
			began = at.Add(-24 * time.Hour)
		}
		for range s.minutes * 4 {
			at = at.Add(15 * time.Second)
			if !lasts {
				u = &Unrest{}
			}
			stir := Stir{Nodes: s.nodes, Draining: map[string]time.Time{}, Pods: s.pods}
			for i := range s.draining {
				stir.Draining[fmt.Sprint("n", i)] = began
			}
			for i := range s.waiting {
				stir.Waiting = append(stir.Waiting, Waiting{Whose: Whose{fmt.Sprint("ns-", i%s.parties), fmt.Sprint("rs-", i%s.parties)}, Since: began})
			}
			u.Recall(memory)
			u.Observe(stir, breaker, at)
			memory = u.Memory()
			look(u, at)
		}
	}
}

func TestUnrest(t *testing.T) {
	breaker := Breaker{MaxDrainingPercent: 10, MaxUnschedulablePercent: 2, StandBack: 30 * time.Minute}
	lasting := func(minutes int, change func(*scene)) scene {
		s := scene{minutes: minutes, nodes: 50, draining: 1, pods: 1000, waiting: 3, parties: 5}
		change(&s)
		return s
	}
	calm := func(minutes int) scene { return lasting(minutes, func(*scene) {}) }
	drained := func(minutes int) scene { return lasting(minutes, func(s *scene) { s.draining = 6 }) }
	crowd := func(minutes int) scene { return lasting(minutes, func(s *scene) { s.waiting = 30 }) }
	cases := map[string]struct {
		scenes []scene
		want   reasons.Reason
	}{
		"calm":                             {[]scene{calm(90)}, ""},
		"a wave of drains":                 {[]scene{calm(20), drained(5)}, reasons.NodesDraining},
		"a wave that ends":                 {[]scene{calm(20), drained(5), calm(1)}, ""},
		"one that never ends":              {[]scene{calm(20), drained(40)}, ""},
		"the next one soon after it":       {[]scene{drained(40), calm(1), drained(1)}, ""},
		"the next one after a calm":        {[]scene{drained(40), calm(31), drained(1)}, reasons.NodesDraining},
		"early waves that end":             {[]scene{drained(5), calm(5), drained(5)}, reasons.NodesDraining},
		"waves that end":                   {[]scene{drained(5), calm(10), drained(5), calm(10), drained(5)}, ""},
		"pods that come and go":            {[]scene{calm(60), crowd(10), calm(15), crowd(10), crowd(2)}, ""},
		"half an hour on and off":          {[]scene{crowd(30), calm(30), crowd(30), calm(30), crowd(5)}, ""},
		"pods that come after a long time": {[]scene{crowd(30), calm(151), crowd(5)}, reasons.PodsUnschedulable},
		"a wave from the start":            {[]scene{drained(1)}, reasons.NodesDraining},
		"cordoned for good":                {[]scene{lasting(5, func(s *scene) { s.draining, s.old = 20, true })}, ""},
		"one node of three":                {[]scene{{minutes: 5, nodes: 3, draining: 1, pods: 30}}, ""},
		"two nodes of three":               {[]scene{{minutes: 5, nodes: 3, draining: 2, pods: 30}}, reasons.NodesDraining},
		"many more wait":                   {[]scene{calm(60), crowd(5)}, reasons.PodsUnschedulable},
		"as many wait as ever":             {[]scene{lasting(90, func(s *scene) { s.waiting, s.old = 30, true })}, ""},
		"a rush from the start":            {[]scene{crowd(1)}, reasons.PodsUnschedulable},
		"they stay":                        {[]scene{calm(60), crowd(45)}, ""},
		"of one owner":                     {[]scene{lasting(5, func(s *scene) { s.waiting, s.parties = 500, 1 })}, ""},
		"of two owners and namespaces":     {[]scene{lasting(5, func(s *scene) { s.waiting, s.parties = 500, 2 })}, ""},
		"of three owners and namespaces":   {[]scene{lasting(5, func(s *scene) { s.waiting, s.parties = 60, 3 })}, reasons.PodsUnschedulable},
		"four more in a small cluster":     {[]scene{{minutes: 60, nodes: 3, pods: 30}, {minutes: 5, nodes: 3, pods: 34, waiting: 4, parties: 4}}, ""},
		"a cluster without nodes or pods":  {[]scene{{minutes: 5}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, lasts := range []bool{true, false} {
				var u *Unrest
				var at time.Time
				timeline(tc.scenes, &breaker, lasts, func(now *Unrest, when time.Time) { u, at = now, when })
				v := New(Config{Breaker: breaker}).At(Facts{Unrest: u}, at)
				got, detail := v.Closed()
				if got != tc.want {
					t.Errorf("closed by %q (%s), want %q; one process: %t", got, detail, tc.want, lasts)
				}
				if got != "" && (v.Until().Before(at) || v.Until().After(at.Add(30*time.Minute)) || !strings.Contains(detail, "%")) {
					t.Errorf("until %v at %v, %q", v.Until(), at, detail)
				}
				if got == reasons.PodsUnschedulable && !strings.Contains(detail, `most in "ns-0"`) {
					t.Errorf("%q does not say whose they are", detail)
				}
			}
		})
	}
}

// A rush that comes and goes every half hour, of however many owners, stops evicting only once, not
// for half of the day.
func TestARushThatComesAndGoes(t *testing.T) {
	breaker := Breaker{MaxUnschedulablePercent: 2, StandBack: 30 * time.Minute}
	var day []scene
	for range 24 {
		day = append(day, scene{minutes: 30, nodes: 50, pods: 1000, waiting: 60, parties: 6}, scene{minutes: 30, nodes: 50, pods: 1000})
	}
	closed := 0
	timeline(day, &breaker, true, func(u *Unrest, at time.Time) {
		if reason, _ := New(Config{Breaker: breaker}).At(Facts{Unrest: u}, at).Closed(); reason != "" {
			closed++
		}
	})
	if minutes := closed / 4; minutes > 30 {
		t.Errorf("closed for %d of 1440 minutes, want 30 at most", minutes)
	}
}

// Nodes whose taints have no time count from when any process first saw them. Nodes that were seen
// at the very first look do not count, because they may have been draining for long.
func TestNodesThatDrainSinceNobodyKnowsWhen(t *testing.T) {
	breaker := Breaker{MaxDrainingPercent: 10, StandBack: 30 * time.Minute}
	var memory ledger.Unrest
	look := func(after time.Duration, nodes ...string) reasons.Reason {
		u, stir := &Unrest{}, Stir{Nodes: 10, Draining: map[string]time.Time{}}
		for _, name := range nodes {
			stir.Draining[name] = time.Time{}
		}
		u.Recall(memory)
		u.Observe(stir, &breaker, noon.Add(after))
		memory = u.Memory()
		reason, _ := New(Config{Breaker: breaker}).At(Facts{Unrest: u}, noon.Add(after)).Closed()
		return reason
	}
	for _, step := range []struct {
		after time.Duration
		nodes []string
		want  reasons.Reason
	}{
		{0, []string{"a", "b"}, ""},
		{time.Hour, []string{"a", "b", "c"}, ""},
		{61 * time.Minute, []string{"a", "b", "c", "d"}, reasons.NodesDraining},
		{80 * time.Minute, []string{"a", "b", "c", "d"}, reasons.NodesDraining},
		{2 * time.Hour, []string{"a", "b", "c", "d"}, ""},
		{3 * time.Hour, nil, ""},
		{4 * time.Hour, []string{"a", "b"}, reasons.NodesDraining},
	} {
		if got := look(step.after, step.nodes...); got != step.want {
			t.Errorf("after %v with %v: closed by %q, want %q", step.after, step.nodes, got, step.want)
		}
	}
}

func TestUnrestOfAClockThatIsSetBack(t *testing.T) {
	u, breaker := &Unrest{}, &Breaker{MaxDrainingPercent: 10, StandBack: time.Hour}
	observe := func(at time.Time) {
		u.Observe(Stir{Nodes: 10, Draining: map[string]time.Time{"a": at, "b": at}}, breaker, at)
	}
	observe(noon)
	earlier := noon.Add(-24 * time.Hour)
	if !u.Due(earlier) {
		t.Error("not due at an earlier time")
	}
	observe(earlier)
	if !u.Memory().Draining.Began.Equal(earlier) {
		t.Errorf("draining since %v, want %v", u.Memory().Draining, earlier)
	}
}
