package admission

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// diary records what the watch shows of the pods and keys in the namespace shop.
type diary struct {
	mu   sync.Mutex
	pods map[string]life // by UID
	keys []opening
	// opened receives the owner of each key that is set.
	opened chan string
}

type life struct {
	name, owner, node string
	// came is when the pod was first seen, free when it was released, and bound when it was bound;
	// zero if it has not happened.
	came, free, bound time.Time
	// held reports whether the pod had our gate when it was first seen.
	held bool
}

// waited returns how long our gate held the pod.
func (l *life) waited(now time.Time) time.Duration {
	switch {
	case !l.held:
		return 0
	case l.free.IsZero():
		return now.Sub(l.came)
	}
	return l.free.Sub(l.came)
}

// opening is the time during which a key for a node existed. The key belongs to an owner or, in a
// StatefulSet, to one pod. It expires at until unless it is renewed.
type opening struct {
	owner, node, until string
	set, cleared       time.Time
}

func follow(t *testing.T, f *stage.Fixture) *diary {
	t.Helper()
	d := &diary{pods: map[string]life{}, opened: make(chan string, 1000)}
	client, err := dynamic.NewForConfig(f.Config())
	if err != nil {
		t.Fatal(err)
	}
	pods := informers.NewSharedInformerFactoryWithOptions(f.Client(), 0, informers.WithNamespace("shop"))
	keys := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, "shop", nil)
	stage.Follow(f, pods.Core().V1().Pods().Informer(), d.pod)
	stage.Follow(f, keys.ForResource(steerings).Informer(), d.steering)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	pods.Start(ctx.Done())
	keys.Start(ctx.Done())
	pods.WaitForCacheSync(t.Context().Done())
	keys.WaitForCacheSync(t.Context().Done())
	t.Cleanup(func() {
		cancel()
		pods.Shutdown()
		keys.Shutdown()
	})
	return d
}

func (d *diary) pod(pod *v1.Pod, _ bool) {
	now, gated := time.Now(), slices.Contains(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: gate})
	d.mu.Lock()
	defer d.mu.Unlock()
	l, known := d.pods[string(pod.UID)]
	if !known {
		l = life{name: pod.Name, came: now, held: gated}
		if by := metav1.GetControllerOf(pod); by != nil {
			l.owner = string(by.UID)
		}
	}
	if !gated && l.free.IsZero() {
		l.free = now
	}
	if l.node = pod.Spec.NodeName; l.node != "" && l.bound.IsZero() {
		l.bound = now
	}
	d.pods[string(pod.UID)] = l
}

func (d *diary) steering(object *unstructured.Unstructured, gone bool) {
	now, found := time.Now(), map[string]opening{}
	if targets, _, err := unstructured.NestedMap(object.Object, "targets"); err == nil && !gone {
		for owner := range targets {
			until, _, _ := unstructured.NestedString(targets, owner, "until")
			nodes, _, _ := unstructured.NestedStringSlice(targets, owner, "nodes")
			found[owner] = opening{owner: owner, node: append(nodes, "")[0], until: until, set: now}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.keys {
		k := &d.keys[i]
		if !k.cleared.IsZero() {
			continue
		}
		if known, ok := found[k.owner]; !ok || known.node != k.node {
			k.cleared = now
		} else {
			k.until = known.until
			delete(found, k.owner)
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(found)) {
		d.keys = append(d.keys, found[owner])
		d.opened <- owner
	}
}

// lives returns the pods so far by UID, and openings returns the keys.
func (d *diary) lives() map[string]life {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.pods)
}

func (d *diary) openings() []opening {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.keys)
}

// waits returns how long our gate has held each pod that had it.
func (d *diary) waits() (all []time.Duration) {
	now := time.Now()
	for _, l := range d.lives() {
		if l.held {
			all = append(all, l.waited(now))
		}
	}
	return all
}

// ownerOf returns the controller of the pods whose names start with prefix.
func (d *diary) ownerOf(prefix string) string {
	for _, l := range d.lives() {
		if strings.HasPrefix(l.name, prefix) {
			return l.owner
		}
	}
	return ""
}

// nth waits until n keys have been set for an owner, or for any owner if owner is empty.
func (d *diary) nth(t *testing.T, owner string, n int, within time.Duration) {
	t.Helper()
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		had := 0
		for _, k := range d.openings() {
			if owner == "" || k.owner == owner {
				had++
			}
		}
		if had >= n {
			return
		}
		select {
		case <-d.opened:
		case <-late.C:
			t.Fatalf("not within %v: %d keys, of which there are %d", within, n, had)
		}
	}
}
