package realkubelets

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
)

// The destination of the first move loses its power when the replacement is bound to it. The
// control plane notices after 50 seconds and gives up its pods. Meanwhile no other pod of
// that owner is evicted, nothing is ever sent to the lost node again, and then the relief
// goes on.
//
//	hot node: 4 hog × 115m = 460 of 500m = 92 %, as in skew; four nodes, so that one is less than a third
//
//e2e:tier all
func TestDestinationIsLostInMidMove(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 4)
	hog := burning("hog", cluster.Resources{CPU: "20m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 115, MemoryMiB: 30, Linger: 3 * time.Second})
	burn := hog.Adjust
	hog.Adjust = func(template *v1.PodTemplateSpec) {
		burn(template)
		seconds := int64(5)
		for _, taint := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
			template.Spec.Tolerations = append(template.Spec.Tolerations, v1.Toleration{
				Key: taint, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds,
			})
		}
	}
	if err := f.Place(t.Context(), cluster.Placement{Workload: hog, On: stage.On(4, nodes[0].Name)}); err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, loadPolicy))
	f.Eventually(2*time.Minute, "the first eviction", func(context.Context) bool { return f.Evictions(mark) > 0 && len(f.Moves()) > 0 })
	lost := nodeNamed(nodes, f.Moves()[0].To)
	if lost == nil {
		t.Fatalf("the first move goes to %q", f.Moves()[0].To)
	}
	f.Eventually(30*time.Second, "its replacement bound there", func(ctx context.Context) bool { return len(on(f.Pods(ctx, "hog"), lost.Name)) == 1 })
	lostAt := time.Now()
	if err := lost.PowerOff(); err != nil {
		t.Fatal(err)
	}
	f.Eventually(2*time.Minute, "the control plane to give up the pods of the lost node", func(ctx context.Context) bool {
		return !slices.ContainsFunc(on(f.Pods(ctx, "hog"), lost.Name), func(pod v1.Pod) bool { return pod.DeletionTimestamp == nil })
	})
	t.Logf("figures: pods given up %.0f s after the loss, %d evictions until then", time.Since(lostAt).Seconds(), f.Evictions(mark))
	if n := f.Evictions(mark); n > 1 {
		t.Errorf("%d evictions before the lost replacement was replaced", n)
	}
	f.Eventually(2*time.Minute, "the hot node to be cool", func(ctx context.Context) bool {
		used, err := f.MeasuredUsage(ctx)
		return err == nil && used[nodes[0].Name].CPUPercent > 0 && used[nodes[0].Name].CPUPercent < evictLine
	})
	for i, move := range f.Moves() {
		if i > 0 && move.To == lost.Name {
			t.Errorf("move of %s goes to %s, which is lost", move.Pod, lost.Name)
		}
	}
	t.Logf("figures: the hot node is cool %.0f s after the loss, with %d evictions", time.Since(lostAt).Seconds(), f.Evictions(mark))
	if n := f.Evictions(mark); n != 2 {
		t.Errorf("%d evictions, want 2, as without the loss", n)
	}
}

// on returns the pods that are bound to a node.
func on(pods []v1.Pod, node string) []v1.Pod {
	return slices.DeleteFunc(pods, func(pod v1.Pod) bool { return pod.Spec.NodeName != node })
}

func nodeNamed(nodes []*kubelets.Node, name string) *kubelets.Node {
	for _, node := range nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}
