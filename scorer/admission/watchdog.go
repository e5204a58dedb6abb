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
	// Overdue is how long a pod may be held: Gates take milliseconds.
	Overdue = 30 * time.Second
	// watchPause is the time between two looks at which pods are overdue.
	watchPause = Overdue
	// maxOverdueNamed is how many pods a line of the log names.
	maxOverdueNamed = 5
)

// Watchdog counts the pods that are held and those that Gates, of whatever
// replica, should have let go long ago, and logs them. It needs no right and no
// key: the gate alone counts.
type Watchdog struct {
	now      func() time.Time
	informer cache.SharedIndexInformer

	mu sync.Mutex
	// held are since when pods are held: since their creation, because a gate
	// cannot be added later. It has no pod that the informer does not have.
	held map[types.NamespacedName]time.Time
}

// NewWatchdog returns a Watchdog over an informer of pods that the caller starts,
// and registers its metrics.
func NewWatchdog(pods cache.SharedIndexInformer, now func() time.Time, registry prometheus.Registerer) *Watchdog {
	w := &Watchdog{now: now, informer: pods, held: map[types.NamespacedName]time.Time{}}
	factory := promauto.With(registry)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_steering_held_pods", Help: "Pods that the scheduling gate " + gate + " holds now.",
	}, func() float64 { n, _ := w.count(); return float64(n) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_steering_overdue_pods", Help: fmt.Sprintf("Those that it has held for longer than %v: nobody can take it off.", Overdue),
	}, func() float64 { _, overdue := w.count(); return float64(len(overdue)) })
	return w
}

// count counts the pods that are held and lists those that are overdue.
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
			return w.informer.RemoveEventHandler(watching) //nolint:wrapcheck // it says all
		case <-ticker.C:
			told = w.tell(ctx, told)
		}
	}
}

var errOverdue = errors.New("nobody takes the gate off")

// tell logs overdue pods if there are more than when it did so last, and returns
// how many there are.
func (w *Watchdog) tell(ctx context.Context, told int) int {
	_, overdue := w.count()
	if len(overdue) > told {
		klog.FromContext(ctx).Error(errOverdue, "Pods are held for too long; `evenkeel cleanup` frees them", "gate", gate,
			"pods", len(overdue), "such as", overdue[:min(len(overdue), maxOverdueNamed)])
	}
	return len(overdue)
}
