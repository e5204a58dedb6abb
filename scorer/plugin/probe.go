package plugin

import (
	"context"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// probe runs the filters of all other plugins on nodes, from within Filter.
// kube-scheduler asks about one node at a time and stops when it has found enough nodes,
// so the plugin has to check the others itself. The cost is small: the filters run on a
// few more nodes, and only for pods for which a node is refused.
type probe struct {
	host  host
	ctx   context.Context //nolint:containedctx // lives as long as one call of Filter
	cycle fwk.CycleState
	pod   *v1.Pod
	asked *asked
}

// probing marks the context in which the plugin runs the filters. Its own filter then
// passes every node.
type probing struct{}

// host is what the plugin needs from kube-scheduler.
type host interface {
	SnapshotSharedLister() fwk.SharedLister
	RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status
	Parallelizer() fwk.Parallelizer
}

func isProbe(ctx context.Context) bool { return ctx.Value(probing{}) != nil }

// takes reports whether a node passes all other filters.
func (l *probe) takes(node fwk.NodeInfo) bool {
	// kube-scheduler cancels the context when it has found enough nodes, but
	// the result here is kept for the pod.
	ctx := context.WithValue(context.WithoutCancel(l.ctx), probing{}, true)
	return l.host.RunFilterPluginsWithNominatedPods(ctx, l.cycle, l.pod, node).IsSuccess()
}

// destination returns the destination of a replacement; empty if there is none.
func (l *probe) destination() string {
	return l.asked.destination.do(func() string {
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

// others reports whether there is a node that Evenkeel does not refuse and that
// passes all other filters.
func (l *probe) others() bool {
	return l.asked.others.do(func() bool {
		nodes := l.nodes()
		few := min(len(nodes), triedFirst)
		return slices.ContainsFunc(nodes[:few], l.free) || l.anyFree(nodes[few:])
	})
}

// triedFirst is how many nodes are tried sequentially first. One of them
// usually passes, and trying them costs less than starting goroutines.
const triedFirst = 8

// free reports whether Evenkeel does not refuse a node that also passes all
// other filters.
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

// nodes returns the nodes of the cycle. If listing fails, there are none, so no
// node is refused.
func (l *probe) nodes() []fwk.NodeInfo {
	nodes, err := l.host.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil
	}
	return nodes
}
