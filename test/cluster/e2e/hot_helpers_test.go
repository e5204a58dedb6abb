package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// watchPods calls each with the pods of a Deployment in the namespace shop, at once and after every
// change to one of them. It ends with the case or when stop is called, which waits for the last
// call.
func (f *fixture) watchPods(deployment string, each func(pods map[types.UID]*v1.Pod)) (stop func()) {
	f.T.Helper()
	selector := metav1.ListOptions{LabelSelector: "app=" + deployment}
	list, err := f.Client().CoreV1().Pods("shop").List(f.T.Context(), selector)
	if err != nil {
		f.T.Fatal(err)
	}
	selector.ResourceVersion = list.ResourceVersion
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.T.Context())) // stopped by the cleanup, not before it
	changes, err := f.Client().CoreV1().Pods("shop").Watch(ctx, selector)
	if err != nil {
		cancel()
		f.T.Fatal(err)
	}
	pods := map[types.UID]*v1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].UID] = &list.Items[i]
	}
	stopping, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		each(pods)
		for {
			select {
			case <-stopping:
				return
			case change, ok := <-changes.ResultChan():
				pod, isPod := change.Object.(*v1.Pod)
				if !ok || !isPod {
					f.T.Errorf("the watch on pods ended early: %v", change)
					return
				}
				pods[pod.UID] = pod
				if change.Type == watch.Deleted {
					delete(pods, pod.UID)
				}
				each(pods)
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(stopping)
		<-done
		changes.Stop()
		cancel()
	})
	f.T.Cleanup(stop)
	return stop
}

// crowdFirst adds three nodes with 32 cores and 256 GiB. It places twelve pods on the first node,
// and an idle pod on each of the others, because metrics-server omits nodes that use nothing.
func (f *fixture) crowdFirst(crowd cluster.Workload) (nodes []string) {
	f.T.Helper()
	nodes, err := f.AddNodes(f.T.Context(), 3, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		f.T.Fatal(err)
	}
	idle := stage.Workload("idle", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "300m", Memory: "1Gi"})
	err = f.Place(f.T.Context(),
		cluster.Placement{Workload: crowd, On: stage.On(12, nodes[0])}, cluster.Placement{Workload: idle, On: stage.On(1, nodes[1:]...)})
	if err != nil {
		f.T.Fatal(err)
	}
	return nodes
}

// explanation is the reason why a pod stays.
type explanation struct{ Reason, Detail string }

// because reports whether the reason is the given one or the detail contains it.
func (e explanation) because(reason string) bool {
	return e.Reason == reason || strings.Contains(e.Detail, reason)
}

func (f *fixture) explained(pod string) (why explanation) {
	f.T.Helper()
	f.Fetch(stage.Reports()+"/explain/pod/"+pod, &why)
	return why
}

// podsOn returns the pods of a Deployment on a node.
func (f *fixture) podsOn(ctx context.Context, deployment, node string) (found []v1.Pod) {
	f.T.Helper()
	for _, pod := range f.Pods(ctx, deployment) {
		if pod.Spec.NodeName == node {
			found = append(found, pod)
		}
	}
	if len(found) == 0 {
		f.T.Fatalf("no pod of %s is on %s", deployment, node)
	}
	return found
}

// podOn returns the only pod of a Deployment on a node.
func (f *fixture) podOn(ctx context.Context, deployment, node string) v1.Pod {
	f.T.Helper()
	found := f.podsOn(ctx, deployment, node)
	if len(found) != 1 {
		f.T.Fatalf("%d pods of %s are on %s, want 1", len(found), deployment, node)
	}
	return found[0]
}

func ready(pod *v1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

// boundAfter returns how long a pod waited for its node, in whole seconds, because the API stores
// no fractions.
func boundAfter(t *testing.T, pod *v1.Pod) time.Duration {
	t.Helper()
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionTrue {
			return condition.LastTransitionTime.Sub(pod.CreationTimestamp.Time)
		}
	}
	t.Errorf("pod %s was never bound", pod.Name)
	return 0
}
