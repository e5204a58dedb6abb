package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/status/announce"
)

const (
	landingsInterval = 5 * time.Minute
	// A loop shows in manyCycles; right evictions are made in fewCycles.
	fewCycles, manyCycles = 3, 20
	// searchDepth is how many evictions an exact search tries one after the other.
	searchDepth = 2
)

// played is what became of a scenario.
type played struct {
	// per are the evictions of each interval.
	per     []int
	evicted []left
	landed  []landed
}

func (s *stage) played(intervals int) *played {
	p := &played{per: make([]int, intervals), evicted: s.evicted, landed: s.landed}
	for _, e := range s.evicted {
		p.per[min(int(e.at.Sub(s.began)/landingsInterval), intervals-1)]++
	}
	return p
}

// pods returns which pods were evicted: replicas of a workload on a node are
// interchangeable.
func (p *played) pods() []string {
	all := []string{}
	for _, e := range p.evicted {
		all = append(all, e.workload+" on "+e.node)
	}
	slices.Sort(all)
	return all
}

// playUpstream runs cycles of upstream's descheduler.
func playUpstream(t *testing.T, s *landings.Scenario, cycles int) (got *played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stage := newStage(ctx, t, s)
		d := newUnwrapped(ctx, t, s, stage, stage.pods)
		for range cycles {
			next := time.After(landingsInterval)
			if err := d.run(ctx); err != nil {
				t.Fatal(err)
			}
			<-next
		}
		got = stage.played(cycles)
		stop()
		time.Sleep(time.Minute) // until what kube-scheduler's plugins have started has ended
	})
	return got
}

// playEvenkeel runs a process of ours for some intervals. steered: kube-scheduler asks it as its extender.
func playEvenkeel(t *testing.T, s *landings.Scenario, intervals int, steered bool) (got *played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stage := newStage(ctx, t, s)
		setup := offline(t, stage, s.Policy, func(o *flags.Options) { o.Interval, o.Namespace = landingsInterval, "kube-system" })
		e, err := newEvicting(ctx, setup, &announce.Unsent{FakeRecorder: events.FakeRecorder{}}, steered)
		if err != nil {
			t.Fatal(err)
		}
		if steered {
			stage.answerer = e.steering.planner
		}
		if err := errors.Join(e.complete(ctx, e.current()), e.startInformers(ctx)); err != nil {
			t.Fatal(err)
		}
		e.tell(e.current())
		group, running := errgroup.WithContext(ctx)
		group.Go(func() error { return e.observe(running) })
		group.Go(func() error { return e.cycles(running) })
		time.Sleep(time.Duration(intervals)*landingsInterval - time.Second)
		got = stage.played(intervals)
		stop()
		if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		e.stop()
		time.Sleep(time.Minute)
	})
	return got
}

// Upstream's descheduler evicts without end on each cluster of a report, while an exact search
// finds that no eviction helps, or few do.
func TestReportedLoops(t *testing.T) {
	for i := range landings.Reported {
		s := &landings.Reported[i]
		t.Run(s.Name, func(t *testing.T) {
			if got := playUpstream(t, s, manyCycles).per; slices.Contains(got, 0) {
				t.Errorf("upstream's evictions end, by cycle: %v", got)
			}
			for want, steered := range map[*landings.Fewest]bool{&s.Placed: false, &s.Steered: true} {
				if diff := cmp.Diff(*want, newSearch(t.Context(), t, s, steered).run(searchDepth)); diff != "" {
					t.Errorf("search, steered %v (-want +got):\n%s", steered, diff)
				}
			}
		})
	}
}

// Where upstream's plugins ask for the right evictions, the same pods are evicted, whether replacements are
// steered or not.
func TestRightEvictionsAreMade(t *testing.T) {
	for i := range landings.Right {
		s := &landings.Right[i]
		t.Run(s.Name, func(t *testing.T) {
			want := playUpstream(t, s, fewCycles).pods()
			if len(want) == 0 {
				t.Fatal("upstream evicts nothing, that shows nothing")
			}
			for _, steered := range []bool{false, true} {
				if diff := cmp.Diff(want, playEvenkeel(t, s, fewCycles, steered).pods()); diff != "" {
					t.Errorf("steered %v: evicted (-upstream +evenkeel):\n%s", steered, diff)
				}
			}
		})
	}
}
