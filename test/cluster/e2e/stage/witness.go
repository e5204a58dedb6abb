package stage

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Witness follows the stored ledger and the pods in namespace shop, to check afterwards
// what was recorded when. It compares revisions of stored objects, because clocks may be
// off.
type Witness struct {
	f    *Fixture
	mark cluster.AuditMark

	mu       sync.Mutex
	latest   Document
	present  bool
	deleted  int
	writers  []string
	recorded map[string]int64 // pod UIDs to the revision of the first ledger that contains the pod
	pods     map[string]seen  // by name, which is never reused for a Deployment's pods
	waiting  []waiter
	// log lists all events so far. It is shown if the case fails.
	log []string
	// waking coordinates the two watches: conditions are checked again if one watch changes
	// something while the other is checking them.
	waking sync.Mutex
	// gaps means that the API server was unavailable, so that a revision may have been
	// missed.
	gaps bool
}

type seen struct {
	uid, node string
	// left is the revision at which the pod's deletion began; 0 before that.
	left int64
}

type waiter struct {
	holds func() bool
	done  chan struct{}
}

// Witness starts following. Evictions are counted from now on.
func (f *Fixture) Witness() *Witness {
	f.T.Helper()
	w := &Witness{f: f, mark: f.Mark(), recorded: map[string]int64{}, pods: map[string]seen{}}
	ledgers := informers.NewSharedInformerFactoryWithOptions(f.Client(), 0, informers.WithNamespace(evenkeel.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + LedgerName }))
	pods := informers.NewSharedInformerFactoryWithOptions(f.Client(), 0, informers.WithNamespace("shop"))
	Follow(f, ledgers.Core().V1().ConfigMaps().Informer(), w.ledger)
	Follow(f, pods.Core().V1().Pods().Informer(), w.pod)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.T.Context()))
	for _, factory := range []informers.SharedInformerFactory{ledgers, pods} {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(f.T.Context().Done())
	}
	f.T.Cleanup(func() {
		cancel()
		ledgers.Shutdown()
		pods.Shutdown()
		if f.T.Failed() {
			f.T.Logf("what was stored:\n%s", strings.Join(w.log, "\n"))
		}
	})
	return w
}

// Follow reports each version of an object. gone is true once it has been deleted.
func Follow[T any](f *Fixture, informer cache.SharedIndexInformer, report func(object *T, gone bool)) {
	f.T.Helper()
	as := func(object any, gone bool) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if typed, ok := object.(*T); ok {
			report(typed, gone)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { as(object, false) },
		UpdateFunc: func(_, object any) { as(object, false) },
		DeleteFunc: func(object any) { as(object, true) },
	})
	if err != nil {
		f.T.Fatal(err)
	}
}

func (w *Witness) ledger(stored *v1.ConfigMap, gone bool) {
	document, err := ReadDocument(stored)
	w.mu.Lock()
	switch {
	case gone:
		w.present = false
		w.deleted++
		w.record("the ledger is gone")
	case err != nil:
		w.present = false
		w.record("no ledger: %v", err)
	default:
		w.latest, w.present = document, true
		w.record("%s", document.String())
		if n := len(w.writers); n == 0 || w.writers[n-1] != document.Writer {
			w.writers = append(w.writers, document.Writer)
		}
		for _, move := range document.Moves {
			if w.recorded[move.PodUID] == 0 {
				w.recorded[move.PodUID] = revision(stored)
			}
		}
	}
	w.mu.Unlock()
	w.wake()
}

func (w *Witness) pod(pod *v1.Pod, gone bool) {
	w.mu.Lock()
	known, old := w.pods[pod.Name]
	known.uid = string(pod.UID)
	if !old || known.node != pod.Spec.NodeName || gone {
		w.record("pod %s %s on %q, gone %t", pod.Name, pod.UID, pod.Spec.NodeName, gone)
	}
	known.node = pod.Spec.NodeName
	if known.left == 0 && (gone || pod.DeletionTimestamp != nil) {
		known.left = revision(pod)
	}
	w.pods[pod.Name] = known
	w.mu.Unlock()
	w.wake()
}

// record adds an event. The caller must hold mu.
func (w *Witness) record(format string, args ...any) {
	w.log = append(w.log, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func revision(object metav1.Object) int64 {
	n, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// When returns a channel that is closed as soon as the condition holds. The condition is
// checked after every event.
func (w *Witness) When(condition func() bool) <-chan struct{} {
	next := waiter{holds: condition, done: make(chan struct{})}
	w.mu.Lock()
	w.waiting = append(w.waiting, next)
	w.mu.Unlock()
	w.wake()
	return next.done
}

func (w *Witness) wake() {
	w.waking.Lock()
	defer w.waking.Unlock()
	w.mu.Lock()
	waiting := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	var still []waiter
	for _, one := range waiting {
		if one.holds() {
			close(one.done)
		} else {
			still = append(still, one)
		}
	}
	w.mu.Lock()
	w.waiting = append(w.waiting, still...)
	w.mu.Unlock()
}

// Document returns the ledger that is currently stored; false if there is none or it
// cannot be read.
func (w *Witness) Document() (Document, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest, w.present
}

// Deleted returns how often the ConfigMap was deleted.
func (w *Witness) Deleted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deleted
}

// Writers lists the processes that have written the ledger. A process is listed again if
// it writes after another one has.
func (w *Witness) Writers() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writers)
}

// UID returns a pod's UID.
func (w *Witness) UID(pod string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pods[pod].uid
}

// Left lists the pods of a workload whose deletion has begun.
func (w *Witness) Left() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, pod := range w.pods {
		if pod.left > 0 {
			names = append(names, name)
		}
	}
	return names
}

// AllowGaps allows the witness to miss revisions, because the API server is going to be
// unavailable.
func (w *Witness) AllowGaps() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gaps = true
}

// Evictions lists the evictions that were granted since the witness began.
func (w *Witness) Evictions() []Eviction { return w.f.Granted(w.mark) }

// CaughtUp reports whether the witness has seen every granted eviction in a ledger. This
// may take a while, because the witness's own watches must be reestablished, too.
func (w *Witness) CaughtUp() bool {
	evictions := w.Evictions()
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(evictions, func(e Eviction) bool { return w.recorded[w.pods[e.Pod].uid] == 0 })
}

// WaitEvictions waits until n evictions were granted in total.
func (w *Witness) WaitEvictions(within time.Duration, n int) {
	w.f.T.Helper()
	w.f.Eventually(within, strconv.Itoa(n)+" evictions", func(context.Context) bool { return len(w.Evictions()) >= n })
}

// Check fails the case if a pod was evicted twice or before it was in a stored ledger, or
// if there were more evictions than most.
func (w *Witness) Check(most int) {
	w.f.T.Helper()
	evictions := w.Evictions()
	if len(evictions) > most {
		w.f.T.Errorf("%d evictions, want at most %d", len(evictions), most)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	twice := map[string]bool{}
	for _, eviction := range evictions {
		pod := w.pods[eviction.Pod]
		if twice[eviction.Pod] {
			w.f.T.Errorf("pod %s was evicted twice", eviction.Pod)
		}
		twice[eviction.Pod] = true
		switch at := w.recorded[pod.uid]; {
		case pod.uid == "" || at == 0:
			w.f.T.Errorf("pod %s was evicted and no ledger has it", eviction.Pod)
		case pod.left > 0 && at > pod.left && !w.gaps:
			w.f.T.Errorf("pod %s was evicted at revision %d and only recorded at %d", eviction.Pod, pod.left, at)
		}
	}
}
