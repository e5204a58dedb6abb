package handshake

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/hostile"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// elsewhere is the address from which the hostile client connects. As with any other pod, it is not
// kube-scheduler's address.
const elsewhere = "127.0.0.66"

// A client that reaches the port and knows every UID, owner and node forges requests, to draw
// replacements to its node and to make all other nodes look full, while ten pods must move. The
// replacements still land on their planned nodes.
func TestForgersTakeNothing(t *testing.T) {
	testHostileClient(t, []hostile.Attack{hostile.MadeUp, hostile.Known, hostile.Foreign, hostile.Heavy})
}

// The same client also floods the port. kube-scheduler still gets its answers, and the process
// stays within its memory limit.
//
//e2e:tier all
//e2e:alone
func TestHostileClient(t *testing.T) { testHostileClient(t, hostile.Attacks()) }

func testHostileClient(t *testing.T, attacks []hostile.Attack) {
	fixed := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), fixed.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := fixed.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	limit, err := evenkeel.MemoryLimit(t.Context())
	if err != nil {
		t.Error(err)
	}
	answering, metrics := fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, answering)
	p := f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--listen-address", answering, "--metrics-address", metrics)
	lair := story.Nodes[len(story.Nodes)-1]
	stop := attack(fixed, hostile.Config{Target: answering, Nodes: story.Nodes, Lair: lair, Attacks: attacks})
	t.Cleanup(func() { f.tellDrawn(lair) })
	f.waitCool(2 * time.Minute)
	f.waitReady("hog", "web", "bg")
	report := stop()

	if total := report.Total(); total.Sent < 1000 {
		t.Errorf("the client sent %d requests: the case was not put to the test", total.Sent)
	}
	if late, asked := f.balancer.Late(); late > 0 {
		t.Errorf("%d of %d requests of kube-scheduler were not answered in time", late, asked)
	}
	if peak, err := p.PeakRSS(); err != nil || peak >= limit {
		t.Errorf("%d MiB resident, %v, want less than the shipped limit of %d MiB", peak>>20, err, limit>>20)
	} else {
		t.Logf("%d MiB resident at most, limit %d MiB", peak>>20, limit>>20)
	}
	f.waitSettled(answering, metrics, 3, "hog", "web", "bg")
	moves, _ := f.Ledger(answering)
	result := f.judge(moves)
	wantSkewCooled(f, story, result)
	if result.Evictions != story.FewestEvictions {
		t.Errorf("%d evictions, want the fewest possible, %d", result.Evictions, story.FewestEvictions)
	}
}

// attack starts a hostile client. It returns a function that stops the client and reports what it
// did. The client ends with the case at the latest.
func attack(f *stage.Fixture, config hostile.Config) (stop func() hostile.Report) {
	f.T.Helper()
	config.Source, config.Namespace = elsewhere, "shop"
	client, err := hostile.Start(context.WithoutCancel(f.T.Context()), config, f.Kubeconfig())
	if err != nil {
		f.T.Fatal(err)
	}
	stop = func() hostile.Report {
		report, err := client.Stop()
		if err != nil {
			f.T.Error(err)
		}
		return report
	}
	f.T.Cleanup(func() {
		report := stop()
		for _, attack := range config.Attacks {
			f.T.Logf("%s: %+v", attack, report[attack])
		}
	})
	return stop
}

// tellDrawn logs the client's effects.
func (f *fixture) tellDrawn(lair string) {
	late, asked := f.balancer.Late()
	drawn := 0
	for _, pod := range f.history.newcomers() {
		if pod.node == lair {
			drawn++
		}
	}
	f.T.Logf("figures: evictions %d, %d newcomers on the client's node, %d of %d requests of kube-scheduler late or without an answer",
		f.Evictions(f.mark), drawn, late, asked)
}

// With mutual TLS, the same client has no certificate and gets no response at all. kube-scheduler
// has one and gets its answers.
//
//e2e:tier all
//e2e:alone
func TestHostileClientWithoutCertificate(t *testing.T) {
	f := stage.New(t)
	certificates := f.Certificates()
	f.RestoreScheduler()
	if err := f.RestartScheduler(t.Context(), certificates.Extender(stage.Listen())); err != nil {
		t.Fatal(err)
	}
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(certificates.Mounted, name) }
	mark, metrics := f.Mark(), f.FreeAddress()
	p := f.Start("serve", "--policy-config-file", f.Policy(stage.RealUsage, stage.Fast), "--descheduling-interval", "3s", "--leader-elect=false",
		"--listen-address", stage.Listen(), "--metrics-address", metrics,
		"--tls-cert-file", in("tls.crt"), "--tls-private-key-file", in("tls.key"), "--client-ca-file", in("ca.crt"))
	if err := p.WaitServing(t.Context(), "http://"+metrics+"/readyz"); err != nil {
		t.Fatal(err)
	}
	stop := attack(f, hostile.Config{
		Target: stage.Listen(), Nodes: story.Nodes, Lair: story.Nodes[len(story.Nodes)-1], Attacks: hostile.Attacks(),
		Secure: true,
	})
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, evictLine)) == 0 })
	f.Eventually(30*time.Second, "no move in flight", func(context.Context) bool {
		moves, _ := f.Ledger(stage.Listen())
		return len(moves) > 0 && !slices.ContainsFunc(moves, func(m stage.Move) bool { return m.InFlight() })
	})
	total := stop().Total()
	if total.Sent < 1000 || total.Answered+total.Refused > 0 {
		t.Errorf("of %d requests %d were answered and %d refused, want no answer to any of 1000 or more", total.Sent, total.Answered, total.Refused)
	}
	moves, _ := f.Ledger(stage.Listen())
	onPlan := 0
	for i := range moves {
		if moves[i].State == "Landed" && moves[i].Node == moves[i].To {
			onPlan++
		}
	}
	if got := f.Evictions(mark); got != story.FewestEvictions || onPlan != got {
		t.Errorf("%d evictions, %d on plan, want %d of each", got, onPlan, story.FewestEvictions)
	}
	t.Logf("figures: evictions %d, on plan %d; of %d requests of the client none was answered", f.Evictions(mark), onPlan, total.Sent)
}
