package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// A Job runs `evenkeel run`: one cycle, then exit code 0. kube-scheduler asks a separate `evenkeel
// extender`, which does not know the plan but still sends every replacement to a cool node.
func TestRunAsJob(t *testing.T) {
	f := newFixture(t)
	skew := f.Skew()
	mark, policy := f.Mark(), f.Policy(stage.RealUsage, stage.Fast)
	f.extender(policy, "0")
	job := f.Start("run", "--policy-config-file", policy, "--metrics-address", "0", "--extender-url", "http://"+stage.Listen())
	f.wantExit(job, 90*time.Second)
	if hot := f.Hot(t.Context(), 65); len(hot) > 0 {
		t.Errorf("%v are above 65 %% of CPU after the Job", hot)
	}
	evicted := f.Evictions(mark)
	if evicted > skew.Fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", evicted, skew.Fewest)
	}
	f.wantLeft(skew, evicted)
	if holder := f.leader(t.Context()); holder != "" {
		t.Errorf("the Lease is still held by %q, the next Job would have to wait", holder)
	}
}

// `evenkeel run --schedule` runs a cycle whenever the schedule is due, and ends with exit code 0
// when it is stopped. The policy allows one eviction per cycle, so each cycle is visible in the
// cluster.
func TestRunOnSchedule(t *testing.T) {
	const every = 6 * time.Second
	f := newFixture(t)
	f.Skew()
	mark, policy := f.Mark(), f.Policy(strings.Replace(stage.RealUsage, "profiles:", "maxNoOfPodsToEvictTotal: 1\nprofiles:", 1), stage.Fast)
	f.extender(policy, "0")
	p := f.Start("run", "--policy-config-file", policy, "--metrics-address", "0", "--extender-url", "http://"+stage.Listen(),
		"--schedule", "@every "+every.String())
	var at []time.Time
	for n := range 3 {
		f.Eventually(90*time.Second, "the next eviction", func(context.Context) bool { return f.Evictions(mark) > n })
		at = append(at, time.Now())
		if got := f.Evictions(mark); got != n+1 {
			t.Fatalf("%d evictions after %d cycles of one each", got, n+1)
		}
	}
	for n := range at[1:] {
		if gap := at[n+1].Sub(at[n]); gap < every/2 || gap > 3*every {
			t.Errorf("cycle %d began %v after the one before, want about %v", n+2, gap, every)
		}
	}
	if p.Ended() {
		t.Fatal("evenkeel run --schedule exited on its own")
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	f.wantExit(p, time.Second)
}

// Two replicas of `evenkeel serve` are behind one address. Both answer kube-scheduler, and one
// evicts. When that one is killed in the middle of its work, the other takes over the Lease and
// continues, without losing or repeating a move.
func TestTwoReplicas(t *testing.T) {
	f := newFixture(t)
	skew := f.Skew()
	mark := f.Mark()
	policy := f.Policy(stage.RealUsage, strings.Replace(stage.Fast, "cycleDeadline: 3m", "cycleDeadline: 3m, interval: 2s", 1))
	addresses := []string{f.FreeAddress(), f.FreeAddress()}
	f.service(stage.Listen(), addresses...)
	f.service(reportsOf(stage.Listen())[0], reportsOf(addresses...)...)
	var replicas []*evenkeel.Process
	for _, address := range addresses {
		p := f.Serve(policy, "--listen-address", address, "--leader-elect=true", "--leader-elect-lease-duration", "4s",
			"--leader-elect-renew-deadline", "3s", "--leader-elect-retry-period", "1s")
		replicas = append(replicas, p)
		f.Eventually(30*time.Second, "a leader", func(ctx context.Context) bool { return f.leader(ctx) != "" })
	}
	first := f.leader(t.Context())

	f.Eventually(90*time.Second, "two evictions", func(context.Context) bool { return f.Evictions(mark) >= 2 })
	for _, address := range addresses {
		if kept := f.Filter(address, skew.Nodes); !slices.Equal(kept, skew.Nodes[2:]) {
			t.Errorf("the replica at %s kept %v, want the cool nodes %v", address, kept, skew.Nodes[2:])
		}
	}
	replicas[0].Kill()
	before := f.Evictions(mark)
	if evicted := evictionsBy(replicas[0]); evicted != before {
		t.Errorf("the leader made %d of %d evictions, want all", evicted, before)
	}
	f.Eventually(time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	if second := f.leader(t.Context()); second == first || second == "" {
		t.Errorf("the Lease is held by %q after its holder %q was killed", second, first)
	}
	after := f.Evictions(mark)
	if evicted := evictionsBy(replicas[1]); evicted != after-before {
		t.Errorf("the other replica made %d of %d evictions after the kill, want all", evicted, after-before)
	}
	if after > skew.Fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", after, skew.Fewest)
	}
	f.wantLeft(skew, after)
	if err := replicas[1].Stop(); err != nil {
		t.Fatal(err)
	}
	f.wantExit(replicas[1], time.Second)
	if holder := f.leader(t.Context()); holder != "" {
		t.Errorf("the Lease is still held by %q, which was stopped in good order", holder)
	}
	t.Logf("evictions %d by the first leader, %d by the second, fewest %d", before, after-before, skew.Fewest)
}

// The processes that keep running serve probes and a metrics page. An extender is ready even
// without usage data, because a neutral answer is better for kube-scheduler than none.
func TestProbesAndMetrics(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 2, cluster.NodeTemplate{})
	if err != nil {
		t.Fatal(err)
	}
	f.StopMetricsServer()
	policy := f.Policy(stage.RealUsage, stage.Fast)
	addresses := map[string]string{"extender": f.FreeAddress(), "serve": f.FreeAddress()}
	f.extender(policy, addresses["extender"])
	f.WantNeutral(stage.Listen(), nodes)
	f.Serve(policy, "--listen-address", f.FreeAddress(), "--metrics-address", addresses["serve"])
	f.checkAuthorized(policy)
	for command, address := range addresses {
		for _, path := range []string{"/livez", "/readyz", "/healthz"} {
			f.Eventually(20*time.Second, path+" of "+command+" answers 200", func(ctx context.Context) bool {
				status, _, err := evenkeel.Get(ctx, "http://"+address+path)
				return err == nil && status == http.StatusOK
			})
		}
	}
	if fresh := f.Status(stage.Listen()).FreshNodes; fresh != 0 {
		t.Errorf("%d nodes have fresh usage while metrics-server is down", fresh)
	}
	wantSeries := map[string][]string{
		"extender": {"evenkeel_extender_responses_total", "evenkeel_nodes", "evenkeel_build_info", "go_goroutines", "rest_client_requests_total"},
		"serve": {
			"evenkeel_extender_responses_total", "evenkeel_nodes", "evenkeel_cycles_total", "evenkeel_leader", "evenkeel_node_state",
			"go_goroutines", "rest_client_requests_total",
		},
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
		wantDocumented(t, page)
	}
}

