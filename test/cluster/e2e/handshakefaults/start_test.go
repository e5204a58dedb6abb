package handshakefaults

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Processes are started while the API server is unavailable. Those that answer kube-scheduler do so
// at once, with neutral answers. A single run fails with the reason. Once the API server is
// available, all nodes are known.
func TestStartsBeforeTheAPIServer(t *testing.T) {
	f, skew := newFixture(t)
	f.witness.AllowGaps()
	policy, metrics, beside, besideMetrics := f.Policy(stage.RealUsage, stage.Fast), f.FreeAddress(), f.FreeAddress(), f.FreeAddress()
	if err := f.Kill(cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	serve := f.Serve(policy, append(shortLease(), "--metrics-address", metrics)...)
	extender := f.Start("extender", "--policy-config-file", policy, "--listen-address", beside, "--metrics-address", besideMetrics)
	if err := extender.WaitServing(t.Context(), "http://"+besideMetrics+"/readyz"); err != nil {
		t.Fatal(err)
	}
	f.WantNeutral(stage.Listen(), skew.Nodes)
	f.WantNeutral(beside, skew.Nodes)
	if status, body, err := evenkeel.Get(t.Context(), "http://"+metrics+"/readyz"); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d %q, %v before the watches have delivered", status, body, err)
	}
	once := stage.Run(t.Context(), t, t.TempDir(), "run", "--kubeconfig", f.Access.Evenkeel, "--namespace", evenkeel.Namespace,
		"--policy-config-file", policy, "--metrics-address", "0")
	if once.Code != 1 || !strings.Contains(once.Stderr, "evenkeel: reaching the API server at ") || once.Took > 15*time.Second {
		t.Errorf("a single run ended with %d after %v:\n%s", once.Code, once.Took, once.Stderr)
	}
	for _, p := range []*evenkeel.Process{serve, extender} {
		if p.Ended() {
			t.Fatal("a process that answers kube-scheduler has ended")
		}
	}

	if err := f.Restart(t.Context(), cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	if err := serve.WaitServing(t.Context(), "http://"+metrics+"/readyz"); err != nil {
		t.Fatal(err)
	}
	ready := time.Since(back)
	f.knows(serve, stage.Listen())
	f.knows(extender, beside)
	f.Eventually(30*time.Second, "a leader", func(context.Context) bool { return stage.Leads(serve) })
	t.Logf("figures: ready after %.1f s, all nodes known and leading after %.1f s", ready.Seconds(), time.Since(back).Seconds())
}
