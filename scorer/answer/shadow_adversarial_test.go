package answer

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// What is remembered stays bounded in pods and in nodes, and the newest is
// never what makes room.
func TestQuestionsAreBounded(t *testing.T) {
	cases := map[string]struct {
		nodes []int // of the requests, one after the other
		want  []string
	}{
		"as many pods as there may be":     {[]int{1, 1, 1}, []string{"0", "1", "2"}},
		"one more":                         {[]int{1, 1, 1, 1}, []string{"1", "2", "3"}},
		"as many nodes as there may be":    {[]int{4, 6}, []string{"0", "1"}},
		"one node more":                    {[]int{4, 7}, []string{"1"}},
		"all make room for a large one":    {[]int{4, 4, 10}, []string{"2"}},
		"one alone may be larger":          {[]int{4, 1000}, []string{"1"}},
		"which goes when the next comes":   {[]int{1000, 1}, []string{"1"}},
		"a request without nodes is small": {[]int{10, 0, 0}, []string{"0", "1", "2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := newQuestions(3, 10)
			kept := map[string]bool{}
			for i, nodes := range tc.nodes {
				uid := fmt.Sprint(i)
				kept[uid] = true
				for _, dropped := range q.add(&question{uid: uid, answers: make([]answer, nodes)}) {
					delete(kept, dropped.uid)
				}
			}
			want, held := map[string]bool{}, map[string]bool{}
			for _, uid := range tc.want {
				want[uid] = true
			}
			for uid := range q.uids() {
				held[uid] = true
			}
			if diff := cmp.Diff(want, held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, kept); diff != "" {
				t.Errorf("not told as dropped (-want +got):\n%s", diff)
			}
		})
	}
}

// However requests come, go and are repeated, the bounds hold and what is
// counted is what is there.
func TestQuestionsCountRight(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	q, start := newQuestions(20, 500), time.Unix(0, 0)
	for step := range 20_000 {
		uid := fmt.Sprint(rng.IntN(60))
		switch rng.IntN(4) {
		case 0:
			q.take(uid)
		case 1:
			q.expire(start.Add(time.Duration(step-rng.IntN(100)) * time.Second))
		default:
			q.add(&question{uid: uid, at: start.Add(time.Duration(step) * time.Second), answers: make([]answer, rng.IntN(100))})
		}
		answers := 0
		for e := q.order.Front(); e != nil; e = e.Next() {
			held, _ := e.Value.(*question)
			answers += len(held.answers)
		}
		if answers != q.answers || answers > 500 || q.len() > 20 || q.len() != len(q.byUID) {
			t.Fatalf("step %d: %d pods by order, %d by UID, %d answers counted as %d", step, q.len(), len(q.byUID), answers, q.answers)
		}
	}
}

// A pod that is not seen for ten minutes after it was last asked for is given
// up, one that is asked for again is not.
func TestUnbound(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	asks(t, s, "filter", strange("gone", 1000), everyNode...)
	asks(t, s, "filter", strange("waiting", 1000), everyNode...)
	b.now = b.now.Add(6 * time.Minute)
	asks(t, s, "filter", strange("waiting", 1000), everyNode...)
	b.now = b.now.Add(4*time.Minute + time.Second)
	s.Settle(b.observer.Latest())
	got := s.Summary()
	if got.Pending != 1 || got.Placements[Unbound] != 1 {
		t.Errorf("summary %+v, want one given up", got)
	}
	b.now = b.now.Add(-time.Hour) // a clock set back gives up nobody
	if s.Settle(b.observer.Latest()); s.Summary().Pending != 1 {
		t.Errorf("summary %+v, want one pending still", s.Summary())
	}
}

// More pods than are remembered: the oldest are counted as dropped, the newest
// placements are shown.
func TestMorePodsThanAreRemembered(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	const extra = 10
	for i := range maxQuestions + extra {
		uid := fmt.Sprintf("p%05d", i)
		asks(t, s, "filter", strange(uid, 1000), "cool", "warm")
		b.place(uid, "cool")
	}
	if got := s.Summary(); got.Pending != maxQuestions || got.Placements[Dropped] != extra {
		t.Errorf("%d pending and %d dropped, want %d and %d", got.Pending, got.Placements[Dropped], maxQuestions, extra)
	}
	b.sample()
	if got := len(s.Settle(b.observer.Latest())); got != maxQuestions {
		t.Errorf("%d placements, want %d", got, maxQuestions)
	}
	recent := s.Report().Recent
	if len(recent) != maxPlacements || recent[0].Pod != fmt.Sprintf("p%05d", maxQuestions+extra-1) {
		t.Errorf("%d placements shown, the newest of %q", len(recent), recent[0].Pod)
	}
}

// Requests that make little sense are answered neutrally and cost nothing that
// lasts.
func TestShadowOfOddRequests(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	cases := map[string]struct {
		pod     *extender.Pod
		names   []string
		pending int
	}{
		"a pod without UID":   {strange("", 1000), everyNode, 0},
		"an empty pod":        {&extender.Pod{}, everyNode, 0},
		"no nodes":            {strange("p", 1000), nil, 1},
		"the same node twice": {strange("p", 1000), []string{"hot", "hot", "cool", "cool"}, 1},
		"names without end":   {strange("p", 1000), make([]string, 10_000), 1},
		"an absurd request":   {strange("p", 1<<62), everyNode, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asks(t, s, "filter", tc.pod, tc.names...)
			asks(t, s, "prioritize", tc.pod, tc.names...)
			if got := s.Summary().Pending; got != tc.pending {
				t.Errorf("%d pending, want %d", got, tc.pending)
			}
			s.pending.take("p")
		})
	}
}

// Requests, observations and reports at once; for the race detector.
func TestShadowAtOnce(t *testing.T) {
	b := shadowed(t)
	s, _ := newShadow(t, b)
	latest := b.observer.Latest()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 200 {
				asks(t, s, "filter", strange(fmt.Sprintf("p-%d-%d", worker, i), 1000), everyNode...)
				if i%50 == 0 {
					s.Settle(latest)
					s.Report()
				}
			}
		})
	}
	all.Wait()
	if got := s.Summary(); got.Asked != 800 || got.Pending != 800 {
		t.Errorf("summary %+v, want 800 of each", got)
	}
}
