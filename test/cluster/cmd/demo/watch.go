package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// watch prints and counts evictions and landings as reported by the API server.
type watch struct {
	story  *scenario.Story
	say    func(string, ...any)
	cancel context.CancelFunc

	mu       sync.Mutex
	initial  map[string]bool // UIDs of the pods that existed at the beginning
	evicted  map[string]bool
	landings map[string]string // nodes by the replacement's UID

	// According to Evenkeel's ledger: replacements on their planned node, replacements on
	// another cool node, and recorded moves.
	planned, cool, recorded int
}

func newWatch(ctx context.Context, c *cluster.Cluster, story *scenario.Story, say func(string, ...any)) (*watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{story: story, say: say, cancel: cancel, initial: map[string]bool{}, evicted: map[string]bool{}, landings: map[string]string{}}
	pods, err := c.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		w.initial[string(pods.Items[i].UID)] = true
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c.Client(), 0, informers.WithNamespace("shop"))
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.seen(o.(*v1.Pod)) },
		UpdateFunc: func(_, o any) { w.seen(o.(*v1.Pod)) },
	})
	if err == nil {
		_, err = factory.Events().V1().Events().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { w.event(o.(*eventsv1.Event)) },
		})
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching: %w", err)
	}
	factory.Start(ctx.Done())
	return w, nil
}

func (w *watch) stop() { w.cancel() }

// event prints an eviction and the reason from Evenkeel's Event.
func (w *watch) event(e *eventsv1.Event) {
	if e.Reason != "EvictedFromHotNode" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if uid := string(e.Regarding.UID); !w.evicted[uid] {
		w.evicted[uid] = true
		w.say("evicted %-22s %s", e.Regarding.Name, e.Note)
	}
}

// seen prints a landing.
func (w *watch) seen(pod *v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := string(pod.UID)
	if pod.Spec.NodeName == "" || w.initial[uid] || w.landings[uid] != "" || pod.Labels["app"] == "new" || strings.HasPrefix(pod.Name, "new-") {
		return
	}
	w.landings[uid] = pod.Spec.NodeName
	w.say("landed  %-22s on %s", pod.Name, pod.Spec.NodeName)
}

func (w *watch) evictions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.evicted)
}

func (w *watch) landed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.landings)
}

func (w *watch) settled() bool { return w.landed() == w.evictions() }

// boomerangs counts replacements that returned to a node that had been hot.
func (w *watch) boomerangs() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, node := range w.landings {
		if slices.Contains(w.story.Hot, node) {
			n++
		}
	}
	return n
}

// compare compares the landings reported by the API server with the plan in Evenkeel's
// ledger.
func (w *watch) compare(ctx context.Context, url string) error {
	_, body, err := evenkeel.Get(ctx, url)
	if err != nil {
		return err
	}
	var status struct {
		Moves []struct{ To, Replacement string }
	}
	if err := decode(body, &status); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorded = len(status.Moves)
	for _, move := range status.Moves {
		switch node := w.landings[move.Replacement]; {
		case node == move.To:
			w.planned++
		case node != "" && !slices.Contains(w.story.Hot, node):
			w.cool++
		}
	}
	return nil
}

// podsByNode describes the number of a Deployment's pods on each node.
func podsByNode(ctx context.Context, c *cluster.Cluster, namespace, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	pods, err := c.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing pods: %w", err)
	}
	counts := map[string]int{}
	for i := range pods.Items {
		if strings.HasPrefix(pods.Items[i].Name, name+"-") {
			counts[pods.Items[i].Spec.NodeName]++
		}
	}
	var parts []string
	for node, n := range counts {
		parts = append(parts, fmt.Sprintf("%d on %s", n, node))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", "), nil
}
