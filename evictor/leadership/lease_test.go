package leadership

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/klog/v2"
)

var errAway = errors.New("the API server is away")

// logged returns a context that counts the lines of its log.
func logged(ctx context.Context, lines *atomic.Int64) context.Context {
	return klog.NewContext(ctx, funcr.New(func(string, string) { lines.Add(1) }, funcr.Options{}))
}

// If the API server is unreachable for longer than the Lease, a leader loses only its term. The
// work ends and nothing more is written. The next term begins once the API server is back and the
// work has returned, however long that takes.
func TestALeaderStepsDownAndLeadsAgain(t *testing.T) {
	for name, longer := range map[string]time.Duration{"work that ends at once": 0, "work that takes longer than the API server": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines atomic.Int64
				ctx, stop := context.WithCancel(logged(t.Context(), &lines))
				s, w, ended := newShelf(), &terms{}, make(chan error)
				l := s.newLease(t)
				go func() { ended <- l.Lead(ctx, w.work(longer)) }()
				time.Sleep(time.Minute)
				if l.Leads() != nil || !l.Elected() || s.holder() != l.Identity() {
					t.Fatalf("it does not lead: %v, the Lease is held by %q", l.Leads(), s.holder())
				}
				s.set(func() { s.fails = errAway })
				away := time.Now()
				for l.Leads() == nil {
					time.Sleep(100 * time.Millisecond)
				}
				if took := time.Since(away); took > 10*time.Second+100*time.Millisecond {
					t.Errorf("it led for %v without the Lease, others may take it after 15s", took)
				}
				time.Sleep(30 * time.Minute)
				if w.count() != 1 || l.Elected() {
					t.Errorf("%d terms while the API server was away", w.count())
				}
				s.set(func() { s.fails = nil })
				back := time.Now()
				for w.count() == 1 {
					if l.Leads() == nil {
						t.Fatal("it leads before its term has begun")
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(back) - longer; longer == 0 && took > 5*time.Second {
					t.Errorf("it leads again %v after the API server is back", took)
				}
				if w.most != 1 || w.begun[1].Before(w.ended[0]) || l.Leads() != nil {
					t.Errorf("%d terms at a time, the second begun %v, the first ended %v; %v", w.most, w.begun[1], w.ended[0], l.Leads())
				}
				stop()
				if err := <-ended; err != nil || s.holder() != "" {
					t.Errorf("stopped: %v, the Lease is held by %q", err, s.holder())
				}
				if got := lines.Load(); got > 60 {
					t.Errorf("%d lines about half an hour", got)
				}
			})
		})
	}
}

// A leader that is stopped keeps the Lease until its work has ended, and then releases it.
func TestTheLeaseIsReleasedAfterTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, first, second := newShelf(), &terms{}, &terms{}
		stopping, stop := context.WithCancel(t.Context())
		over, end := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		old, next := s.newLease(t), s.newLease(t)
		go func() { ended <- old.Lead(stopping, first.work(40*time.Second)) }()
		time.Sleep(time.Second)
		go func() { ended <- next.Lead(over, second.work(0)) }()
		time.Sleep(20 * time.Second)
		stop()
		time.Sleep(39 * time.Second)
		if second.count() != 0 || old.Leads() != nil {
			t.Errorf("another process led while the work continued; %v", old.Leads())
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		released := time.Now()
		for second.count() == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(released); took > 6*time.Second || second.begun[0].Before(first.ended[0]) {
			t.Errorf("the next began %v after the release, %v after the work", took, second.begun[0].Sub(first.ended[0]))
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := []string{old.Identity(), "", next.Identity(), ""}
		if diff := cmp.Diff(want, s.holders); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
}

// A Lease that another process holds is not released, even if that process took it in the meantime.
func TestReleaseTakesFromNobody(t *testing.T) {
	cases := map[string]struct {
		between func(*coordinationv1.Lease)
		holder  string
		want    string
	}{
		"its own":                     {holder: "self", want: ""},
		"another's":                   {holder: "other", want: "other"},
		"another's since it was read": {holder: "self", between: takenBy("other"), want: "other"},
		"nobody's":                    {holder: "", want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newShelf()
			l := s.newLease(t)
			l.identity = "self"
			s.lease, s.between = &coordinationv1.Lease{}, tc.between
			s.lease.Name, s.lease.ResourceVersion = "evenkeel", "0"
			takenBy(tc.holder)(s.lease)
			l.release(t.Context())
			if got := s.holder(); got != tc.want {
				t.Errorf("the Lease is held by %q, want %q", got, tc.want)
			}
		})
	}
}

