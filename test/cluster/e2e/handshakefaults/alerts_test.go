package handshakefaults

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// alarmed is an `evenkeel serve` on a cluster without hot nodes, together with the faults that can
// affect it.
type alarmed struct {
	*fixture
	proxy           *apifault.Proxy
	process         *evenkeel.Process
	policy, metrics string
}

// start starts the process, replacing the previous one.
func (a *alarmed) start(args ...string) {
	a.T.Helper()
	a.stop()
	a.metrics = a.FreeAddress()
	a.process = a.Start("serve", append([]string{
		"--policy-config-file", a.policy, "--descheduling-interval", "3s", "--leader-elect=true",
		"--listen-address", a.FreeAddress(), "--metrics-address", a.metrics,
	}, args...)...)
	if err := a.process.WaitServing(a.T.Context(), "http://"+a.metrics+"/readyz"); err != nil {
		a.T.Fatal(err)
	}
}

func (a *alarmed) stop() {
	a.T.Helper()
	if a.process == nil {
		return
	}
	if err := a.process.Stop(); err != nil {
		a.T.Error(err)
	}
}

// well waits until the process completes cycles and nothing stops it from evicting.
func (a *alarmed) well() {
	a.T.Helper()
	a.shows(`evenkeel_cycles_total{result="success"}`, 1)
	for _, series := range []string{`evenkeel_nodes{state="unknown"}`, "evenkeel_ledger_unwritable", `evenkeel_evictions_on_hold{reason="pause_unreadable"}`} {
		a.Eventually(time.Minute, series+" 0", func(context.Context) bool { return a.Metric(a.metrics, series) == 0 })
	}
}

// shows waits until a series is at least the given value.
func (a *alarmed) shows(series string, least float64) {
	a.T.Helper()
	a.Eventually(90*time.Second, series, func(context.Context) bool { return a.Metric(a.metrics, series) >= least })
}

// met waits until a fault has affected the given number of requests to the API server.
func (a *alarmed) met(kind apifault.Kind, requests int) {
	a.T.Helper()
	until := a.proxy.Seen(kind) + requests
	a.Eventually(time.Minute, "requests that meet the fault", func(context.Context) bool { return a.proxy.Seen(kind) >= until })
}

// Each alert fires during its own fault, based on what a real process exports, and no other alert
// does. None fires while all is well. Alerts that need hot nodes are tested in cases that have
// some.
//
//e2e:tier all
func TestAlertsFireInTheirFaults(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	little := cluster.Resources{CPU: "500m", Memory: "256Mi"}
	if err := f.Place(t.Context(), cluster.Placement{Workload: stage.Workload("web", little, little), On: stage.On(3, nodes...)}); err != nil {
		t.Fatal(err)
	}
	through, proxy := f.APIProxy()
	a := &alarmed{fixture: &fixture{Fixture: through}, proxy: proxy, policy: f.Policy(stage.RealUsage, stage.Impatient)}
	a.start()
	a.well()
	a.Firing("all is well", nil, a.metrics)
	a.ofTheRunning()
	a.atTheStart()
	a.ofCertificates()

	// The limit is far below what the process uses. A limit that the heap itself exceeded would
	// leave no time for answers.
	t.Setenv("GOMEMLIMIT", "64MiB")
	a.start()
	a.well()
	a.Firing("the process has as much memory as it may", []string{"EvenkeelMemoryNearLimit"}, a.metrics)
	a.process.Kill()
	if _, _, err := evenkeel.Get(t.Context(), "http://"+a.metrics+"/metrics"); err == nil {
		t.Error("the process is killed, and its metrics are read")
	}
	a.Firing("nothing runs", []string{"EvenkeelDown"})
}

