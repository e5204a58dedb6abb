package schedulerplugin

import (
	"context"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// probe finds out, from within the filter, what the filters of all other
// plugins say about nodes. kube-scheduler asks for one node at a time and stops
// when it has enough, so what is known of the others has to be found out here.
// It costs their filters for a few nodes more, and only for pods that a node is
// refused to.
type probe struct {
	host  host
	ctx   context.Context //nolint:containedctx // lives as long as one call of Filter
	cycle fwk.CycleState
	pod   *v1.Pod
	asked *asked
}

// probing marks the context in which the filters are asked by the plugin
// itself, which then passes every node.
type probing struct{}

// host is what the plugin needs of kube-scheduler.
type host interface {
	SnapshotSharedLister() fwk.SharedLister
	RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status
	Parallelizer() fwk.Parallelizer
}

func isProbe(ctx context.Context) bool { return ctx.Value(probing{}) != nil }

// takes reports whether all other filters pass a node.
func (l *probe) takes(node fwk.NodeInfo) bool {
	// kube-scheduler cancels the context when it has found nodes enough; what
	// is found here is kept for the pod.
	ctx := context.WithValue(context.WithoutCancel(l.ctx), probing{}, true)
	return l.host.RunFilterPluginsWithNominatedPods(ctx, l.cycle, l.pod, node).IsSuccess()
}

// landing returns the node that a replacement belongs to, empty where there is
// none.
func (l *probe) landing() string {
	return l.asked.landing.do(func() string {
		nodes := l.nodes()
		byName := make(map[string]fwk.NodeInfo, len(nodes))
		names := make([]string, len(nodes))
		for i, node := range nodes {
			names[i] = node.Node().Name
			byName[names[i]] = node
		}
		return l.asked.steering.Land(names, func(name string) bool { return byName[name] != nil && l.takes(byName[name]) })
	})
}

// others reports whether there is a node that Evenkeel does not refuse and all
// other filters pass.
func (l *probe) others() bool {
	return l.asked.others.do(func() bool {
		nodes := l.nodes()
		few := min(len(nodes), triedFirst)
		return slices.ContainsFunc(nodes[:few], l.free) || l.anyFree(nodes[few:])
	})
}

// triedFirst is how many nodes are tried one after the other: one of them
// mostly will do, and costs less than goroutines do.
const triedFirst = 8

// free reports whether Evenkeel does not refuse a node and all other filters
// pass it.
func (l *probe) free(node fwk.NodeInfo) bool {
	return l.asked.reject(node.Node()) == extender.RejectNone && l.takes(node)
}

// anyFree looks for a free node in parallel.
func (l *probe) anyFree(nodes []fwk.NodeInfo) bool {
	var found atomic.Bool
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.ctx))
	defer cancel()
	l.host.Parallelizer().Until(ctx, len(nodes), func(i int) {
		if !found.Load() && l.free(nodes[i]) {
			found.Store(true)
			cancel()
		}
	}, "EvenkeelOthers")
	return found.Load()
}

// nodes are those of the cycle. Where they cannot be listed there are none, so
// that none is refused.
func (l *probe) nodes() []fwk.NodeInfo {
	nodes, err := l.host.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil
	}
	return nodes
}
