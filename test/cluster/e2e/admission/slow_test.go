package admission

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// slow is a StatefulSet on a hot node whose pods take an hour to terminate, and the process that
// moves them one at a time.
type slow struct {
	f       *stage.Fixture
	keys    ours
	serve   func() *evenkeel.Process
	process *evenkeel.Process
	// untouched are the pods to which nothing has happened yet.
	untouched []string
}

// leaving waits until a pod is terminating, pauses evicting, and returns the pod's name.
func (s *slow) leaving() (name string) {
	s.f.T.Helper()
	s.f.Eventually(2*time.Minute, "a pod to be evicted", func(ctx context.Context) bool {
		for _, pod := range s.f.PodsByUID(ctx) {
			if pod.DeletionTimestamp != nil {
				name = pod.Name
			}
		}
		return name != ""
	})
	s.f.Pause(true)
	moving := map[string]bool{}
	for of := range openKeys(s.f.T.Context(), s.f, s.keys) {
		_, pod, _ := strings.Cut(of, "/")
		moving[pod] = true
	}
	if !moving[name] {
		s.f.T.Fatalf("%s leaves, and there are keys for %v", name, moving)
	}
	for _, pod := range s.f.PodsByUID(s.f.T.Context()) {
		if strings.HasPrefix(pod.Name, "db-") && pod.DeletionTimestamp == nil && !moving[pod.Name] {
			s.untouched = append(s.untouched, pod.Name)
		}
	}
	slices.Sort(s.untouched)
	return name
}

// remade lets a pod be recreated at once, and returns the new pod once it is bound.
func (s *slow) remade(name string) (made v1.Pod) {
	s.f.T.Helper()
	pods, none := s.f.Client().CoreV1().Pods("shop"), int64(0)
	before, err := pods.Get(s.f.T.Context(), name, metav1.GetOptions{})
	if err == nil {
		err = pods.Delete(s.f.T.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &none})
	}
	if err != nil {
		s.f.T.Fatal(err)
	}
	s.f.Eventually(30*time.Second, name+" to be made again and bound", func(ctx context.Context) bool {
		now, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil || now.UID == before.UID || now.Spec.NodeName == "" {
			return false
		}
		made = *now
		return true
	})
	return made
}

// unsteered lets another pod of the StatefulSet, which has no key, be recreated.
func (s *slow) unsteered(when string) {
	s.f.T.Helper()
	name := s.untouched[0]
	s.untouched = s.untouched[1:]
	if by := s.remade(name).Annotations["evenkeel.io/steered"]; by != "" {
		s.f.T.Errorf("%s, %s was steered to %q", when, name, by)
	}
}

// steers reports whether the key of the named pod would steer a pod created now.
func (s *slow) steers(ctx context.Context, name string) bool {
	for of, until := range openKeys(ctx, s.f, s.keys) {
		if strings.HasSuffix(of, "/"+name) && time.Now().Before(until) {
			return true
		}
	}
	return false
}

// steered reports whether pods with a key are steered again. After a webhook was unavailable, the
// API server takes a moment to reach it.
func (s *slow) steered(ctx context.Context) bool {
	// The leading process soon clears this key, because it belongs to no move.
	_ = s.keys.steer(ctx, "default", map[string]any{"any": key(time.Now().Add(time.Minute), "Gate", "n1")})
	got, err := s.f.Client().CoreV1().Pods("default").Create(ctx, pod("ReplicaSet", "any"), dryRun)
	return err == nil && got.Annotations["evenkeel.io/steered"] != ""
}

// nodesOf returns the nodes in the named pod's key.
func (s *slow) nodesOf(name string) (nodes []string) {
	s.f.T.Helper()
	steering, err := s.keys.keys.Namespace("shop").List(s.f.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.f.T.Fatal(err)
	}
	for i := range steering.Items {
		targets, _, _ := unstructured.NestedMap(steering.Items[i].Object, "targets")
		for of := range targets {
			if strings.HasSuffix(of, "/"+name) {
				nodes, _, _ = unstructured.NestedStringSlice(targets, of, "nodes")
			}
		}
	}
	if len(nodes) == 0 {
		s.f.T.Fatalf("no key of %s", name)
	}
	return nodes
}

// untilMade finally lets a terminating pod be recreated, and checks that the new one lands on its
// planned node and that its key is then cleared.
func (s *slow) untilMade(name string) {
	s.f.T.Helper()
	made := s.remade(name)
	if made.Annotations["evenkeel.io/steered"] == "" || made.Spec.NodeName == hotNode {
		s.f.T.Errorf("%s was steered to %q, and is on %s", name, made.Annotations["evenkeel.io/steered"], made.Spec.NodeName)
	}
	s.f.Eventually(10*time.Second, "the key to be cleared", func(ctx context.Context) bool {
		for of := range openKeys(ctx, s.f, s.keys) {
			if strings.HasSuffix(of, "/"+name) {
				return false
			}
		}
		return true
	})
}

