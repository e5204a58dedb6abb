package handshake

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// All processes know that nodes are hot, but nothing is evicted before the blackout ends. Evictions
// then start at once.
//
//e2e:tier all
func TestBlackout(t *testing.T) {
	const lasts = 3 * time.Minute
	fixed := stage.New(t)
	skew := fixed.Skew()
	began := time.Now().UTC().Truncate(time.Minute)
	ends := began.Add(lasts)
	blackout := fmt.Sprintf("eviction: {blackouts: [{schedule: '%d %d * * *', duration: %s}], ", began.Minute(), began.Hour(), lasts)
	serving, metrics := fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, serving)
	p := f.Serve(f.Policy(stage.RealUsage, strings.Replace(stage.Fast, "eviction: {", blackout, 1)),
		"--listen-address", serving, "--metrics-address", metrics)
	f.Eventually(lasts, "the hot nodes known", func(context.Context) bool { return f.Are("hot", skew.Hot...) })
	if !time.Now().Before(ends) {
		t.Fatal("the blackout was over before the nodes were known to be hot: the case was not put to the test")
	}
	if evictions := f.Evictions(f.mark); evictions != 0 {
		t.Errorf("%d evictions in the blackout", evictions)
	}
	f.Eventually(time.Minute, "a plan that says why it rests", func(context.Context) bool {
		return strings.Contains(p.Log(), `closed="OutsideWindow: `)
	})
	f.waitCool(lasts + 2*time.Minute)
	f.waitSettled(serving, metrics, 2, "hog")

	evictions := f.Granted(f.mark)
	for _, eviction := range evictions {
		if eviction.At.Before(ends) {
			t.Errorf("pod %s was evicted at %s, before the blackout ended at %s", eviction.Pod, eviction.At, ends)
		}
	}
	if len(evictions) > skew.Fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", len(evictions), skew.Fewest)
	}
}

// careful evicts slowly, so that the fate of a replacement is known before the next pod is evicted.
var careful = strings.Replace(stage.Fast, "eviction: {",
	"eviction: {interval: 3s, breaker: {maxUnreadyReplacements: 1}, ", 1)

// Replacements that crash stop evictions in their namespace only, even though nodes are still hot.
// Evictions resume once the replacements are ready.
//
//	hot node:   4 × 3 hog × 2200m = 26.4 of 32 cores = 82.5 %; under 65 % (20.8 cores) takes 3 hogs off
//	vault's:    5 vault × 4800m = 24 of 32 cores = 75 %; 1 has to go
//	other node: 8 bg × 300m = 2.4 of 32 cores = 7.5 %
func TestBreaker(t *testing.T) {
	const owners, fewest = 4, 6
	fixed := stage.New(t)
	nodes, err := fixed.AddNodes(t.Context(), 7, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	vault := stage.Workload("vault", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "4800m"})
	vault.Namespace = "vault"
	placements := []cluster.Placement{
		{Workload: stage.Workload("bg", cluster.Resources{CPU: "2"}, cluster.Resources{CPU: "300m"}), On: stage.On(8, nodes[3:]...)},
	}
	for i := range owners {
		hog := stage.Workload(fmt.Sprintf("hog%d", i), cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "2200m"})
		placements = append(placements, cluster.Placement{Workload: hog, On: stage.On(3, nodes[:2]...)})
	}
	if err := fixed.Place(t.Context(), placements...); err != nil {
		t.Fatal(err)
	}
	serving, metrics := fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, serving)
	health := f.crashNewcomers()
	p := f.Serve(f.Policy(stage.RealUsage, careful), "--listen-address", serving, "--metrics-address", metrics)
	f.Eventually(3*time.Minute, "shop stopped by its breaker", func(context.Context) bool {
		return strings.Contains(p.Log(), `reason="ReplacementsUnready"`)
	})
	stopped := f.Evictions(f.mark)
	if err := f.Place(t.Context(), cluster.Placement{Workload: vault, On: stage.On(5, nodes[2])}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(3*time.Minute, "vault's node hot, and cool again", func(ctx context.Context) bool {
		return f.Evictions(f.mark) > stopped && !strings.Contains(strings.Join(f.Hot(ctx, evictLine), " "), nodes[2])
	})
	f.waitCycles(metrics, 3)
	if now := f.Evictions(f.mark); now != stopped+1 || stopped >= fewest {
		t.Errorf("%d evictions when shop was stopped, of %d that cool its nodes, %d three cycles after vault was relieved by one", stopped, fewest, now)
	}
	if len(f.Hot(t.Context(), evictLine)) == 0 {
		t.Error("no node is still hot: the case proves nothing")
	}
	health.Store(true)
	f.waitCool(3 * time.Minute)
	f.waitSettled(serving, metrics, 2)
	if all := f.Evictions(f.mark); all > fewest+2 {
		t.Errorf("%d evictions, the fewest possible are %d", all, fewest+1)
	}
}

// crashNewcomers makes every new pod crash until well is set.
func (f *fixture) crashNewcomers() (well *atomic.Bool) {
	well = &atomic.Bool{}
	done, ctx := make(chan struct{}), f.T.Context()
	f.T.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			for _, came := range f.history.newcomers() {
				if came.node != "" && came.gone.IsZero() {
					f.setHealth(ctx, came.name, well.Load())
				}
			}
		}
	}()
	return well
}

// setHealth makes a pod ready, or not ready after three crashes. It ignores pods that no longer
// exist.
func (f *fixture) setHealth(ctx context.Context, name string, well bool) {
	status, restarts := v1.ConditionTrue, int32(0)
	if !well {
		status, restarts = v1.ConditionFalse, 3
	}
	pods := f.Client().CoreV1().Pods("shop")
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil || len(pod.Status.ContainerStatuses) == 0 || readyIs(pod, status) {
		return
	}
	container := pod.Status.ContainerStatuses[0]
	container.Ready, container.RestartCount = well, restarts
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"conditions":        []v1.PodCondition{{Type: v1.PodReady, Status: status}},
		"containerStatuses": []v1.ContainerStatus{container},
	}})
	if err != nil {
		return
	}
	_, _ = pods.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

func readyIs(pod *v1.Pod, status v1.ConditionStatus) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.Status == status
		}
	}
	return false
}
