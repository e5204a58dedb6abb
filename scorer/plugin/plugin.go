// Package plugin is Evenkeel's scheduling half inside kube-scheduler. It is a plugin of
// the scheduling framework that uses the same observation, board and ledger as the
// extender. It needs no round trip, and its scores are ten times as fine.
//
// It decides nothing about usage: scorer/answer decides whether a node suits a pod. It
// adapts these decisions to the way kube-scheduler calls plugins: node by node, in
// parallel, before it is known which nodes pass the other plugins. Its Side observes.
//
// Invariants:
//   - No pod ever fails for lack of data or because of an error in Evenkeel;
//     unknown nodes are neutral.
//   - A node is refused only if another one would accept the pod, unless the
//     policy sets rejectAll. - So no node is refused before the other plugins
//     have been asked about another one, and a refused node is never a
//     candidate for preemption.
//   - A pod is charged to its node when that is chosen (Reserve), and
//     discharged if it is not bound there.
package plugin

import (
	"cmp"
	"context"
	"hash/fnv"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Plugin is one plugin of one profile. It works with any subset of its
// extension points enabled: score prefers nodes, filter also keeps pods off
// them, and reserve charges placed pods at once.
type Plugin struct {
	name string
	host host
	side Side
	// parts reports whether the plugin itself picks one of several nodes with equal
	// scores for each pod, because no other plugin distinguishes them.
	parts bool

	// opening keeps concurrent calls for two nodes from opening two cycles for one
	// pod.
	opening sync.Mutex
	// newest is the cycle that was opened last. It is kept because a profile
	// places one pod after another, and asks about hundreds of nodes for each.
	newest atomic.Pointer[asked]
	// places identifies nodes without reading their names.
	places placesCache
}

var (
	_ fwk.PreFilterPlugin   = (*Plugin)(nil)
	_ fwk.FilterPlugin      = (*Plugin)(nil)
	_ fwk.PreScorePlugin    = (*Plugin)(nil)
	_ fwk.ScorePlugin       = (*Plugin)(nil)
	_ fwk.ScoreExtensions   = (*Plugin)(nil)
	_ fwk.ReservePlugin     = (*Plugin)(nil)
	_ fwk.EnqueueExtensions = (*Plugin)(nil)
	_ fwk.SignPlugin        = (*Plugin)(nil)
)

// SideConfig configures a Side.
type SideConfig struct {
	// Name distinguishes the Side from other Sides of the process, in logs and
	// metrics.
	Name string
	// PolicyFile is the policy's path, and Given is a policy without a file.
	PolicyFile string
	Given      *policy.File
	// Namespace is the ledger's namespace, and Follow reports whether the ledger is used.
	Namespace string
	Follow    bool
	// REST configures access to the API server. Informers are kube-scheduler's watches.
	REST      *rest.Config
	Informers informers.SharedInformerFactory
}

// Side is the observing half of one policy.
type Side interface {
	// Answerer returns the Answerer; nil until it is ready.
	Answerer() *answer.Answerer
	// Refusal returns the message for a node above a measured limit, empty for
	// the default, and whether a pod waits when all nodes are above it.
	Refusal() (message string, all bool)
	// Run observes until the context ends, and applies policy changes.
	Run(ctx context.Context) error
}

// Name returns the name under which the plugin is registered.
func (p *Plugin) Name() string { return p.name }

// PreFilter opens the pod's cycle and checks all nodes. If none is refused, it makes
// kube-scheduler skip the filter.
func (p *Plugin) PreFilter(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	opened := p.open(cycle, pod)
	refuses := opened.judge(&p.places, nodes)
	p.keep(opened)
	if !refuses {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// PreFilterExtensions returns nil, because pods that are hypothetically added
// to or removed from a node do not change its real usage.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter refuses nodes for the pod: hot ones, those from which its predecessor
// was moved and, for a replacement, all but its destination.
func (p *Plugin) Filter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	asked := p.of(cycle, pod)
	if asked.steering == nil {
		return nil
	}
	node := info.Node()
	if asked.steering.Replaces() && !isProbe(ctx) {
		look := &probe{host: p.host, ctx: ctx, cycle: cycle, pod: pod, asked: asked}
		if to := look.destination(); to != "" {
			if node.Name == to {
				return nil
			}
			return refuse(extender.RejectNotDestination.Message())
		}
	}
	reject := asked.reject(node)
	if reject == extender.RejectNone || isProbe(ctx) { // isProbe comes last: searching a context is slow, and most nodes are not refused
		return nil
	}
	message, all := p.refusal(reject)
	if all {
		return refuse(message)
	}
	others, known := asked.others.get()
	if !known {
		others = (&probe{host: p.host, ctx: ctx, cycle: cycle, pod: pod, asked: asked}).others()
	}
	if !others {
		return nil
	}
	return refuse(message)
}

// refusal returns the message for a refused node, and whether the node is refused even if
// no other node accepts the pod.
func (p *Plugin) refusal(reject extender.Reject) (message string, all bool) {
	if reject != extender.RejectLoad {
		return reject.Message(), false
	}
	message, all = p.side.Refusal()
	return cmp.Or(message, reject.Message()), all
}

// refuse returns a status with the message. Its code means that preemption would not
// help.
func refuse(message string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)
}

// PreScore records the nodes that are left for the pod. If nothing is known, it makes
// kube-scheduler skip scoring.
func (p *Plugin) PreScore(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	asked := p.of(cycle, pod)
	if asked.steering == nil || asked.steering.Neutral() && !p.parts {
		return fwk.NewStatus(fwk.Skip)
	}
	asked.left = nodes
	return nil
}

// Score leaves scoring to NormalizeScore, which sees all nodes of the pod,
// because scores are spread over them.
func (p *Plugin) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, nil
}

