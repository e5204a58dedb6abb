package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// `evenkeel run` as a Job runs it: one cycle, then exit code 0. kube-scheduler asks an `evenkeel extender` of its own, which
// does not know the plan and sends every replacement to a cool node all the same.
func TestRunAsJob(t *testing.T) {
	f := newFixture(t)
	skew := f.skew()
	if err := f.WaitMetrics(t.Context()); err != nil { // a Job comes to a cluster that has been measured before
		t.Fatal(err)
	}
	mark, policy := f.mark(), f.policy(realUsage, fast)
	f.extender(policy, "0")
	job := f.start("run", "--policy-config-file", policy, "--metrics-address", "0", "--extender-url", "http://"+shared.listen)
	f.wantExit(job, 90*time.Second)
	if hot := f.hot(t.Context(), 65); len(hot) > 0 {
		t.Errorf("%v are above 65 %% of CPU after the Job", hot)
	}
	evicted := f.evictions(mark)
	if evicted > skew.fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", evicted, skew.fewest)
	}
	f.wantLeft(skew, evicted)
	if holder := f.leader(t.Context()); holder != "" {
		t.Errorf("the Lease is still held by %q, the next Job would have to wait", holder)
	}
}

// `evenkeel run --schedule` runs a cycle when the schedule says so, stays, and ends with exit code 0 when it is stopped.
// The policy grants one eviction a cycle, so each cycle is seen in the cluster.
func TestRunOnSchedule(t *testing.T) {
	const every = 6 * time.Second
	f := newFixture(t)
	f.skew()
	mark, policy := f.mark(), f.policy(strings.Replace(realUsage, "profiles:", "maxNoOfPodsToEvictTotal: 1\nprofiles:", 1), fast)
	f.extender(policy, "0")
	p := f.start("run", "--policy-config-file", policy, "--metrics-address", "0", "--extender-url", "http://"+shared.listen,
		"--schedule", "@every "+every.String())
	var at []time.Time
	for n := range 3 {
		f.eventually(90*time.Second, "the next eviction", func(context.Context) bool { return f.evictions(mark) > n })
		at = append(at, time.Now())
		if got := f.evictions(mark); got != n+1 {
			t.Fatalf("%d evictions after %d cycles of one each", got, n+1)
		}
	}
	for n := range at[1:] {
		if gap := at[n+1].Sub(at[n]); gap < every/2 || gap > 3*every {
			t.Errorf("cycle %d began %v after the one before, want about %v", n+2, gap, every)
		}
	}
	if p.Ended() {
		t.Fatal("evenkeel run --schedule ended by itself")
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	f.wantExit(p, time.Second)
}

// Two replicas of `evenkeel serve` behind one address: both answer kube-scheduler, one evicts. It is killed in the middle
// of its work: the other takes the Lease over and goes on, without losing or repeating a move.
func TestTwoReplicas(t *testing.T) {
	f := newFixture(t)
	skew := f.skew()
	mark := f.mark()
	policy := f.policy(realUsage, strings.Replace(fast, "cycleDeadline: 3m", "cycleDeadline: 3m, interval: 2s", 1))
	addresses := []string{f.freeAddress(), f.freeAddress()}
	f.service(shared.listen, addresses...)
	var replicas []*evenkeel.Process
	for _, address := range addresses {
		p := f.serve(policy, "--listen-address", address, "--leader-elect=true", "--leader-elect-lease-duration", "4s",
			"--leader-elect-renew-deadline", "3s", "--leader-elect-retry-period", "1s")
		replicas = append(replicas, p)
		f.eventually(30*time.Second, "a leader", func(ctx context.Context) bool { return f.leader(ctx) != "" })
	}
	first := f.leader(t.Context())

	f.eventually(90*time.Second, "two evictions", func(context.Context) bool { return f.evictions(mark) >= 2 })
	for _, address := range addresses {
		if kept := f.filter(address, skew.nodes); !slices.Equal(kept, skew.nodes[2:]) {
			t.Errorf("the replica at %s kept %v, want the cool nodes %v", address, kept, skew.nodes[2:])
		}
	}
	replicas[0].Kill()
	before := f.evictions(mark)
	if evicted := evictionsBy(replicas[0]); evicted != before {
		t.Errorf("the leader made %d of %d evictions, want all", evicted, before)
	}
	f.eventually(time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.hot(ctx, 65)) == 0 })
	if second := f.leader(t.Context()); second == first || second == "" {
		t.Errorf("the Lease is held by %q after its holder %q was killed", second, first)
	}
	after := f.evictions(mark)
	if evicted := evictionsBy(replicas[1]); evicted != after-before {
		t.Errorf("the other replica made %d of %d evictions after the kill, want all", evicted, after-before)
	}
	if after > skew.fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", after, skew.fewest)
	}
	f.wantLeft(skew, after)
	if err := replicas[1].Stop(); err != nil {
		t.Fatal(err)
	}
	f.wantExit(replicas[1], time.Second)
	if holder := f.leader(t.Context()); holder != "" {
		t.Errorf("the Lease is still held by %q, which was stopped in good order", holder)
	}
	t.Logf("evictions %d by the first leader, %d by the second, fewest %d", before, after-before, skew.fewest)
}