// A leader that is cut off while another process takes its Lease follows that process, and does not
// touch the Lease when it is stopped.
func TestAPartitionedLeaderFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, ended := newShelf(), &terms{}, make(chan error)
		ctx, stop := context.WithCancel(t.Context())
		l := s.newLease(t)
		holders := []string{l.Holder()}
		go func() { ended <- l.Lead(ctx, w.work(0)) }()
		time.Sleep(10 * time.Second)
		holders = append(holders, l.Holder())
		s.set(func() { s.fails = errAway })
		time.Sleep(20 * time.Second)
		s.set(func() {
			takenBy("other")(s.lease)
			s.stamp()
			s.fails = nil
		})
		time.Sleep(10 * time.Second) // within the other process's Lease
		if w.count() != 1 || l.Elected() {
			t.Errorf("%d terms beside another leader", w.count())
		}
		if diff := cmp.Diff([]string{"", l.Identity(), "other"}, append(holders, l.Holder())); diff != "" {
			t.Errorf("logged holder of the Lease (-want +got):\n%s", diff)
		}
		stop()
		if err := <-ended; err != nil || s.holder() != "other" {
			t.Errorf("stopped: %v, the Lease is held by %q", err, s.holder())
		}
	})
}

// A lost Lease is not released while the work of its term continues, even if the API server is back
// by then. Otherwise another process would lead at the same time.
func TestALostLeaseIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, ended := newShelf(), &terms{}, make(chan error)
		ctx, stop := context.WithCancel(t.Context())
		l := s.newLease(t, func(c *LeaseConfig) { c.RetryPeriod = 3 * time.Second })
		go func() { ended <- l.Lead(ctx, w.work(time.Minute)) }()
		time.Sleep(8 * time.Second)
		s.set(func() { s.fails = errAway })
		time.Sleep(10*time.Second + 500*time.Millisecond) // it tries at 9, 12, 15 and 18 s, until 19 s
		s.set(func() { s.fails = nil })
		time.Sleep(30 * time.Second)
		s.set(func() {
			if diff := cmp.Diff([]string{l.Identity()}, s.holders); diff != "" {
				t.Errorf("holders (-want +got):\n%s", diff)
			}
		})
		if w.count() != 1 || l.Leads() == nil {
			t.Errorf("%d terms, %v", w.count(), l.Leads())
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Other processes count from when the Lease was written, not from when the response arrived.
func TestLateAnswersMakeNoLongerLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.late = 4 * time.Second
		ctx, stop := context.WithCancel(t.Context())
		l, ended := s.newLease(t), make(chan error)
		go func() { ended <- l.Lead(ctx, (&terms{}).work(0)) }()
		time.Sleep(time.Minute)
		s.set(func() { s.fails = errAway })
		if l.Leads() != nil {
			t.Fatal("it does not lead")
		}
		for l.Leads() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		s.set(func() {
			if led := time.Since(s.written); led > 10*time.Second+100*time.Millisecond {
				t.Errorf("it led until %v after the Lease was written, others may take it after 15s", led)
			}
		})
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A Lease that somebody has overwritten counts as lost as soon as that is seen.
func TestALeaseTakenByForceIsLostAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ended := newShelf(), make(chan error)
		ctx, stop := context.WithCancel(t.Context())
		l := s.newLease(t)
		go func() { ended <- l.Lead(ctx, (&terms{}).work(0)) }()
		time.Sleep(time.Minute)
		s.set(func() {
			takenBy("other")(s.lease)
			s.stamp()
		})
		time.Sleep(3 * time.Second)
		if l.Leads() == nil {
			t.Error("it leads beside another")
		}
		stop()
		if err := <-ended; err != nil || s.holder() != "other" {
			t.Errorf("stopped: %v, the Lease is held by %q", err, s.holder())
		}
	})
}

