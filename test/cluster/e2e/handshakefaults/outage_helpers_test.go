package handshakefaults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// outage is a fault between Evenkeel and the API server, or in what the API server stores.
type outage struct {
	// before, if set, causes the fault before the process starts, so that nothing is evicted until
	// the fault is healed.
	before func(*scene)
	// strike begins the fault, and heal ends it after the duration lasts. Either may be nil.
	strike, heal func(*scene)
	lasts        time.Duration
	// meanwhile, if set, checks something before the fault ends.
	meanwhile func(*scene)
	// dark reports whether kube-scheduler is cut off from the API server as well.
	dark bool
	// patient reports whether the shipped Lease settings are kept.
	patient bool
}

// scene is a cluster with two hot nodes and an `evenkeel serve` that reaches
// the API server through a proxy.
type scene struct {
	*fixture
	skew    stage.Skewed
	proxy   *apifault.Proxy
	process *evenkeel.Process
	policy  string
	args    []string
	metrics string
	queue   *queue
	// ended counts how often the process has exited on its own.
	ended int
}

const (
	// outageEvictions is the number of evictions before a fault, so that the fault comes in the
	// middle of a cycle.
	outageEvictions = 2
	// normalWithin bounds the time after a fault until the process leads and its cycles succeed.
	normalWithin = time.Minute
)

func newScene(t *testing.T, o outage) *scene {
	t.Helper()
	f, skew := newFixture(t)
	s := &scene{fixture: f, skew: skew, metrics: f.FreeAddress()}
	s.Fixture, s.proxy = f.APIProxy()
	s.policy = s.Policy(stage.RealUsage, paced(2*time.Second))
	s.args = []string{"--leader-elect=true", "--metrics-address", s.metrics}
	if !o.patient {
		s.args = append(s.args, shortLease()...)
	}
	s.queue = follows(s.Fixture)
	mark := s.Mark()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what was asked of pods:\n%s", strings.Join(s.PodRequests(mark), "\n"))
		}
	})
	if o.before != nil {
		o.before(s)
	}
	s.process = s.Serve(s.policy, s.args...)
	return s
}

// prove injects a fault between two moves. It checks the moves, the pods that were created
// meanwhile, and the duration of the recovery.
func prove(t *testing.T, o outage) {
	t.Helper()
	s := newScene(t, o)
	s.witness.AllowGaps()
	if o.before == nil {
		s.witness.WaitEvictions(90*time.Second, outageEvictions)
	}
	if o.strike != nil {
		o.strike(s)
	}
	during := len(s.witness.Evictions())
	s.queue.shut(o.dark)
	if !o.dark {
		s.passersby()
	}
	s.passes(o.lasts)
	if o.meanwhile != nil {
		o.meanwhile(s)
	}
	during = len(s.witness.Evictions()) - during
	if o.heal != nil {
		o.heal(s)
	}
	healed := time.Now()
	s.queue.shut(false)
	normal := s.normal(healed)
	s.judge()
	t.Logf("figures: normal after %.1f s, %d evictions, fewest %d, %d of them during the fault, longest wait of a pod %.1f s, process ended %d times",
		normal.Seconds(), len(s.witness.Evictions()), s.skew.Fewest, during, s.queue.longest().Seconds(), s.ended)
}

// judge waits until the nodes are cool. It fails the case if a pod was evicted wrongly, a move was
// made twice or lost, or a pod was kept from being scheduled.
func (s *scene) judge() {
	s.T.Helper()
	s.cooled(90 * time.Second)
	s.released(stage.Listen())
	s.Eventually(90*time.Second, "what is stored and bound to be seen", func(context.Context) bool { return s.witness.CaughtUp() && s.queue.empty() })
	s.witness.Check(s.skew.Fewest + 1)
	s.notAgain()
	s.accounted(stage.Listen(), s.skew.Hot)
	if longest := s.queue.longest(); longest > pendingAtMost {
		s.T.Errorf("a pod waited for a node for %v while kube-scheduler could have bound it", longest)
	}
	if s.ended > 0 {
		s.T.Errorf("evenkeel serve ended %d times", s.ended)
	}
}

