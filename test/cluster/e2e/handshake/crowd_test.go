package handshake

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// Twenty pods of a Deployment of 60 are moved in one cycle. Meanwhile twelve of its other pods are
// deleted by hand, and it is scaled up by twenty. 52 pods arrive that differ only in their UIDs.
// Twenty of them take over one move each, and the others are placed by usage. No node ever exceeds
// its reject line.
//
//	hot node:   12 hog × 2 + 6 web × 1   = 30   of 32 cores = 93.8 %; under 65 % (20.8) takes 5 hogs off
//	other node:  1 hog × 2 + 4 bg × 1.4  =  7.6 of 32 cores = 23.8 %; up to 60 % (19.2) it may hold 6 hogs, 72 on all twelve,
//	                                                                  and 52 have to go there
func TestMovesInACrowd(t *testing.T) {
	const burning, all, moved, deleted, added = 4, 16, 20, 12, 20
	fixed := stage.New(t)
	nodes, err := fixed.AddNodes(t.Context(), all, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hot, others := nodes[:burning], nodes[burning:]
	placeCrowd(fixed, hot, others)
	serving, metrics := fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, serving)
	quick := strings.Replace(stage.Fast, "cycleDeadline: 3m", "cycleDeadline: 3m, interval: 100ms, maxInFlightPercentOfOwner: 50", 1)
	f.Pause(true) // until Evenkeel knows all hot nodes, so that one cycle makes all the moves
	p := f.Serve(f.Policy(stage.RealUsage, quick), "--listen-address", serving, "--metrics-address", metrics)
	f.Eventually(5*time.Minute, "every node known for what it is", func(context.Context) bool {
		return f.Are("hot", hot...) && f.Are("cool", others...) && f.Measured(90, hot...)
	})
	byHand := f.Pods(t.Context(), "hog")
	f.Pause(false)
	f.Eventually(2*time.Minute, "the first eviction", func(context.Context) bool { return !f.history.lastGone().IsZero() })
	f.disturb(added, func(node string) bool { return !strings.Contains(strings.Join(hot, " "), node) })
	f.waitCool(2 * time.Minute)
	f.waitSettled(serving, metrics, 3, "hog", "web", "bg")

	if !strings.Contains(p.Log(), `"Planned" profile="evenkeel" moves=20`) {
		t.Error("no cycle planned twenty moves: the case was not put to the test")
	}
	moves, _ := f.Ledger(serving)
	result := f.judge(moves)
	if result.Landed < moved || result.Landed > moved+1 {
		t.Errorf("%d moves landed, want %d or one more", result.Landed, moved)
	}
	if came := len(f.history.newcomers()); came != result.Landed+deleted+added {
		t.Errorf("%d pods came, want %d for moves, %d for those deleted of %d, and %d more", came, result.Landed, deleted, len(byHand), added)
	}
	f.wantPinned(result.Landed)
	f.wantBelow(rejectLine, others...)
}

func placeCrowd(f *stage.Fixture, hot, others []string) {
	f.T.Helper()
	little := cluster.Resources{CPU: "250m", Memory: "128Mi"}
	using := func(cpu string) cluster.Resources { return cluster.Resources{CPU: cpu, Memory: "256Mi"} }
	hogs := stage.On(12, hot...)
	for _, node := range others {
		hogs[node] = 1
	}
	err := f.Place(f.T.Context(),
		cluster.Placement{Workload: stage.Workload("hog", little, using("2")), On: hogs},
		cluster.Placement{Workload: stage.Workload("web", little, using("1")), On: stage.On(6, hot...)},
		cluster.Placement{
			Workload: stage.Workload("bg", cluster.Resources{CPU: "4", Memory: "128Mi"}, using("1400m")),
			On:       stage.On(4, others...),
		})
	if err != nil {
		f.T.Fatal(err)
	}
}

// disturb scales up the Deployment of hogs, and at the same time deletes the hogs on the nodes that
// satisfy on.
func (f *fixture) disturb(added int32, on func(node string) bool) {
	f.T.Helper()
	group, ctx := errgroup.WithContext(f.T.Context())
	for _, pod := range f.Pods(f.T.Context(), "hog") {
		if seen, _ := f.history.pod(string(pod.UID)); seen.old && on(pod.Spec.NodeName) {
			group.Go(func() error {
				return f.Client().CoreV1().Pods("shop").Delete(ctx, pod.Name, metav1.DeleteOptions{})
			})
		}
	}
	group.Go(func() error { return f.scaleUp(ctx, "hog", added) })
	if err := group.Wait(); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) scaleUp(ctx context.Context, deployment string, by int32) error {
	deployments := f.Client().AppsV1().Deployments("shop")
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // its controller writes it as well
		scale, err := deployments.GetScale(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas += by
		_, err = deployments.UpdateScale(ctx, deployment, scale, metav1.UpdateOptions{})
		return err
	})
}

// wantPinned checks that exactly the given number of new pods could go to only one node, and that
// all others had a choice.
func (f *fixture) wantPinned(want int) {
	f.T.Helper()
	pinned := 0
	for _, came := range f.history.newcomers() {
		if answers := f.balancer.Answers(came.uid); len(answers) > 0 && len(answers[len(answers)-1].Kept) == 1 {
			pinned++
		}
	}
	if pinned != want {
		f.T.Errorf("kube-scheduler was given a single node for %d pods, want %d, as many as there are moves", pinned, want)
	}
}
