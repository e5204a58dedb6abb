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
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// pendingAtMost is how long a replacement may wait for a node once
// kube-scheduler runs.
const pendingAtMost = 10 * time.Second

// kube-scheduler is stopped four times between an eviction and the scheduling of the replacement.
// The first time, the extender is meanwhile killed and restarted, and the replacement lands on its
// planned node. The other times, the planned node is cordoned, heated up or deleted, and the
// replacement lands on another node that is not hot.
//
// The newest sample judges nodes, so that heat is known within seconds.
func TestBetweenEvictionAndScheduling(t *testing.T) {
	f, skew := newFixture(t)
	policy := f.Policy(stage.RealUsage, strings.Replace(paced(4*time.Second), "windows: [avg_5m]", "windows: [last]", 1))
	extender := f.extender(policy)
	t.Cleanup(func() { f.schedule(context.WithoutCancel(t.Context())) })
	if err := f.Shutdown(cluster.Scheduler); err != nil {
		t.Fatal(err)
	}
	f.Start("run", append(shortLease(), "--policy-config-file", policy, "--metrics-address", "0",
		"--extender-url", "http://"+stage.Listen(), "--descheduling-interval", "2s")...)

	move := f.held()
	extender.Kill()
	f.extender(policy)
	if landed := f.lands(move); landed != move.To {
		t.Errorf("with the extender restarted the replacement landed on %s, planned was %s; the extender knows %v", landed, move.To, f.Moves())
	}

	move = f.held()
	f.cordon(move.To, true)
	f.landsElsewhere(move, "cordoned")
	f.cordon(move.To, false)

	move = f.held()
	f.heat(move.To, "3500m") // 8 bg × 3500m = 28 of 32 cores
	f.Eventually(40*time.Second, move.To+" to be hot", func(context.Context) bool { return f.Are("hot", move.To) })
	f.landsElsewhere(move, "hot")
	f.heat(move.To, "300m")
	heated := move.To

	move = f.held()
	if err := f.Client().CoreV1().Nodes().Delete(t.Context(), move.To, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.landsElsewhere(move, "deleted")
	f.schedule(t.Context())

	f.cooled(time.Minute)
	f.released(stage.Listen())
	f.witness.Check(skew.Fewest + 1 + f.bystanders(heated))
	f.notAgain()
}

// held stops kube-scheduler, and waits for an eviction whose replacement now needs scheduling.
func (f *fixture) held() (held stage.Move) {
	f.T.Helper()
	if err := f.Shutdown(cluster.Scheduler); err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(90*time.Second, "a move that waits for kube-scheduler", func(context.Context) bool {
		for _, move := range f.Moves() {
			if move.State == "Evicted" && move.Replacement != "" {
				held = move
				return true
			}
		}
		return false
	})
	pod := f.PodsByUID(f.T.Context())[held.Replacement]
	if pod.UID == "" || pod.Spec.NodeName != "" {
		f.T.Fatalf("%v: the replacement is on %q, want one that waits", held.String(), pod.Spec.NodeName)
	}
	return held
}

// schedule starts kube-scheduler again.
func (f *fixture) schedule(ctx context.Context) {
	f.T.Helper()
	if f.Running(cluster.Scheduler) {
		return
	}
	if err := f.Restart(ctx, cluster.Scheduler); err != nil {
		f.T.Fatal(err)
	}
}

// lands starts kube-scheduler and returns the node where the held replacement landed.
func (f *fixture) lands(held stage.Move) (node string) {
	f.T.Helper()
	f.schedule(f.T.Context())
	f.Eventually(pendingAtMost, "the replacement of pod "+held.Pod+" to be bound", func(ctx context.Context) bool {
		node = f.PodsByUID(ctx)[held.Replacement].Spec.NodeName
		return node != ""
	})
	return node
}

// landsElsewhere starts kube-scheduler. The held replacement must land on a node that is neither
// the planned one nor hot.
func (f *fixture) landsElsewhere(held stage.Move, spoilt string) {
	f.T.Helper()
	states := f.States(f.T.Context())
	node := f.lands(held)
	if node == held.To || node == held.From || states[node] == "hot" {
		f.T.Errorf("its destination %s was %s: the replacement landed on %s, which is %s", held.To, spoilt, node, states[node])
	}
	if slices.Contains(f.Hot(f.T.Context(), 60), node) {
		f.T.Errorf("its destination %s was %s: the replacement lifts %s above the line", held.To, spoilt, node)
	}
	f.T.Logf("planned for %s, which was %s: landed on %s", held.To, spoilt, node)
}

func (f *fixture) cordon(node string, cordoned bool) {
	f.T.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned)
	_, err := f.Client().CoreV1().Nodes().Patch(f.T.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
}

// heat sets the usage of each bg pod on a node.
func (f *fixture) heat(node, cpu string) {
	f.T.Helper()
	pods := slices.DeleteFunc(f.Pods(f.T.Context(), "bg"), func(p v1.Pod) bool { return p.Spec.NodeName != node })
	for _, pod := range pods {
		if err := f.SetUsage(f.T.Context(), pod.Namespace, pod.Name, cluster.Resources{CPU: cpu}); err != nil {
			f.T.Fatal(err)
		}
	}
}

// bystanders counts the evictions from the heated node, which are justified because it really was
// hot.
func (f *fixture) bystanders(heated string) (n int) {
	document, _ := f.witness.Document()
	for _, eviction := range f.witness.Evictions() {
		if move, _ := document.Of(f.witness.UID(eviction.Pod)); move.From == heated {
			n++
		}
	}
	return n
}
