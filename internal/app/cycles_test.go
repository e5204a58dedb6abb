package app

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/announce"
)

// apiServerTime is an API server whose clock is off by the given duration.
type apiServerTime struct{ off time.Duration }

func (a apiServerTime) RoundTrip(*http.Request) (*http.Response, error) {
	date := time.Now().Add(a.off).UTC().Format(http.TimeFormat)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
}

// correct lets a clock learn the time from an API server whose clock is off.
func correct(t *testing.T, clock *servertime.Clock, off time.Duration) {
	t.Helper()
	for range servertime.Quorum {
		response, err := clock.Wrap(apiServerTime{off}).RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if got := clock.Skew(); (got - off).Abs() > time.Second {
		t.Fatalf("the clock is corrected by %v, want %v", got, off)
	}
}

// offline returns the setup of an evicting process that uses a fake API server and sources that report nothing.
func offline(t testing.TB, client kubernetes.Interface, content string, change ...func(*flags.Options)) setup {
	t.Helper()
	policyfile.SetupPlugins()
	file, err := policy.Load("policy.yaml", []byte(content), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	s := setup{
		kube: &kube.Connection{REST: &rest.Config{Host: "http://127.0.0.1:1"}, Client: client, Clock: servertime.New(time.Now)},
		file: file, content: []byte(content),
	}
	for _, c := range change {
		c(&s.options)
	}
	return s
}

// observingOnly returns a process that only observes.
func observingOnly(t *testing.T) *process {
	t.Helper()
	p, err := newProcess(t.Context(), offline(t, fake.NewClientset(), byUsage))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// evictingOffline returns a process that evicts, and sends its Events to a channel.
func evictingOffline(t testing.TB, s setup, sent chan string) *evicting {
	t.Helper()
	e, err := newEvicting(t.Context(), s, &announce.Unsent{FakeRecorder: events.FakeRecorder{Events: sent}}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.process.stop)
	return e
}

// waitingForUsage returns a process whose sources report nothing.
func waitingForUsage(t *testing.T) *evicting {
	t.Helper()
	return evictingOffline(t, offline(t, fake.NewClientset(), byUsage), nil)
}

// The process waits for usage for as long as the policy requires, however the API server's time
// sets the clock.
func TestAwaitUsageWhileTheClockIsSet(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, began := waitingForUsage(t), time.Now()
				done := make(chan bool)
				go func() { done <- a.awaitUsage(t.Context(), io.Discard, forever) }()
				time.Sleep(time.Second)
				correct(t, a.process.kube.Clock, off)
				if !<-done {
					t.Error("the context has not ended")
				}
				want := 2 * a.process.current().load.Usage.ObservationPeriod.Duration
				if took := time.Since(began); took < want || took > want+time.Second {
					t.Errorf("waited for %v, want %v", took, want)
				}
			})
		})
	}
}

// While waiting for usage, the process reports every 15 seconds what it has seen and how much
// longer it will wait. If usage is available at once, it reports nothing.
func TestWaitingForUsageIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, progress := waitingForUsage(t), bytes.Buffer{}
		a.awaitUsage(t.Context(), &progress, forever)
		lines := strings.Split(strings.TrimSuffix(progress.String(), "\n"), "\n")
		// 150 s, or twice that for sources that report too little
		if want := "Watching usage: nothing read yet, about 2m15s left, 4m45s at most"; len(lines) != 20 || lines[0] != want {
			t.Errorf("%d lines, the first %q, want 20 and %q", len(lines), lines[0], want)
		}
		if want := "Watching usage: nothing read yet, 0s at most"; lines[len(lines)-1] != want {
			t.Errorf("the last line is %q, want %q", lines[len(lines)-1], want)
		}
	})
}

// know makes a process know its nodes and pods.
func know(t *testing.T, a *process) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(a.kube.Client, 0)
	synced, err := a.observer.Store().Attach(factory)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	for !synced() {
		time.Sleep(time.Millisecond)
	}
	stop()
	factory.Shutdown()
}

// Without observations there is no progress, except in a process that does not know the cluster yet.
func TestHeartbeatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := observingOnly(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.heartbeat(ctx) }()
		for _, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
			time.Sleep(time.Hour)
			recorder := httptest.NewRecorder()
			a.health.Livez(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "/livez", nil))
			if recorder.Code != want {
				t.Errorf("livez: %d %s, want %d", recorder.Code, recorder.Body, want)
			}
			know(t, a)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Observations count as progress, even if their timestamps are older than the previous one's.
func TestHeartbeatWhileTheClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := observingOnly(t)
		know(t, a)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.heartbeat(ctx) }()
		a.observer.Sample(ctx)
		time.Sleep(2 * time.Second)
		correct(t, a.kube.Clock, -time.Hour)
		for range 30 {
			time.Sleep(15 * time.Second)
			a.observer.Sample(ctx)
		}
		time.Sleep(2 * time.Second)
		recorder := httptest.NewRecorder()
		a.health.Livez(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "/livez", nil))
		if recorder.Code != http.StatusOK {
			t.Errorf("livez: %s", recorder.Body)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// starts returns a function that waits for the next start of a cycle and returns its cause.
func starts(t *testing.T, e *evicting) func() cycle.Cause {
	t.Helper()
	next, stop := iter.Pull(cycle.Due(t.Context(), cycle.Every(time.Hour), e.process.cycleEvents, time.Now, func() {}))
	t.Cleanup(stop)
	return func() cycle.Cause {
		why, _ := next()
		return why.Cause
	}
}

// A changed policy starts a cycle, and does so in a dry run as well.
func TestAChangedPolicyStartsACycle(t *testing.T) {
	const settled = "eviction: {nodeSettle: 0s}\n"
	r := newReloading(t, byUsage+evictAt(60)+settled)
	starts := starts(t, r.evicting)
	if why := starts(); why != cycle.Scheduled {
		t.Errorf("the first cycle starts by %s", why)
	}
	if !r.changed(t.Context(), []byte(byUsage+evictAt(50)+settled), nil) {
		t.Fatal("the policy did not change")
	}
	if why := starts(); why != cycle.PolicyChanged {
		t.Errorf("the next cycle starts by %s", why)
	}
}

// A node that joins starts a cycle even if no usage is measured.
func TestANodeThatJoinsStartsACycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, fake.NewClientset(), byDuplicates, func(o *flags.Options) { o.Interval, o.DryRun = time.Hour, true })
		e := evictingOffline(t, s, nil)
		e.process.tell(e.process.current())
		join := func(name string) {
			e.process.observer.Store().SetNode(&v1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
			})
		}
		join("n1")
		ctx, stop := context.WithCancel(t.Context())
		observed := make(chan error)
		go func() { observed <- e.observeIfNeeded(ctx) }()
		starts, began := starts(t, e), time.Now()
		if why := starts(); why != cycle.Scheduled {
			t.Errorf("the first cycle starts by %s", why)
		}
		time.Sleep(5 * time.Minute)
		join("n2")
		if why := starts(); why != cycle.NodeJoined {
			t.Errorf("the next cycle starts by %s", why)
		}
		if took := time.Since(began) - 5*time.Minute; took > e.process.current().load.Usage.SampleInterval.Duration {
			t.Errorf("%v after the node has joined", took)
		}
		stop()
		if err := <-observed; err != nil {
			t.Error(err)
		}
	})
}

// The end of a pause starts a cycle, because those during the pause could not evict.
func TestTheEndOfAPauseStartsACycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		e := evictingOffline(t, offline(t, client, byDuplicates, func(o *flags.Options) { o.Interval = time.Hour }), nil)
		ctx, stop := context.WithCancel(t.Context())
		watched := make(chan error)
		go func() { watched <- e.watchPause(ctx) }()
		starts, switches := starts(t, e), client.CoreV1().ConfigMaps(e.process.namespace)
		if why := starts(); why != cycle.Scheduled {
			t.Errorf("the first cycle starts by %s", why)
		}
		if _, err := switches.Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: pause.Name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if err := switches.Delete(ctx, pause.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if why := starts(); why != cycle.Resumed {
			t.Errorf("the next cycle starts by %s", why)
		}
		stop()
		if err := <-watched; err != nil {
			t.Error(err)
		}
	})
}

// Cycles that a cron schedule or a Job starts do not depend on events.
func TestSchedulesFollowNoEvents(t *testing.T) {
	for name, change := range map[string]func(*flags.Options){
		"a Job":           func(*flags.Options) {},
		"a cron schedule": func(o *flags.Options) { o.Schedule = "@hourly" },
	} {
		t.Run(name, func(t *testing.T) {
			if e := evictingOffline(t, offline(t, fake.NewClientset(), byUsage, change), nil); e.process.cycleEvents != nil {
				t.Error("it follows events")
			}
		})
	}
}
