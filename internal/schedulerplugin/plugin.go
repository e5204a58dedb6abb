// Package schedulerplugin is Evenkeel's scheduling half inside kube-scheduler:
// one plugin of its framework, over the same observation, board and ledger as
// the extender, without a round trip and with scores ten times as fine.
//
// It decides nothing about usage: what a node is to a pod says
// internal/steering. It knows how kube-scheduler asks: node by node, in
// parallel, before it is known which nodes other plugins leave. It leaves
// observing to whoever makes it.
//
// Invariants:
//   - A pod is never failed for lack of data or by an error of Evenkeel's; what is not known is neutral.
//   - A node is refused only if another one would take the pod, unless the policy says rejectAll. So nothing is refused
//     before the other plugins have been asked about another node, and a refused node is never a candidate for preemption.
//   - What is reckoned with a pod is booked when its node is chosen (Reserve), and taken back when it does not come to it.
package schedulerplugin

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

	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Plugin is one plugin of one profile. It works with any part of its extension
// points enabled: with score alone it prefers nodes, with filter it keeps pods
// off them as well, and with reserve it reckons at once with what was placed.
type Plugin struct {
	name string
	host host
	side Side
	// parts says that of nodes with the same score one is picked for each pod,
	// where no other plugin tells them apart.
	parts bool

	// opening keeps two nodes that are asked about at once from opening two
	// cycles for a pod.
	opening sync.Mutex
	// newest is what was opened last: a profile places one pod after the other,
	// and asks about each of hundreds of nodes.
	newest atomic.Pointer[asked]
	// places tell nodes apart without reading their names.
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
)

// SideConfig is what an observing half is made of.
type SideConfig struct {
	// Name tells it from others of the process, in logs and metrics.
	Name string
	// PolicyFile is the policy's path; Given is a policy that is in no file.
	PolicyFile string
	Given      *policy.File
	// Namespace of the ledger; Follow reports whether it counts.
	Namespace string
	Follow    bool
	// REST is how kube-scheduler reaches the API server, Informers what it
	// watches of it.
	REST      *rest.Config
	Informers informers.SharedInformerFactory
}

// Side is the observing half of one policy.
type Side interface {
	// Judge returns what answers for pods; nil until it can be asked.
	Judge() *steering.Judge
	// Refusal returns what is told about a node above a measured limit, empty
	// for the usual, and whether a pod waits when all nodes are.
	Refusal() (message string, all bool)
	// Run observes until the context ends, and goes by the policy as it
	// changes.
	Run(ctx context.Context) error
}

// Name is the name that the plugin is registered under.
func (p *Plugin) Name() string { return p.name }

// PreFilter opens the pod's cycle and judges all nodes. Where none is refused
// it has the filter skipped.
func (p *Plugin) PreFilter(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	opened := p.open(cycle, pod)
	refuses := opened.judge(&p.places, nodes)
	p.keep(opened)
	if !refuses {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// PreFilterExtensions returns nil: what other pods a node holds changes nothing
// of what it really uses.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter refuses nodes that are not for the pod: hot ones, those its
// predecessor was moved away from, and for a replacement all but the one it
// belongs to.
func (p *Plugin) Filter(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	asked := p.of(cycle, pod)
	if asked.steering == nil {
		return nil
	}
	node := info.Node()
	if asked.steering.Replaces() && !isProbe(ctx) {
		look := &probe{host: p.host, ctx: ctx, cycle: cycle, pod: pod, asked: asked}
		if to := look.landing(); to != "" {
			if node.Name == to {
				return nil
			}
			return refuse(extender.RejectNotDestination.Message())
		}
	}
	reject := asked.reject(node)
	if reject == extender.RejectNone || isProbe(ctx) { // a context takes long to search, and most nodes are not refused
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

// refusal returns what is told about a node that is refused, and whether it is
// even if no other node takes the pod.
func (p *Plugin) refusal(reject extender.Reject) (message string, all bool) {
	if reject != extender.RejectLoad {
		return reject.Message(), false
	}
	message, all = p.side.Refusal()
	return cmp.Or(message, reject.Message()), all
}

// refuse tells why, as something that no preemption would mend.
func refuse(message string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)
}

// PreScore keeps which nodes are left for the pod. Where nothing is known it
// has scoring skipped.
func (p *Plugin) PreScore(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	asked := p.of(cycle, pod)
	if asked.steering == nil || asked.steering.Neutral() && !p.parts {
		return fwk.NewStatus(fwk.Skip)
	}
	asked.left = nodes
	return nil
}

// Score leaves scoring to NormalizeScore, which sees all nodes of the pod:
// scores are spread over them.
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

// partTies takes a point off all but one of the best, another one for each pod.
// kube-scheduler takes the first of equals, so that all pods until the next
// measurement would go to one node.
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
	_, _ = hash.Write([]byte(podUID)) // it never fails
	top := max(points[best[0]], 1)
	for _, i := range best {
		points[i] = top - 1
	}
	points[best[int(hash.Sum32()%uint32(len(best)))]] = top // fewer nodes than 2^32
}

// Reserve reckons with the pod on its node from now on.
func (p *Plugin) Reserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if asked := p.of(cycle, pod); asked.steering != nil {
		asked.steering.Reserve(node)
	}
	return nil
}

// Unreserve takes back what Reserve has reckoned with.
func (p *Plugin) Unreserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, _ string) {
	if asked := p.of(cycle, pod); asked.steering != nil {
		asked.steering.Unreserve()
	}
}

// EventsToRegister names what may make a refused node take the pod: usage falls
// when pods go, and other nodes come.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint | fwk.UpdateNodeLabel | fwk.UpdateNodeAnnotation}},
	}, nil
}

// key is the name of the plugin, by which it is enabled once in a profile.
func (p *Plugin) key() fwk.StateKey { return fwk.StateKey(p.name) }

// of returns what was opened for the pod in this cycle; where no PreFilter has,
// it is opened now.
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
	if err != nil { // there is none yet
		return nil
	}
	known, ok := data.(*asked)
	if !ok {
		return nil
	}
	return known
}

func (p *Plugin) open(cycle fwk.CycleState, pod *v1.Pod) *asked {
	judge := p.side.Judge()
	if judge == nil {
		return &asked{cycle: cycle}
	}
	return &asked{cycle: cycle, steering: judge.Consider(steering.Describe(pod))}
}

// keep has what was opened found again.
func (p *Plugin) keep(opened *asked) {
	opened.cycle.Write(p.key(), opened)
	p.newest.Store(opened)
}
