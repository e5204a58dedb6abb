package plugin

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Round is what a strategy plans one cycle on.
type Round struct {
	// Observed is what is known of usage.
	Observed strategies.Observed
	// Options are the policy's rules.
	Options Options
	// Nodes are those that the policy's nodeSelector matches, ordered by name.
	Nodes []*v1.Node
	// Asked is the pod that an explanation is about; nil if there is none.
	Asked *strategies.Pod

	plugin *Plugin
	asked  *v1.Pod // the object of Asked
}

// Pods returns what looks up the pods of nodes. Several may be used at once, each by
// one goroutine.
func (r *Round) Pods() *Pods {
	return &Pods{plugin: r.plugin, moved: r.Observed.Moved, byUID: map[string]*v1.Pod{}, passing: map[template]bool{}, objects: map[*cluster.Pod]*v1.Pod{}}
}

// AskedObject returns the API object of Asked.
func (r *Round) AskedObject() *v1.Pod { return r.asked }

// Place opens a what-if session on the current cluster for pods that may be moved, and
// the pod asked about. The caller closes it.
func (r *Round) Place(ctx context.Context, pods *Pods) (Placement, error) {
	session, err := r.plugin.deps.Half.Session(ctx)
	if err != nil {
		return Placement{}, fmt.Errorf("opening a placement session: %w", err)
	}
	if r.Asked != nil {
		pods.objects[r.Asked.Pod] = r.asked
	}
	return Placement{session, pods.objects}, nil
}

// Pods looks up the pods of nodes.
type Pods struct {
	plugin *Plugin
	moved  map[string]bool // strategies.Observed's
	// byUID holds the API objects of the current node's pods.
	byUID map[string]*v1.Pod
	// objects holds the API objects of the pods that may be moved, for the
	// scheduler's filters.
	objects map[*cluster.Pod]*v1.Pod
	// passing holds what the pre-eviction filters said of the current node's pods.
	passing map[template]bool
}

// Add takes over what others have found.
func (g *Pods) Add(others *Pods) { maps.Copy(g.objects, others.objects) }

// Movable returns the API objects of the pods that may be moved.
func (g *Pods) Movable() map[*cluster.Pod]*v1.Pod { return g.objects }

// template is what the pre-eviction filters distinguish pods of a node by: the
// DefaultEvictor's, the only one that there is, asks for the namespace's labels
// and for another node that the pod fits on. Pods of one owner are in several
// namespaces if it is in none.
type template struct{ namespace, owner, hash string }

// Of returns the pods of a node, each with why it may not be moved, and the usage that
// has left or is leaving it since the observation, which justifies no further moves.
// Pods that were already terminating then count as neither, because the node was not
// judged by them. about picks pods; nil picks all.
func (g *Pods) Of(ctx context.Context, info *cluster.NodePods, read *usage.NodeUsage, about func(*cluster.Pod, *v1.Pod) bool) (pods []strategies.Pod, left cluster.Amounts, err error) {
	if err := g.list(info.Node.Name); err != nil {
		return nil, left, err
	}
	pods = make([]strategies.Pod, 0, len(info.Pods))
	for j, record := range info.Pods {
		if record.Terminating {
			continue
		}
		pod := strategies.Pod{Pod: record, Usage: read.Pods[j].Used, Expected: read.Pods[j].Expected, Pattern: read.Pods[j].Pattern, PeakMilliCores: read.Pods[j].PeakMilliCores}
		object := g.byUID[record.UID]
		if object == nil || object.DeletionTimestamp != nil || g.plugin.deps.Half.Moving(record.UID) {
			left = left.Plus(read.Pods[j].Counted()) // a lower bound, until the next sample
			continue
		}
		if about != nil && !about(record, object) {
			continue
		}
		pod.Refused = g.refuse(ctx, &strategies.Candidate{Object: object, Record: record, Read: &read.Pods[j], Leaving: info.Node.Leaving})
		if pod.Refused == "" {
			pod.Disruption = g.plugin.disruption(object, g.moved)
			g.objects[record] = object
		}
		pods = append(pods, pod)
	}
	return pods, left, nil
}

// refuse asks the gate about a pod. It asks the pre-eviction filters once for pods that
// are alike: they may look at every node for an answer, and they log it.
func (g *Pods) refuse(ctx context.Context, pod *strategies.Candidate) reasons.Reason {
	profile := *g.plugin.Profile()
	late := profile.PreEvictionFilter
	profile.PreEvictionFilter = func(object *v1.Pod) bool {
		like := template{pod.Record.Namespace, pod.Record.Owner.UID, cmp.Or(pod.Record.TemplateHash, pod.Record.UID)}
		passes, asked := g.passing[like]
		if !asked {
			passes = late(object)
			g.passing[like] = passes
		}
		return passes
	}
	return g.plugin.deps.Half.Refuse(ctx, pod, &profile)
}

// list looks up the objects of the pods on a node, which becomes the current one.
func (g *Pods) list(node string) error {
	objects, err := podutil.ListPodsOnANode(node, g.plugin.handle.GetPodsAssignedToNodeFunc(), nil)
	if err != nil {
		return fmt.Errorf("listing the pods of node %q: %w", node, err)
	}
	clear(g.byUID)
	clear(g.passing)
	for _, object := range objects {
		g.byUID[string(object.UID)] = object
	}
	return nil
}

// Placement says which nodes would take pods, given the moves that it was told. It
// holds a what-if session on the cluster.
type Placement struct {
	session *placement.Session
	objects map[*cluster.Pod]*v1.Pod
}

// Fits reports whether the replacement of pod could run on node, and if not, why.
func (s Placement) Fits(pod *cluster.Pod, node string) (bool, string) {
	object := s.objects[pod]
	if object == nil {
		return false, "the pod is gone"
	}
	result := s.session.Fits(object, node)
	if result.OK {
		return true, ""
	}
	if result.Plugin == "" {
		return false, result.Reason
	}
	return false, result.Plugin + ": " + result.Reason
}

// Scores returns how much kube-scheduler would prefer each of some nodes for the
// replacement, higher for better and below 0 for a node that it could not run on;
// nil if it has no preference among them.
func (s Placement) Scores(pod *cluster.Pod, nodes []string) []int64 {
	return s.session.Scores(s.objects[pod], nodes)
}

// Move applies a move and returns its undo.
func (s Placement) Move(pod *cluster.Pod, to string) (func(), error) {
	object := s.objects[pod]
	if object == nil {
		return nil, fmt.Errorf("moving pod %q: it is gone", pod.Key())
	}
	undo, err := s.session.Move(object, to)
	if err != nil {
		return nil, fmt.Errorf("moving pod %q to %q: %w", pod.Key(), to, err)
	}
	return undo, nil
}

// Close ends the session.
func (s Placement) Close() { s.session.Close() }
