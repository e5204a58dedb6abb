package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// moveStatus is one move of GET /status.
type moveStatus struct {
	Pod, From, To, Node, State, Replacement string
	Asked                                   bool
}

// moves asks the serving Evenkeel for its ledger, oldest ended move first.
func (f *fixture) moves() []moveStatus {
	f.t.Helper()
	var status struct{ Moves []moveStatus }
	f.fetch("http://"+shared.listen+"/status", &status)
	return status.Moves
}

// states asks the serving Evenkeel what it takes each node for.
func (f *fixture) states(context.Context) map[string]string {
	f.t.Helper()
	var nodes []struct{ Name, State string }
	f.fetch("http://"+shared.listen+"/nodes", &nodes)
	states := map[string]string{}
	for _, node := range nodes {
		states[node.Name] = node.State
	}
	return states
}

// are says whether the serving Evenkeel takes all these nodes for the same.
func (f *fixture) are(state string, nodes ...string) bool {
	f.t.Helper()
	states := f.states(f.t.Context())
	return !slices.ContainsFunc(nodes, func(node string) bool { return states[node] != state })
}

// planned is what `plan -o json` prints, as far as cases read it.
type planned struct {
	Closed   string
	Moves    []struct{ Pod, From, To string }
	Declined []struct{ Pod, Node, Reason, Detail string }
	Nodes    []struct{ Name, State, Reason string }
}

// plan runs `evenkeel plan -o json`, which observes for as long as the policy says.
func (f *fixture) plan(ctx context.Context, policy string) planned {
	f.t.Helper()
	command := exec.CommandContext(ctx, shared.binary, "plan", "-o", "json",
		"--kubeconfig", f.access.Evenkeel, "--namespace", evenkeel.Namespace, "--policy-config-file", policy)
	var log bytes.Buffer
	command.Stderr = &log
	out, err := command.Output()
	if err != nil {
		f.t.Fatalf("evenkeel plan: %v\n%s", err, log.String())
	}
	var plan planned
	if err := json.Unmarshal(out, &plan); err != nil {
		f.t.Fatalf("evenkeel plan: %v in:\n%s", err, out)
	}
	return plan
}

// reasons returns why a plan does not move the pods of a workload on a node, each reason once with one of its details.
func (p *planned) reasons(node, workload string) (reasons map[string]string, pods int) {
	reasons = map[string]string{}
	for _, declined := range p.Declined {
		if declined.Node == node && strings.HasPrefix(declined.Pod, workload) {
			reasons[declined.Reason] = declined.Detail
			pods++
		}
	}
	return reasons, pods
}

// watchPods calls each with the pods of a Deployment in namespace shop, now and after every single change of one of them,
// until stop, which waits for the last call, or the end of the case.
func (f *fixture) watchPods(deployment string, each func(pods map[types.UID]*v1.Pod)) (stop func()) {
	f.t.Helper()
	selector := metav1.ListOptions{LabelSelector: "app=" + deployment}
	list, err := f.Client().CoreV1().Pods("shop").List(f.t.Context(), selector)
	if err != nil {
		f.t.Fatal(err)
	}
	selector.ResourceVersion = list.ResourceVersion
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context())) // which ends before the cleanup does
	changes, err := f.Client().CoreV1().Pods("shop").Watch(ctx, selector)
	if err != nil {
		cancel()
		f.t.Fatal(err)
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
					f.t.Errorf("the watch on pods ended early: %v", change)
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
	f.t.Cleanup(stop)
	return stop
}

// podsByUID lists all pods of namespace shop by their UID.
func (f *fixture) podsByUID(ctx context.Context) map[string]v1.Pod {
	f.t.Helper()
	list, err := f.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	pods := map[string]v1.Pod{}
	for _, pod := range list.Items {
		pods[string(pod.UID)] = pod
	}
	return pods
}

// podOn returns the one pod of a Deployment on a node.
func (f *fixture) podOn(ctx context.Context, deployment, node string) v1.Pod {
	f.t.Helper()
	var found []v1.Pod
	for _, pod := range f.pods(ctx, deployment) {
		if pod.Spec.NodeName == node {
			found = append(found, pod)
		}
	}
	if len(found) != 1 {
		f.t.Fatalf("%d pods of %s are on %s, want 1", len(found), deployment, node)
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

// boundAfter is how long a pod waited for its node. The API keeps whole seconds.
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