// The probes and the metrics page of the processes that stay. An extender is ready without usage data: kube-scheduler is
// better answered neutrally than not at all.
func TestProbesAndMetrics(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 2, cluster.NodeTemplate{})
	if err != nil {
		t.Fatal(err)
	}
	f.stopMetricsServer()
	policy := f.policy(realUsage, fast)
	addresses := map[string]string{"extender": f.freeAddress(), "serve": f.freeAddress()}
	f.extender(policy, addresses["extender"])
	f.wantNeutral(shared.listen, nodes)
	f.serve(policy, "--listen-address", f.freeAddress(), "--metrics-address", addresses["serve"])
	for command, address := range addresses {
		for _, path := range []string{"/livez", "/readyz", "/healthz"} {
			f.eventually(20*time.Second, path+" of "+command+" answers 200", func(ctx context.Context) bool {
				status, _, err := evenkeel.Get(ctx, "http://"+address+path)
				return err == nil && status == http.StatusOK
			})
		}
	}
	if fresh := f.status(shared.listen).FreshNodes; fresh != 0 {
		t.Errorf("%d nodes have fresh usage while metrics-server is down", fresh)
	}
	wantSeries := map[string][]string{
		"extender": {"evenkeel_extender_requests_total", "evenkeel_nodes", "go_goroutines"},
		"serve":    {"evenkeel_extender_requests_total", "evenkeel_nodes", "evenkeel_cycles_total", "evenkeel_evictions_total", "go_goroutines"},
	}
	for command, names := range wantSeries {
		_, page, err := evenkeel.Get(t.Context(), "http://"+addresses[command]+"/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(page, "\n"+name) {
				t.Errorf("/metrics of %s has no %s", command, name)
			}
		}
	}
}

// extender runs `evenkeel extender` where kube-scheduler asks, and waits until it answers.
func (f *fixture) extender(policy, metricsAddress string) {
	f.t.Helper()
	p := f.start("extender", "--policy-config-file", policy, "--listen-address", shared.listen, "--metrics-address", metricsAddress)
	if err := p.WaitServing(f.t.Context(), "http://"+shared.listen+"/livez"); err != nil {
		f.t.Fatal(err)
	}
}

// wantExit waits for a process to end with exit code 0.
func (f *fixture) wantExit(p *evenkeel.Process, within time.Duration) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), within)
	defer cancel()
	if code, err := p.Wait(ctx); err != nil || code != 0 {
		f.t.Errorf("exit code %d, want 0: %v", code, err)
	}
}

// wantLeft fails the case unless every evicted hog was replaced on a node that was not hot.
func (f *fixture) wantLeft(skew skewed, evicted int) {
	f.t.Helper()
	if err := f.WaitReady(f.t.Context(), "shop", "hog"); err != nil {
		f.t.Fatal(err)
	}
	stayed := 0
	for _, pod := range f.pods(f.t.Context(), "hog") {
		if slices.Contains(skew.hot, pod.Spec.NodeName) {
			stayed++
		}
	}
	if want := 24 - evicted; stayed != want {
		f.t.Errorf("%d pods are on the nodes that were hot, want %d: a replacement went back", stayed, want)
	}
}

// evictionsBy counts the evictions that a process says it has made.
func evictionsBy(p *evenkeel.Process) (n int) {
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, `"Evicted pod"`) && strings.Contains(line, " destination=") {
			n++
		}
	}
	return n
}

// leader is who holds Evenkeel's Lease, "" when nobody does.
func (f *fixture) leader(ctx context.Context) string {
	lease, err := f.Client().CoordinationV1().Leases(evenkeel.Namespace).Get(ctx, "evenkeel", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// service is to kube-scheduler what a Service is: one address, and behind it the first of the backends that is there.
func (f *fixture) service(address string, backends ...string) {
	f.t.Helper()
	listener, err := new(net.ListenConfig).Listen(f.t.Context(), "tcp", address)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { forward(ctx, client, backends) })
		}
	})
	f.t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		connections.Wait()
	})
}

// forward carries one connection to the first backend that takes it, until one side closes it or the context ends.
func forward(ctx context.Context, client net.Conn, backends []string) {
	defer client.Close()
	server, err := dialFirst(ctx, backends)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	var directions sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		directions.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_, _ = client.Close(), server.Close()
		})
	}
	directions.Wait()
}

func dialFirst(ctx context.Context, backends []string) (net.Conn, error) {
	var errs []error
	for _, backend := range backends {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", backend)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