// ScoreExtensions returns the plugin itself.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore scores all nodes of the pod, 0 to 100.
func (p *Plugin) NormalizeScore(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	asked := p.of(cycle, pod)
	if asked.steering == nil {
		return nil
	}
	points := make([]int8, len(scores))
	asked.steering.Score(asked.among(scores), points)
	if p.parts {
		partTies(points, string(pod.UID))
	}
	for i := range scores {
		scores[i].Score = int64(points[i])
	}
	return nil
}

// partTies subtracts a point from all but one of the best nodes, a different
// one for each pod. Otherwise all pods until the next measurement would go to
// one node, because kube-scheduler takes the first of several equal nodes.
func partTies(points []int8, podUID string) {
	var best []int
	for i := range points {
		if len(best) > 0 && points[i] > points[best[0]] {
			best = best[:0]
		}
		if len(best) == 0 || points[i] == points[best[0]] {
			best = append(best, i)
		}
	}
	if len(best) < 2 {
		return
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(podUID)) // never fails
	top := max(points[best[0]], 1)
	for _, i := range best {
		points[i] = top - 1
	}
	points[best[int(hash.Sum32()%uint32(len(best)))]] = top // there are fewer than 2^32 nodes
}

// Reserve charges the pod to its node.
func (p *Plugin) Reserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if asked := p.of(cycle, pod); asked.steering != nil {
		asked.steering.Reserve(node)
	}
	return nil
}

// Unreserve undoes Reserve.
func (p *Plugin) Unreserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, _ string) {
	if asked := p.of(cycle, pod); asked.steering != nil {
		asked.steering.Unreserve()
	}
}

// EventsToRegister lists the events that may make a pod schedulable: pods that
// leave, because usage then falls, and changes of nodes.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint | fwk.UpdateNodeLabel | fwk.UpdateNodeAnnotation}},
	}, nil
}

// SignPod returns what the plugin's answers about a pod depend on, so that kube-scheduler
// can reuse the result of one pod for the next one. It refuses to sign a pod that may be
// the replacement of a move, because that pod's destination is its own, and all pods if
// the plugin itself picks one of several equal nodes for each pod.
func (p *Plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	described := answer.Describe(pod)
	answerer := p.side.Answerer()
	if p.parts || answerer != nil && answerer.Moves(described) {
		return nil, fwk.NewStatus(fwk.Unschedulable, "its node depends on more than its template")
	}
	described.Name, described.UID, described.Created = "", "", ""
	return []fwk.SignFragment{{Key: p.name, Value: described}}, nil
}

// key returns the plugin's name, which is unique in a profile.
func (p *Plugin) key() fwk.StateKey { return fwk.StateKey(p.name) }

// of returns the pod's state in this cycle; if PreFilter has not run, it is
// created now.
func (p *Plugin) of(cycle fwk.CycleState, pod *v1.Pod) *asked {
	if known := p.newest.Load(); known != nil && known.cycle == cycle {
		return known
	}
	if known := p.read(cycle); known != nil {
		return known
	}
	p.opening.Lock()
	defer p.opening.Unlock()
	if known := p.read(cycle); known != nil {
		return known
	}
	opened := p.open(cycle, pod)
	p.keep(opened)
	return opened
}

func (p *Plugin) read(cycle fwk.CycleState) *asked {
	data, err := cycle.Read(p.key())
	if err != nil { // not opened yet
		return nil
	}
	known, ok := data.(*asked)
	if !ok {
		return nil
	}
	return known
}

func (p *Plugin) open(cycle fwk.CycleState, pod *v1.Pod) *asked {
	answerer := p.side.Answerer()
	if answerer == nil {
		return &asked{cycle: cycle}
	}
	return &asked{cycle: cycle, steering: answerer.Consider(answer.Describe(pod))}
}

// keep stores the cycle state so that of can retrieve it.
func (p *Plugin) keep(opened *asked) {
	opened.cycle.Write(p.key(), opened)
	p.newest.Store(opened)
}
