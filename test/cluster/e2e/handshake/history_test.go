package handshake

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// pod is what history records of a pod. It is kept when the pod is gone.
type pod struct {
	uid, name, node string
	// bound is when its node was first seen.
	bound time.Time
	// old reports whether the pod existed before the history began.
	old bool
	// gone is when the pod was first seen as deleted or terminating.
	gone     time.Time
	cpuMilli int64
}

// history follows the pods of the namespace shop. It records where each was bound, and each node's
// true usage after every change, so that it misses no peak.
type history struct {
	mu   sync.Mutex
	pods map[string]*pod // by UID
	used map[string]int64
	peak map[string]int64
}

// watch begins a history, which ends when the case does.
func watch(f *stage.Fixture) *history {
	f.T.Helper()
	h := &history{pods: map[string]*pod{}, used: map[string]int64{}, peak: map[string]int64{}}
	factory := informers.NewSharedInformerFactoryWithOptions(f.Client(), 0, informers.WithNamespace("shop"))
	informer := factory.Core().V1().Pods().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { h.see(object, initial, false) },
		UpdateFunc: func(_, object any) { h.see(object, false, false) },
		DeleteFunc: func(object any) { h.see(object, false, true) },
	})
	if err != nil {
		f.T.Fatal(err)
	}
	factory.Start(f.T.Context().Done())
	f.T.Cleanup(factory.Shutdown)
	if !cache.WaitForCacheSync(f.T.Context().Done(), registration.HasSynced) {
		f.T.Fatal("the pods were never listed")
	}
	return h
}

func (h *history) see(object any, initial, deleted bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	seen, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pods[string(seen.UID)]
	if p == nil {
		p = &pod{uid: string(seen.UID), name: seen.Name, old: initial}
		h.pods[string(seen.UID)] = p
	}
	h.charge(p, -p.cpuMilli)
	if p.node == "" && seen.Spec.NodeName != "" {
		p.bound = time.Now()
	}
	p.node, p.cpuMilli = seen.Spec.NodeName, milli(seen)
	if deleted || seen.DeletionTimestamp != nil {
		p.cpuMilli = 0
		if p.gone.IsZero() {
			p.gone = time.Now()
		}
	}
	h.charge(p, p.cpuMilli)
}

func (h *history) charge(p *pod, cpuMilli int64) {
	if p.node != "" {
		h.used[p.node] += cpuMilli
		h.peak[p.node] = max(h.peak[p.node], h.used[p.node])
	}
}

// milli returns the CPU that a pod of one container uses.
func milli(pod *v1.Pod) int64 {
	used, err := resource.ParseQuantity(pod.Annotations[cluster.UsageCPUAnnotation])
	if err != nil {
		return 0 // not a pod of these cases
	}
	return used.MilliValue()
}

func (h *history) pod(uid string) (pod, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pods[uid]
	if p == nil {
		return pod{}, false
	}
	return *p, true
}

// newcomers returns the pods that arrived after the history began, by name.
func (h *history) newcomers() []pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	var came []pod
	for _, p := range h.pods {
		if !p.old {
			came = append(came, *p)
		}
	}
	slices.SortFunc(came, func(a, b pod) int { return strings.Compare(a.name, b.name) })
	return came
}

// lastGone returns when the last deleted pod left.
func (h *history) lastGone() (last time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pods {
		if p.gone.After(last) {
			last = p.gone
		}
	}
	return last
}

// bindingTook returns the time from the first to the last binding of a new pod.
func (h *history) bindingTook() time.Duration {
	var first, last time.Time
	for _, p := range h.newcomers() {
		if first.IsZero() || p.bound.Before(first) {
			first = p.bound
		}
		if p.bound.After(last) {
			last = p.bound
		}
	}
	return last.Sub(first)
}

// peaks returns the highest true CPU usage that each node has had so far, in millicores.
func (h *history) peaks() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.peak)
}