// ofTheRunning tests faults that start and end while the process runs.
func (a *alarmed) ofTheRunning() {
	t := a.T
	t.Helper()
	a.Pause(true)
	a.shows(`evenkeel_evictions_paused{reason="paused"}`, 1)
	a.Firing("the kill switch is set", []string{"EvenkeelEvictionsPaused"}, a.metrics)
	a.Pause(false)

	valid, err := os.ReadFile(a.policy)
	if err == nil {
		err = os.WriteFile(a.policy, []byte("kind: Nonsense\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.shows(`evenkeel_policy_loads_total{result="invalid"}`, 1)
	a.Firing("the policy is invalid", []string{"EvenkeelPolicyInvalid"}, a.metrics)
	if err := os.WriteFile(a.policy, valid, 0o600); err != nil {
		t.Fatal(err)
	}
	a.shows("evenkeel_policy_last_load_successful", 1)
	a.well()

	a.proxy.Apply(apifault.Rule{Percent: 20, Effect: apifault.WithStatus(http.StatusInternalServerError, 0)})
	a.met(apifault.Status, 5)
	a.FiringOver(40*time.Second, "one in five requests to the API server fails", []string{"EvenkeelAPIServerErrors"}, a.metrics)
	a.proxy.Apply()
	a.well()
	a.proxy.Apply(apifault.Rule{Effect: apifault.SlowBy(3 * time.Second)})
	a.met(apifault.Slow, 5)
	a.Firing("each request to the API server takes three seconds", []string{"EvenkeelAPIServerSlow"}, a.metrics)
	a.proxy.Apply()
	a.well()

	a.StopMetricsServer()
	a.shows(`evenkeel_nodes{state="unknown"}`, 4)
	a.Firing("metrics-server is down", []string{"EvenkeelUsageCoverageLow"}, a.metrics)
	if err := a.Restart(t.Context(), cluster.MetricsServer); err != nil {
		t.Fatal(err)
	}
}

// atTheStart tests faults that exist when the process starts.
func (a *alarmed) atTheStart() {
	t := a.T
	t.Helper()
	a.stop()
	a.proxy.Apply(apifault.Rule{Resources: []string{"leases"}, Effect: apifault.WithStatus(http.StatusForbidden, 0)})
	a.start()
	a.shows(`evenkeel_nodes{state="cool"}`, 4)
	a.Firing("nobody may have the Lease", []string{"EvenkeelNobodyLeads"}, a.metrics)
	a.stop()

	a.proxy.Apply(apifault.Rule{Verbs: []string{"get"}, Resources: []string{"configmaps"}, Effect: apifault.WithStatus(http.StatusForbidden, 0)})
	a.start()
	a.shows(`evenkeel_cycles_total{result="error"}`, 1)
	a.shows(`evenkeel_nodes{state="cool"}`, 4)
	a.Firing("the process may not read the ledger and the kill switch", []string{"EvenkeelCyclesFail", "EvenkeelNotEvicting"}, a.metrics)
	a.stop()
	a.proxy.Apply()

	ledgers := a.Client().CoreV1().ConfigMaps(evenkeel.Namespace)
	if err := ledgers.Delete(t.Context(), stage.LedgerName, metav1.DeleteOptions{}); err != nil {
		t.Logf("no ledger yet: %v", err)
	}
	newer := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: stage.LedgerName},
		BinaryData: map[string][]byte{stage.LedgerKey: a.packed(`{"format":7,"moves":[]}`)},
	}
	if _, err := ledgers.Create(t.Context(), newer, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.start()
	a.shows("evenkeel_ledger_unreadable", 1)
	a.shows(`evenkeel_nodes{state="cool"}`, 4)
	a.Firing("the ledger is of a newer version", []string{"EvenkeelLedgerUnreadable"}, a.metrics)
	a.stop()
	if err := ledgers.Delete(t.Context(), stage.LedgerName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ofCertificates tests faults in the certificate files with which the process serves
// kube-scheduler.
func (a *alarmed) ofCertificates() {
	t := a.T
	t.Helper()
	dir := t.TempDir()
	if got := stage.Run(t.Context(), t, dir, "certificates", "--directory", dir, "--validity", "24h"); got.Code != 0 {
		t.Fatalf("making certificates: %s", got.Stderr)
	}
	a.start("--tls-cert-file", filepath.Join(dir, "server.crt"), "--tls-private-key-file", filepath.Join(dir, "server.key"),
		"--client-ca-file", filepath.Join(dir, "ca.crt"))
	a.well()
	a.Firing("the certificate expires within a day", []string{"EvenkeelCertificateExpiresSoon"}, a.metrics)
	if err := os.WriteFile(filepath.Join(dir, "server.crt"), []byte("half of a cert"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.shows("evenkeel_extender_certificate_files_unusable", 1)
	a.Firing("its renewed file is damaged", []string{"EvenkeelCertificateExpiresSoon", "EvenkeelCertificateFilesUnusable"}, a.metrics)
}

// The API server fails every eviction with an error, whichever pod it is for, until the circuit
// breaker stops evicting.
//
//	hot node:   4 × 3 hog × 2200m = 26.4 of 32 cores = 82.5 %, of four namespaces
//	other node: 8 bg × 300m = 2.4 of 32 cores = 7.5 %
//
//e2e:tier all
func TestBreakerOpensOnErrors(t *testing.T) {
	fixed := stage.New(t)
	nodes, err := fixed.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hot := nodes[:2]
	placements := []cluster.Placement{
		{Workload: stage.Workload("bg", cluster.Resources{CPU: "2"}, cluster.Resources{CPU: "300m"}), On: stage.On(8, nodes[2:]...)},
	}
	for i := range 4 {
		hog := stage.Workload("hog", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "2200m"})
		hog.Namespace = fmt.Sprint("team-", i)
		placements = append(placements, cluster.Placement{Workload: hog, On: stage.On(3, hot...)})
	}
	if err := fixed.Place(t.Context(), placements...); err != nil {
		t.Fatal(err)
	}
	f := &fixture{Fixture: fixed, witness: fixed.Witness()}
	through, proxy := f.APIProxy()
	proxy.Apply(apifault.Rule{Resources: []string{"pods/eviction"}, Effect: apifault.WithStatus(http.StatusInternalServerError, 0)})
	metrics := f.FreeAddress()
	through.Serve(f.Policy(stage.RealUsage, stage.Impatient), "--leader-elect=true", "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "the breaker open", func(context.Context) bool {
		return f.Metric(metrics, `evenkeel_evictions_on_hold{reason="api_errors"}`) == 1
	})
	f.Firing("evictions fail", []string{"EvenkeelBreakerOpen"}, metrics)
	if now := f.Hot(t.Context(), 65); len(now) != len(hot) {
		t.Errorf("%v are hot, want %v: no eviction was granted", now, hot)
	}
}
