package realusage

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/utils"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/lines"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// Observed is what the plugin plans on.
type Observed struct {
	View   *usage.View
	Board  *scorer.Board
	States map[string]plan.NodeState
	Lines  *lines.Resolved
	// Closed is why nothing may be evicted now; empty when it may.
	Closed string
	// MaxMoves is how many moves may be made beside the policy's bound; negative for no further bound.
	MaxMoves int
}

// Options are a policy's rules about pods and plans.
type Options struct {
	MaxMoves       int
	MinGainPercent float64
	EvictJobs      bool
	SchedulerNames []string
}

func (p *Plugin) input(observed Observed, nodes []*v1.Node) (plan.Input, error) {
	eligible := make(map[string]*v1.Node, len(nodes))
	for _, node := range nodes {
		eligible[node.Name] = node
	}
	in := plan.Input{MaxMoves: p.deps.Options.MaxMoves, MinGainPercent: p.deps.Options.MinGainPercent}
	if observed.MaxMoves > 0 && (in.MaxMoves == 0 || observed.MaxMoves < in.MaxMoves) {
		in.MaxMoves = observed.MaxMoves
	}
	if limits := p.args.EvictionLimits; limits != nil && limits.Node != nil {
		in.MaxPerNode = int(*limits.Node)
	}
	for i := range observed.View.Nodes {
		info, read := observed.View.Snapshot.Nodes[i], &observed.View.Nodes[i]
		if eligible[info.Node.Name] == nil {
			continue
		}
		node := plan.Node{
			Name:        info.Node.Name,
			Allocatable: info.Node.Allocatable,
			State:       observed.States[info.Node.Name].State,
			Current:     read.Current[usage.AtAvg5m],
			Closed:      closed(&info.Node),
		}
		node.Predicted, _ = observed.Board.Predicted(int32(i)) //nolint:gosec // a cluster has fewer than 2^31 nodes
		node.Ceiling = observed.Board.Ceiling(int32(i))        //nolint:gosec // as above
		if node.State == plan.Hot {
			pods, left, err := p.pods(info, read)
			if err != nil {
				return plan.Input{}, err
			}
			node.Pods = pods
			node.Current = node.Current.Minus(left).AtLeastZero()
			node.Need = observed.Lines.Need(i, left)
		}
		in.Nodes = append(in.Nodes, node)
	}
	return in, nil
}

// closed says why a node takes no landings whatever its usage.
func closed(node *cluster.Node) string {
	switch {
	case !node.Ready:
		return "NotReady"
	case !node.Schedulable:
		return "Cordoned"
	case node.Leaving != "":
		return "Leaving: " + node.Leaving
	}
	return ""
}

// pods are the candidates of a hot node, and what has left or is leaving it since it was observed: that is no cause for
// further moves. Pods that were terminating then are neither: they are not part of what the node was judged by.
func (p *Plugin) pods(info *cluster.NodePods, read *usage.NodeUsage) (pods []plan.Pod, left cluster.Amounts, err error) {
	objects, err := podutil.ListPodsOnANode(info.Node.Name, p.handle.GetPodsAssignedToNodeFunc(), nil)
	if err != nil {
		return nil, left, fmt.Errorf("listing the pods of node %q: %w", info.Node.Name, err)
	}
	byUID := make(map[string]*v1.Pod, len(objects))
	for _, object := range objects {
		byUID[string(object.UID)] = object
	}
	for j, record := range info.Pods {
		if record.Terminating {
			continue
		}
		pod := plan.Pod{Pod: record, Usage: read.Pods[j].Used}
		object := byUID[record.UID]
		if object == nil || object.DeletionTimestamp != nil || p.deps.Moving(record.UID) {
			left = left.Plus(pod.Usage) // at least what it was counted with; the next sample knows better
			continue
		}
		pod.Refused = p.refuse(object, record, &read.Pods[j])
		if info.Node.Leaving != "" {
			pod.Refused = plan.NodeLeaving
		}
		if pod.Refused == "" {
			pod.Disruption = p.deps.Disruption(object)
		}
		pods = append(pods, pod)
	}
	return pods, left, nil
}

// refuse says why a pod may not be moved, the most telling reason first.
func (p *Plugin) refuse(object *v1.Pod, record *cluster.Pod, read *usage.PodUsage) plan.Reason {
	switch {
	case utils.IsMirrorPod(object) || utils.IsStaticPod(object):
		return plan.MirrorPod
	case record.Owner.Kind == "DaemonSet":
		return plan.DaemonSetPod
	case record.Owner.UID == "":
		return plan.Unowned
	case record.Owner.Kind == "Job" && !p.deps.Options.EvictJobs:
		return plan.JobPod
	case !slices.Contains(p.deps.Options.SchedulerNames, object.Spec.SchedulerName):
		return plan.SchedulerNotSteered
	case p.args.EvictableNamespaces != nil && slices.Contains(p.args.EvictableNamespaces.Exclude, object.Namespace):
		return plan.NamespaceExcluded
	case !read.Measured:
		return plan.UsageUnknown
	}
	if reason := p.deps.Refuse(object); reason != "" {
		return reason
	}
	if !p.handle.Evictor().Filter(p.filtered(object)) {
		return plan.ProtectedByDefaultEvictor
	}
	return ""
}

// filtered is the pod as the framework's filters are asked about it. The DefaultEvictor's minReplicas is there to spare single
// pods the gap that a surge does not leave, and no argument exempts pods from this one check; but it passes over pods with more
// than one owner, and no other check counts them.
func (p *Plugin) filtered(object *v1.Pod) *v1.Pod {
	if len(object.OwnerReferences) == 0 || p.deps.Surges == nil || !p.deps.Surges(object) {
		return object
	}
	twice := *object
	twice.OwnerReferences = slices.Concat(object.OwnerReferences, object.OwnerReferences)
	return &twice
}

// objects maps the candidates' records to their objects, which the scheduler's filters need.
func (p *Plugin) objects(in plan.Input) map[string]*v1.Pod {
	objects := map[string]*v1.Pod{}
	for i := range in.Nodes {
		if in.Nodes[i].State != plan.Hot {
			continue
		}
		listed, err := podutil.ListPodsOnANode(in.Nodes[i].Name, p.handle.GetPodsAssignedToNodeFunc(), nil)
		if err != nil {
			continue // input has listed them a moment ago; without its object a pod has no landing
		}
		for _, object := range listed {
			objects[string(object.UID)] = object
		}
	}
	return objects
}

// sessionPlacement is a placement.Session as the planner's Placement.
type sessionPlacement struct {
	session *placement.Session
	objects map[string]*v1.Pod
}

var _ plan.Placement = sessionPlacement{}

func (s sessionPlacement) Fits(pod *cluster.Pod, node string) (bool, string) {
	object := s.objects[pod.UID]
	if object == nil {
		return false, "the pod is gone"
	}
	verdict := s.session.Fits(object, node)
	if verdict.OK {
		return true, ""
	}
	if verdict.Plugin == "" {
		return false, verdict.Reason
	}
	return false, verdict.Plugin + ": " + verdict.Reason
}

func (s sessionPlacement) Move(pod *cluster.Pod, to string) (func(), error) {
	object := s.objects[pod.UID]
	if object == nil {
		return nil, fmt.Errorf("moving pod %q: it is gone", pod.Key())
	}
	undo, err := s.session.Move(object, to)
	if err != nil {
		return nil, fmt.Errorf("moving pod %q to %q: %w", pod.Key(), to, err)
	}
	return undo, nil
}
