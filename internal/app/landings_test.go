package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/status/announce"
)

const (
	landingsInterval = 5 * time.Minute
	// A loop becomes visible within manyCycles; evictions that help are made within fewCycles.
	fewCycles, manyCycles = 3, 20
	// searchDepth is the number of consecutive evictions that an exact search tries. A depth of 4
	// has the same results.
	searchDepth = 2
)

// played records what happened in a scenario.
type played struct {
	// per holds the number of evictions in each interval.
	per     []int
	evicted []left
	landed  []landed
	// missed is the number of planned replacements that are not where they were planned.
	missed int
}

// after returns how many evictions there were in the first cycles.
func (p *played) after(cycles int) (n int) {
	for _, made := range p.per[:cycles] {
		n += made
	}
	return n
}

func (s *stage) played(intervals int) *played {
	p := &played{per: make([]int, intervals), evicted: s.evicted, landed: s.landed}
	for _, e := range s.evicted {
		p.per[min(int(e.at.Sub(s.began)/landingsInterval), intervals-1)]++
	}
	return p
}

// pods returns which pods were evicted. Replicas of a workload on the same node are
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
		time.Sleep(time.Minute) // until everything that kube-scheduler's plugins have started has ended
	})
	return got
}

// playEvenkeel runs an Evenkeel process for some intervals. If steered is set, kube-scheduler asks it as
// its extender.
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
		if err := errors.Join(e.process.equip(ctx, e.process.current()), e.startInformers(ctx)); err != nil {
			t.Fatal(err)
		}
		e.process.tell(e.process.current())
		group, running := errgroup.WithContext(ctx)
		group.Go(func() error { return e.observeIfNeeded(running) })
		group.Go(func() error { return e.cycles(running) })
		time.Sleep(time.Duration(intervals)*landingsInterval - time.Second)
		got = stage.played(intervals)
		inFlight, ended := e.process.observer.Ledger().Moves()
		for _, move := range slices.Concat(inFlight, ended) {
			if move.To != "" && (move.State != ledger.Landed || move.Node != move.To) {
				got.missed++
			}
		}
		stop()
		if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		e.process.stop()
		time.Sleep(time.Minute)
	})
	return got
}

// Upstream's descheduler evicts without end on each cluster of a report, while an exact search
// finds that no eviction helps, or only a few do. Evenkeel makes these evictions or none, within a
// few cycles, and each replacement lands where it was planned. The documentation contains the
// numbers.
func TestReportedLoopsEnd(t *testing.T) {
	rows := "| report | cluster | evictions that help | descheduler, after 3 cycles | after 20 | Evenkeel, after 3 | after 20 |\n|---|---|---|---|---|---|---|\n"
	for i := range landings.Reported {
		s := &landings.Reported[i]
		t.Run(s.Name, func(t *testing.T) {
			theirs := playUpstream(t, s, manyCycles)
			if slices.Contains(theirs.per, 0) {
				t.Errorf("upstream's evictions end, by cycle: %v", theirs.per)
			}
			ours := ends(t, s)
			rows += fmt.Sprintf("| [#%d](https://github.com/kubernetes-sigs/descheduler/issues/%d) | %s | %s | %d | %d | %d | %d |\n", s.Issue, s.Issue, s.About,
				helpful(s), theirs.after(fewCycles), theirs.after(manyCycles), ours.after(fewCycles), ours.after(manyCycles))
		})
	}
	if !t.Failed() {
		documented(t, filepath.Join("..", "..", "docs", "migrating.md"), rows)
	}
}

// Evictions on clusters like those of the reports end as well.
func TestRelatedLoopsEnd(t *testing.T) {
	for i := range landings.Related {
		s := &landings.Related[i]
		t.Run(s.Name, func(t *testing.T) { ends(t, s) })
	}
}

// ends plays a scenario, and returns the result with kube-scheduler asking the process.
func ends(t *testing.T, s *landings.Scenario) (steered *played) {
	t.Helper()
	for want, steered := range map[*landings.Fewest]bool{&s.Placed: false, &s.Steered: true} {
		if diff := cmp.Diff(*want, newSearch(t.Context(), t, s, steered).run(searchDepth)); diff != "" {
			t.Errorf("search, steered %v (-want +got):\n%s", steered, diff)
		}
	}
	for _, asks := range []bool{false, true} {
		got := playEvenkeel(t, s, manyCycles, asks)
		if s.Packs && !asks { // without steering, it is unpredictable where kube-scheduler puts a replacement
			continue
		}
		n := got.after(manyCycles)
		if n != got.after(fewCycles) || n != s.Placed.Evictions && n != s.Steered.Evictions {
			t.Errorf("steered %v: evictions by cycle %v, landings %v; want %d or %d in all", asks, got.per, got.landed, s.Placed.Evictions, s.Steered.Evictions)
		}
		if len(got.landed) != n || asks && got.missed > 0 {
			t.Errorf("steered %v: landings %v of %d evictions, %d elsewhere than planned", asks, got.landed, n, got.missed)
		}
		steered = got
	}
	return steered
}

// helpful describes how many evictions help.
func helpful(s *landings.Scenario) string {
	if s.Placed.Evictions == s.Steered.Evictions {
		return fmt.Sprint(s.Placed.Evictions)
	}
	return fmt.Sprintf("%d, or %d if steered", s.Placed.Evictions, s.Steered.Evictions)
}

// documented compares the part of a page between its marks with want, or updates it.
func documented(t *testing.T, path, want string) {
	t.Helper()
	const begin, end = "-run TestReportedLoopsEnd -update -->\n", "<!-- end -->"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, which -update writes (-want +got):\n%s", path, diff)
	}
}

// If upstream's plugins ask for the right evictions, the same pods are evicted, whether
// replacements are steered or not.
func TestRightEvictionsAreMade(t *testing.T) {
	for i := range landings.Right {
		s := &landings.Right[i]
		t.Run(s.Name, func(t *testing.T) {
			want := playUpstream(t, s, fewCycles).pods()
			if len(want) != s.Placed.Evictions {
				t.Errorf("upstream evicts %v, want %d", want, s.Placed.Evictions)
			}
			for _, steered := range []bool{false, true} {
				got := playEvenkeel(t, s, fewCycles, steered)
				if diff := cmp.Diff(want, got.pods()); diff != "" {
					t.Errorf("steered %v: evicted (-upstream +evenkeel):\n%s", steered, diff)
				}
				if steered && got.missed > 0 {
					t.Errorf("%d replacements are elsewhere than planned: %v", got.missed, got.landed)
				}
			}
		})
	}
}
