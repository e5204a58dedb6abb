// Package placement answers two questions: which nodes would kube-scheduler's own filter
// plugins accept for the replacement of a running pod, and which of them would it prefer?
//
// It runs the filter plugins of the default profile, compiled in, over a snapshot of
// nodes and pods that Sync or a Follower keeps up to date. A Session applies hypothetical
// moves to that snapshot, so that each move of a plan is checked with the effects of those
// before it. Usage, priorities and pods that cannot be moved at all (DaemonSets, mirror
// pods) are left to other packages.
//
// A replacement must be acceptable in two worlds, because kube-scheduler may see it in
// either. In the first, the pods moved so far and the pod in question are gone. In the
// second they are still terminating where they were, and anti-affinity, host ports,
// requests and ReadWriteOncePod claims still count them. Spread constraints never count a
// terminating pod, so they are judged in the first world only. A StatefulSet pod is
// recreated only after the old pod is gone, so its replacement is judged without the old
// pod in both worlds.
//
// Invariants: results equal those of kube-scheduler's plugins over the whole snapshot; a
// closed Session leaves no trace; no input makes the package panic.
package placement

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Filters holds the plugins and their snapshot. Its methods may be called from
// several goroutines; a Session has exclusive use of the snapshot.
type Filters struct {
	// mu guards all fields. Begin locks it and Session.Close unlocks it.
	mu sync.Mutex

	// ctx is passed to the plugins. It is never cancelled, because a plugin
	// that stops halfway would leave a wrong count instead of an error. Its
	// logger discards everything; it is the outermost value because plugins
	// look it up more often than any other.
	ctx context.Context

	plugins, scores  framework.Framework
	scorers          []scorer // plugins and weights of scores
	synced           []cache.InformerSynced
	dynamicResources bool
	volumes          volumes
	snapshot         *snapshot
}

// New builds the plugins. Goroutines that they start end with ctx.
func New(ctx context.Context, cfg Config) (*Filters, error) {
	ctx = klog.NewContext(ctx, logr.Discard())
	if cfg.Informers == nil {
		cfg.Informers = informers.NewSharedInformerFactory(nil, 0)
	}
	snap := newSnapshot()
	plugins, synced, err := newFramework(ctx, cfg, snap.lens)
	if err != nil {
		return nil, fmt.Errorf("building scheduler framework: %w", err)
	}
	scores, scorers, err := newScores(ctx, cfg, snap.lens)
	if err != nil {
		return nil, fmt.Errorf("building scheduler framework for scores: %w", err)
	}
	return &Filters{
		ctx:              klog.NewContext(context.WithoutCancel(ctx), logr.Discard()),
		plugins:          plugins,
		scores:           scores,
		scorers:          scorers,
		synced:           synced,
		dynamicResources: cfg.DynamicResources,
		volumes:          newVolumes(cfg.Informers),
		snapshot:         snap,
	}, nil
}

// HasSynced reports whether the plugins' own caches have caught up with the
// informers. Wait for it once after the informers have synced.
func (f *Filters) HasSynced() bool {
	return !slices.ContainsFunc(f.synced, func(done cache.InformerSynced) bool { return !done() })
}

// Sync updates the snapshot to the given complete lists of nodes and pods. It drops
// objects that are missing from the lists and keeps those that are unchanged (the same
// pointer, or the same UID and resourceVersion). Like kube-scheduler, it counts pods that
// are nominated for a node on that node, and leaves out other unassigned pods, finished
// ones and those on an unlisted node. It waits for an open Session to be closed. The
// objects must not be changed afterwards.
func (f *Filters) Sync(nodes []*v1.Node, pods []*v1.Pod) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snapshot.sync(nodes, pods)
}
