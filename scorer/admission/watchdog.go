package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// Overdue is how long a pod may be held. Gates takes only milliseconds.
	Overdue = 30 * time.Second
	// watchPause is the time between two checks for overdue pods.
	watchPause = Overdue
	// maxOverdueNamed is the maximum number of pods that a log line names.
	maxOverdueNamed = 5
)

// Watchdog counts the held pods, and the overdue pods that the Gates of some replica
// should have released long ago. It logs the overdue pods. It needs no further
// permissions and no keys, because it looks only at the gate.
type Watchdog struct {
	now      func() time.Time
	informer cache.SharedIndexInformer

	mu sync.Mutex
	// held maps each held pod to the time since which it has been held. This is its
	// creation time, because a gate cannot be added later. It contains only pods that the
	// informer has.
	held map[types.NamespacedName]time.Time
}

// NewWatchdog returns a Watchdog over an informer of pods that the caller starts,
// and registers its metrics.
func NewWatchdog(pods cache.SharedIndexInformer, now func() time.Time, registry prometheus.Registerer) *Watchdog {
	w := &Watchdog{now: now, informer: pods, held: map[types.NamespacedName]time.Time{}}
	factory := promauto.With(registry)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_steering_held_pods", Help: "Pods that the scheduling gate " + gate + " currently holds.",
	}, func() float64 { n, _ := w.count(); return float64(n) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_steering_overdue_pods", Help: fmt.Sprintf("Pods that the scheduling gate has held for longer than %v, because no process can remove it.", Overdue),
	}, func() float64 { _, overdue := w.count(); return float64(len(overdue)) })
	return w
}

// count counts the held pods and lists the overdue ones.
func (w *Watchdog) count() (held int, overdue []types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	latest := w.now().Add(-Overdue)
	for name, since := range w.held {
		if since.Before(latest) {
			overdue = append(overdue, name)
		}
	}
	return len(w.held), overdue
}

func (w *Watchdog) saw(object any, deleted bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !deleted && held(pod) {
		w.held[name] = pod.CreationTimestamp.Time
	} else {
		delete(w.held, name)
	}
}

// Run watches until the context ends.
func (w *Watchdog) Run(ctx context.Context) error {
	watching, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.saw(object, false) },
		UpdateFunc: func(_, object any) { w.saw(object, false) },
		DeleteFunc: func(object any) { w.saw(object, true) },
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	ticker := time.NewTicker(watchPause)
	defer ticker.Stop()
	told := 0
	for {
		select {
		case <-ctx.Done():
			return w.informer.RemoveEventHandler(watching) //nolint:wrapcheck // the error is self-explanatory
		case <-ticker.C:
			told = w.tell(ctx, told)
		}
	}
}

var errOverdue = errors.New("no process removes the gate")

// tell logs the overdue pods if there are more than told, the number that was last
// logged. It returns their number.
func (w *Watchdog) tell(ctx context.Context, told int) int {
	_, overdue := w.count()
	if len(overdue) > told {
		klog.FromContext(ctx).Error(errOverdue, "Pods are held for too long; `evenkeel cleanup` releases them", "gate", gate,
			"pods", len(overdue), "such as", overdue[:min(len(overdue), maxOverdueNamed)])
	}
	return len(overdue)
}