// wantDocumented checks that docs/metrics.md lists all of Evenkeel's metrics on a page.
func wantDocumented(t *testing.T, page string) {
	t.Helper()
	reference, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[1] == "TYPE" && strings.HasPrefix(fields[2], "evenkeel_") &&
			!strings.Contains(string(reference), "`"+fields[2]+"`") {
			t.Errorf("docs/metrics.md has no %s", fields[2])
		}
	}
}

// checkAuthorized starts a process as in the manifests. Clients that the API server authorizes can
// read its /metrics, and every client can read its probes.
func (f *fixture) checkAuthorized(policy string) {
	f.T.Helper()
	f.letReadMetrics()
	address := f.FreeAddress()
	f.Serve(policy, "--listen-address", f.FreeAddress(), "--metrics-address", address, "--metrics-access", "authorized")
	f.Eventually(20*time.Second, "probes answer over HTTPS", func(context.Context) bool {
		status, _ := f.getAs("", "https://"+address+"/readyz")
		return status == http.StatusOK
	})
	for who, tc := range map[string]struct {
		kubeconfig string
		want       int
	}{
		"a client without a token":  {"", http.StatusUnauthorized},
		"one that may not get them": {f.Access.Extender, http.StatusForbidden},
		"one that may":              {f.Access.Evenkeel, http.StatusOK},
	} {
		if status, body := f.getAs(tc.kubeconfig, "https://"+address+"/metrics"); status != tc.want || strings.Contains(body, "\nevenkeel_") != (tc.want == http.StatusOK) {
			f.T.Errorf("/metrics for %s: status %d with %.200s, want %d", who, status, body, tc.want)
		}
	}
}

// extender runs `evenkeel extender` at the address that kube-scheduler asks,
// and waits until it answers.
func (f *fixture) extender(policy, metricsAddress string) {
	f.T.Helper()
	p := f.Start("extender", "--policy-config-file", policy, "--listen-address", stage.Listen(), "--metrics-address", metricsAddress)
	if err := p.WaitServing(f.T.Context(), "http://"+stage.Listen()+"/livez"); err != nil {
		f.T.Fatal(err)
	}
}

// wantExit waits until a process ends with exit code 0.
func (f *fixture) wantExit(p *evenkeel.Process, within time.Duration) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), within)
	defer cancel()
	if code, err := p.Wait(ctx); err != nil || code != 0 {
		f.T.Errorf("exit code %d, want 0: %v", code, err)
	}
}

// wantLeft fails the case unless every evicted hog was replaced on a node that was not hot.
func (f *fixture) wantLeft(skew stage.Skewed, evicted int) {
	f.T.Helper()
	if err := f.WaitReady(f.T.Context(), "shop", "hog"); err != nil {
		f.T.Fatal(err)
	}
	stayed := 0
	for _, pod := range f.Pods(f.T.Context(), "hog") {
		if slices.Contains(skew.Hot, pod.Spec.NodeName) {
			stayed++
		}
	}
	if want := 24 - evicted; stayed != want {
		f.T.Errorf("%d pods are on the nodes that were hot, want %d: a replacement went back", stayed, want)
	}
}

// evictionsBy counts the evictions that a process reports.
func evictionsBy(p *evenkeel.Process) (n int) {
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, `"Evicted pod"`) && strings.Contains(line, " destination=") {
			n++
		}
	}
	return n
}

// leader returns the holder of Evenkeel's Lease, or "" if there is none.
func (f *fixture) leader(ctx context.Context) string {
	lease, err := f.Client().CoordinationV1().Leases(evenkeel.Namespace).Get(ctx, "evenkeel", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// service acts like a Service for kube-scheduler: one address that leads to the first available
// backend.
func (f *fixture) service(address string, backends ...string) {
	f.T.Helper()
	listener, err := new(net.ListenConfig).Listen(f.T.Context(), "tcp", address)
	if err != nil {
		f.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.T.Context()))
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
	f.T.Cleanup(func() {
		cancel()
		_ = listener.Close()
		connections.Wait()
	})
}

// reportsOf returns where processes serve their reports, given the addresses at which they answer
// kube-scheduler.
func reportsOf(addresses ...string) (reports []string) {
	for _, address := range addresses {
		reports = append(reports, strings.TrimPrefix(evenkeel.Reports(address), "http://"))
	}
	return reports
}

// forward relays one connection to the first backend that accepts it, until one side closes it or
// the context is done.
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