// A process that works only once ends in every case: when its work is done, when it loses the
// Lease, and when it cannot reach the Lease for long.
func TestAnElectionForOneRun(t *testing.T) {
	failed := errors.New("the work failed")
	cases := map[string]struct {
		away   time.Duration // time from which the API server is unreachable
		work   func(context.Context) error
		want   error
		within time.Duration
	}{
		"done":           {away: time.Hour, work: func(context.Context) error { return nil }, within: time.Second},
		"failed":         {away: time.Hour, work: func(context.Context) error { return failed }, want: failed, within: time.Second},
		"the Lease lost": {away: time.Second, work: (&terms{}).work(0), want: errLeaseLost, within: 15 * time.Second},
		"never reached":  {work: (&terms{}).work(0), want: errAway, within: 3 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := newShelf(), time.Now()
				l := s.newLease(t, func(c *LeaseConfig) { c.Once = true })
				if tc.away == 0 {
					s.fails = errAway
				} else {
					timer := time.AfterFunc(tc.away, func() { s.set(func() { s.fails = errAway }) })
					defer timer.Stop()
				}
				if err := l.Lead(t.Context(), tc.work); !errors.Is(err, tc.want) {
					t.Errorf("ended with %v, want %v", err, tc.want)
				}
				if took := time.Since(began); took > tc.within {
					t.Errorf("ended after %v, want %v", took, tc.within)
				}
			})
		})
	}
}

// Waiting for the Lease counts as progress, whether another process holds it or the API server is
// unreachable.
func TestWaitingIsProgress(t *testing.T) {
	for name, fails := range map[string]error{"another holds it": nil, "the API server is away": errAway} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, last := newShelf(), make(chan time.Time, 10_000)
				s.lease, s.fails = &coordinationv1.Lease{}, fails
				takenBy("other")(s.lease)
				s.lease.Spec.LeaseDurationSeconds = new(int32(3600))
				l := s.newLease(t, func(c *LeaseConfig) { c.Progress = func() { last <- time.Now() } })
				ctx, stop := context.WithTimeout(t.Context(), 30*time.Minute)
				defer stop()
				if err := l.Lead(ctx, (&terms{}).work(0)); err != nil {
					t.Fatal(err)
				}
				before := time.Now().Add(-30 * time.Minute)
				for len(last) > 0 {
					at := <-last
					if gap := at.Sub(before); gap > 10*time.Second {
						t.Fatalf("no progress for %v", gap)
					}
					before = at
				}
			})
		})
	}
}

// Other processes read the duration of a Lease in whole seconds, so the leader truncates it as well.
func TestALeaseIsLedForWholeSeconds(t *testing.T) {
	l := newShelf().newLease(t, func(c *LeaseConfig) {
		c.Duration, c.RenewDeadline = 11900*time.Millisecond, 10*time.Second
	})
	if got := l.Margin(); got != time.Second {
		t.Errorf("margin %v, others take the Lease after 11s", got)
	}
}

// A process that takes part in an election does not lead before it is elected, even if it has not
// tried yet. Without an election, there is only one process, and it leads.
func TestCandidatesDoNotLead(t *testing.T) {
	l := newShelf().newLease(t)
	if err := l.Leads(); err != nil {
		t.Errorf("without election: %v", err)
	}
	if l.Stand(); l.Leads() == nil || l.Elected() {
		t.Error("it leads before the election")
	}
}
