package handshakefaults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// paced is stage.Fast with the shortest observation that the policy allows, one move per owner at a
// time, and the given interval between evictions, in which a fault fits.
func paced(interval time.Duration) string {
	return strings.NewReplacer(
		"observationPeriod: 25s", "observationPeriod: 10s", "minWindow: 15s", "minWindow: 10s",
		"ownerSettle: 0s", "ownerSettle: 0s, maxInFlightPercentOfOwner: 0, interval: "+interval.String(),
	).Replace(stage.Fast)
}

// shortLease returns flags with which another process can take over an abandoned Lease within
// seconds.
func shortLease() []string {
	return []string{
		"--leader-elect=true", "--leader-elect-lease-duration", "5s",
		"--leader-elect-renew-deadline", "4s", "--leader-elect-retry-period", "1s",
	}
}

// leaseOver is how long after the last renewal another process may have taken over the Lease, given
// shortLease.
const leaseOver = 5 * time.Second

// fixture is one case's cluster and witness.
type fixture struct {
	*stage.Fixture
	witness *stage.Witness
}

// extender runs `evenkeel extender` at the address that kube-scheduler asks, and waits until it
// knows all nodes.
func (f *fixture) extender(policy string) *evenkeel.Process {
	f.T.Helper()
	p := f.Start("extender", "--policy-config-file", policy, "--listen-address", stage.Listen(), "--metrics-address", "0")
	f.knows(p, stage.Listen())
	return p
}

// knows waits until a process answers and has measured every node.
func (f *fixture) knows(p *evenkeel.Process, listen string) {
	f.T.Helper()
	if err := p.WaitServing(f.T.Context(), "http://"+listen+"/livez"); err != nil {
		f.T.Fatal(err)
	}
	nodes, err := f.Client().CoreV1().Nodes().List(f.T.Context(), metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(40*time.Second, fmt.Sprintf("%s to know all nodes", listen), func(context.Context) bool {
		return f.Status(listen).FreshNodes == len(nodes.Items)
	})
}

// until waits until the witness has seen what it was asked to report.
func (f *fixture) until(within time.Duration, what string, seen <-chan struct{}) {
	f.T.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-seen:
	case <-timer.C:
		f.T.Fatalf("not within %v: %s", within, what)
	}
}

// stays fails the case if, at any time during the period, there are more evictions than given.
func (f *fixture) stays(evictions int, during time.Duration) {
	f.T.Helper()
	end := time.NewTimer(during)
	defer end.Stop()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		if got := len(f.witness.Evictions()); got > evictions {
			f.T.Fatalf("%d evictions, want it to stay at %d", got, evictions)
		}
		select {
		case <-end.C:
			return
		case <-look.C:
		}
	}
}

// cooled waits until no node is above the evict line by true usage, and all replacements are ready.
func (f *fixture) cooled(within time.Duration) {
	f.T.Helper()
	f.Eventually(within, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	if err := f.WaitReady(f.T.Context(), "shop", "hog"); err != nil {
		f.T.Fatal(err)
	}
}

// allBound reports whether each Deployment has all its pods and each of them has a node. It counts
// against the Deployment's replicas, because pods that are not created yet cannot be listed.
func (f *fixture) allBound(ctx context.Context) bool {
	f.T.Helper()
	deployments, err := f.Client().AppsV1().Deployments("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	missing := int32(0)
	for i := range deployments.Items {
		missing += *deployments.Items[i].Spec.Replicas
	}
	for _, pod := range f.PodsByUID(ctx) {
		if pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" {
			missing--
		}
	}
	return missing == 0
}

// released waits until none of the processes holds a reservation because every move has landed, was
// cancelled or has expired. Moves that are still in flight in the stored ledger must not have
// expired.
func (f *fixture) released(listen ...string) {
	f.T.Helper()
	for _, address := range listen {
		f.Eventually(20*time.Second, "no move in flight for "+address, func(context.Context) bool {
			moves, _ := f.Ledger(address)
			return !slices.ContainsFunc(moves, func(m stage.Move) bool { return m.InFlight() })
		})
	}
	document, _ := f.witness.Document()
	for _, move := range document.Moves {
		if late := time.Since(move.Expires()); move.InFlight() && late > 10*time.Second {
			f.T.Errorf("the move of pod %s is in flight %v after its time", move.Pod, late)
		}
	}
}

// onPlan fails the case unless the replacement of every evicted pod was bound to its planned node
// and the process knows that.
func (f *fixture) onPlan(listen string) {
	f.T.Helper()
	moves, _ := f.Ledger(listen)
	pods := f.PodsByUID(f.T.Context())
	for _, eviction := range f.witness.Evictions() {
		var move stage.Move
		for _, m := range moves { // the newest move counts, because the pod may have been selected before
			if m.Pod == eviction.Pod && m.State != "Cancelled" {
				move = m
			}
		}
		pod := pods[move.Replacement]
		if move.State != "Landed" || move.Node != move.To || pod.Spec.NodeName != move.To {
			f.T.Errorf("pod %s was evicted; %v; its replacement is on %q", eviction.Pod, move.String(), pod.Spec.NodeName)
		}
	}
}

// notAgain fails the case if the replacement of an evicted pod was evicted.
func (f *fixture) notAgain() {
	f.T.Helper()
	document, _ := f.witness.Document()
	evicted := map[string]bool{}
	for _, eviction := range f.witness.Evictions() {
		evicted[f.witness.UID(eviction.Pod)] = true
	}
	for _, move := range document.Moves {
		if evicted[move.PodUID] && evicted[move.Replacement] {
			f.T.Errorf("the replacement of pod %s was evicted as well", move.Pod)
		}
	}
}

// stored returns the ledger's ConfigMap.
func (f *fixture) stored() *v1.ConfigMap {
	f.T.Helper()
	stored, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Get(f.T.Context(), stage.LedgerName, metav1.GetOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	return stored
}

func newFixture(t *testing.T) (*fixture, stage.Skewed) {
	t.Helper()
	f := stage.New(t)
	skew := f.Skew()
	return &fixture{Fixture: f, witness: f.Witness()}, skew
}