const (
	hotNode = "hot-0"
	// expires is how long a key may steer without being renewed, plus a margin for clock skew.
	expires = 12 * time.Second
)

// slowPods creates the StatefulSet on a hot node and starts Evenkeel.
func slowPods(t *testing.T, f *stage.Fixture, o ours, serve func(policy string) *evenkeel.Process) *slow {
	t.Helper()
	hot, err := f.AddNodes(t.Context(), 1, cluster.NodeTemplate{NamePrefix: "hot-"}) // until others are added, all pods go to this node
	if err != nil {
		t.Fatal(err)
	}
	if hot[0] != hotNode {
		t.Fatalf("the hot node is %s", hot[0])
	}
	stateful(t, f, time.Hour)
	others, err := f.AddNodes(t.Context(), 7, cluster.NodeTemplate{NamePrefix: "cool-"})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Place(t.Context(), cluster.Placement{Workload: stage.Workload("bg", wide, light), On: stage.On(1, others...)}); err != nil {
		t.Fatal(err)
	}
	policy := f.Policy(stage.RealUsage, byAPIServer)
	s := &slow{f: f, keys: o, serve: func() *evenkeel.Process { return serve(policy) }}
	s.process = s.serve()
	return s
}

// slowly kills and stops Evenkeel while a pod takes an hour to terminate. The pod's key
// lasts as long as a process is running, and applies to that pod alone. Without a
// process, the key soon stops steering, and the next process takes it over.
func slowly(t *testing.T, f *stage.Fixture, o ours, serve func(policy string) *evenkeel.Process) {
	t.Helper()
	s := slowPods(t, f, o, serve)
	leaving := s.leaving()
	s.unsteered("while " + leaving + " ends")
	timer := time.NewTimer(expires)
	<-timer.C
	if !s.steers(t.Context(), leaving) {
		t.Error("the key has not lasted as long as its pod")
	}
	s.process.Kill()
	f.Eventually(expires, "the key to end", func(ctx context.Context) bool { return !s.steers(ctx, leaving) })
	s.unsteered("after the kill")
	s.process = s.serve()
	f.Eventually(20*time.Second, "the key to be taken over", func(ctx context.Context) bool { return s.steers(ctx, leaving) })
	if err := s.process.Stop(); err != nil {
		t.Fatal(err)
	}
	if s.steers(t.Context(), leaving) {
		t.Error("a process that was stopped has left a key that steers")
	}
	s.unsteered("after the stop")
	s.process = s.serve()
	f.Eventually(20*time.Second, "the key to be taken over again", func(ctx context.Context) bool { return s.steers(ctx, leaving) })
	f.Eventually(20*time.Second, "pods to be steered", s.steered)
	s.untilMade(leaving)
}

// TestSlowPodsByGate holds pods with the gate.
//
//e2e:tier all
func TestSlowPodsByGate(t *testing.T) {
	f, o := unasked(t, "admission-steering")
	slowly(t, f, o, func(policy string) *evenkeel.Process { return f.Serve(policy) })
}

// TestSlowPodsByNames restricts pods to node names.
//
//e2e:tier all
func TestSlowPodsByNames(t *testing.T) {
	f, o := unasked(t, "admission-steering-names")
	slowly(t, f, o, func(policy string) *evenkeel.Process { return f.Serve(policy) })
}

// TestSlowPodsByWebhook steers with the webhook, which is unavailable without its process.
//
//e2e:tier all
func TestSlowPodsByWebhook(t *testing.T) {
	f, o := unasked(t, byWebhook)
	h := asked(t, f)
	slowly(t, f, o, func(policy string) *evenkeel.Process { return h.serve(policy) })
}

// If all nodes in a pod's key are closed when the pod arrives, it is released even if evicting is
// paused. Its owner recreates it, and nothing restricts the new pod.
//
//e2e:tier all
func TestStrandedPodIsReleasedWhilePaused(t *testing.T) {
	f, o := unasked(t, "admission-steering-names")
	s := slowPods(t, f, o, func(policy string) *evenkeel.Process { return f.Serve(policy) })
	leaving := s.leaving() // evicting is paused from here on
	cordon(f, true, s.nodesOf(leaving)...)
	none := int64(0)
	if err := f.Client().CoreV1().Pods("shop").Delete(t.Context(), leaving, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	var stranded v1.Pod
	f.Eventually(30*time.Second, "the pod to wait for its nodes", func(ctx context.Context) bool {
		now, err := f.Client().CoreV1().Pods("shop").Get(ctx, leaving, metav1.GetOptions{})
		if err != nil || now.Annotations["evenkeel.io/steered"] == "" || now.Spec.NodeName != "" {
			return false
		}
		stranded = *now
		return true
	})
	f.Eventually(time.Minute, "another to come and be bound", func(ctx context.Context) bool {
		now, err := f.Client().CoreV1().Pods("shop").Get(ctx, leaving, metav1.GetOptions{})
		return err == nil && now.UID != stranded.UID && now.Annotations["evenkeel.io/steered"] == "" && now.Spec.NodeName != ""
	})
}