// accounted fails the case unless every evicted pod was on an initially hot node and has exactly
// one move, which landed. The replacement must be the move's own and be bound where the process
// reports it.
func (f *fixture) accounted(listen string, hot []string) {
	f.T.Helper()
	moves, _ := f.Ledger(listen)
	pods, taken := f.PodsByUID(f.T.Context()), map[string]string{}
	for _, eviction := range f.witness.Evictions() {
		landed := 0
		for _, m := range moves {
			if m.Pod != eviction.Pod || m.State == "Cancelled" {
				continue
			}
			pod := pods[m.Replacement]
			if m.State != "Landed" || pod.Spec.NodeName != m.Node || m.Node == "" {
				f.T.Errorf("pod %s was evicted; %v; its replacement is on %q", eviction.Pod, m.String(), pod.Spec.NodeName)
			}
			if !slices.Contains(hot, m.From) {
				f.T.Errorf("pod %s was evicted from %s, which was not hot", m.Pod, m.From)
			}
			if other := taken[m.Replacement]; other != "" {
				f.T.Errorf("one pod replaces two: %s and %s", other, m.Pod)
			}
			taken[m.Replacement] = m.Pod
			landed++
		}
		if landed != 1 {
			f.T.Errorf("pod %s was evicted and has %d moves", eviction.Pod, landed)
		}
	}
}

// passes lets the fault last for the given time.
func (s *scene) passes(d time.Duration) {
	s.T.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.T.Context().Done():
		s.T.Fatal("the case was stopped")
	case <-timer.C:
	}
}

// passersby creates pods of somebody else during a fault.
func (s *scene) passersby() {
	s.T.Helper()
	little := cluster.Resources{CPU: "100m", Memory: "64Mi"}
	w := stage.Workload("passerby", little, little)
	w.Replicas = 4
	ctx, cancel := context.WithTimeout(s.T.Context(), 3*pendingAtMost)
	defer cancel()
	if err := s.Deploy(ctx, w); err != nil {
		s.T.Errorf("pods that arrived during the fault: %v", err)
	}
}

// normal waits until the process has renewed the Lease and completed a successful cycle since the
// given time, and returns how long that took. It restarts a process that has exited, as a
// Deployment would.
func (s *scene) normal(since time.Time) time.Duration {
	s.T.Helper()
	cycles := -1.0
	s.Eventually(normalWithin, "a leader whose cycles succeed", func(ctx context.Context) bool {
		if s.process.Ended() {
			s.ended++
			s.process, cycles = s.Serve(s.policy, s.args...), -1
		}
		done, up := s.cycles(ctx)
		switch {
		case !up:
			return false
		case cycles < 0 || done < cycles:
			cycles = done
			return false
		}
		return done > cycles && s.renewedAfter(ctx, since)
	})
	return time.Since(since)
}

// cycles returns the number of successful cycles, or false if the process does not respond.
func (s *scene) cycles(ctx context.Context) (float64, bool) {
	s.T.Helper()
	if status, _, err := evenkeel.Get(ctx, "http://"+s.metrics+"/livez"); err != nil || status != http.StatusOK {
		return 0, false
	}
	return s.Metric(s.metrics, `evenkeel_cycles_total{result="success"}`), true
}

// queue follows the pods of the namespace shop that wait for a node.
type queue struct {
	mu    sync.Mutex
	since map[string]time.Time // by UID, until bound
	took  []time.Duration
	dark  bool
}

func follows(f *stage.Fixture) *queue {
	f.T.Helper()
	q := &queue{since: map[string]time.Time{}}
	factory := informers.NewSharedInformerFactoryWithOptions(f.Client(), 0, informers.WithNamespace("shop"))
	stage.Follow(f, factory.Core().V1().Pods().Informer(), q.see)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.T.Context()))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(f.T.Context().Done())
	f.T.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	return q
}

func (q *queue) see(pod *v1.Pod, gone bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	uid := string(pod.UID)
	since, waits := q.since[uid]
	switch {
	case gone || pod.DeletionTimestamp != nil:
		delete(q.since, uid)
	case pod.Spec.NodeName == "" && !waits:
		q.since[uid] = time.Now()
	case pod.Spec.NodeName != "" && waits:
		delete(q.since, uid)
		if !q.dark {
			q.took = append(q.took, max(0, boundAt(pod).Sub(since)))
		}
	}
}

// boundAt returns when a pod was bound, to the second, however late the pod is seen.
func boundAt(pod *v1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Now()
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.since) == 0
}

// shut sets whether kube-scheduler is unable to bind pods. The waiting time of pending pods
// restarts now.
func (q *queue) shut(dark bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dark = dark
	for uid := range q.since {
		q.since[uid] = time.Now()
	}
}

// longest returns the longest time that a pod has waited for a node.
func (q *queue) longest() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := slices.Clone(q.took)
	for _, since := range q.since {
		all = append(all, time.Since(since))
	}
	if len(all) == 0 {
		return 0
	}
	return slices.Max(all)
}
