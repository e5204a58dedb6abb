package realusage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// Asked is what a Study should answer besides the plan.
type Asked struct {
	// Pod is the pod asked about; nil for none.
	Pod *cluster.Pod
	// Protection holds the DefaultEvictor's arguments, to find which of its
	// checks protect the pod; nil skips that.
	Protection runtime.Object
}

// Study is a plan and its effect on one pod, as an explanation.
type Study struct {
	Made Made
	// Pod is the pod asked about as the planner sees it, on any node; nil if
	// none was asked about or it is gone.
	Pod *strategies.Pod
	// Protection lists the DefaultEvictor checks that protect the pod, in its
	// words, or says what else does.
	Protection string
	// Landings says for each other node whether it would take the pod.
	Landings []plan.Landing
}

// Study plans as Balance does but executes nothing. It may be called while
// Balance runs.
func (p *Plugin) Study(ctx context.Context, nodes []*v1.Node, asked Asked) (Study, error) {
	observed := p.deps.Half.Observe()
	study := Study{Made: Made{Observed: observed, Closed: observed.Closed, By: p}}
	if observed.Closed != "" {
		if observed.View != nil {
			p.judge(ctx, &study, asked)
		}
		return study, nil
	}
	input, objects, err := p.input(observed, nodes)
	if err != nil {
		return study, err
	}
	study.Made.Input = input
	object := p.judge(ctx, &study, asked)
	if cool := openFor(objects, input.Nodes, nodes); p.args.NumberOfNodes > 0 && cool <= p.args.NumberOfNodes {
		study.Made.Closed = fmt.Sprintf("%d nodes are cool and take pods, numberOfNodes asks for more than %d", cool, p.args.NumberOfNodes)
		study.Made.Plan = plan.Idle(input)
		return study, nil
	}
	if study.Pod != nil {
		objects[study.Pod.Pod] = object
	}
	return study, p.try(ctx, &study, objects)
}

// try plans and finds the pod's landings in a what-if session.
func (p *Plugin) try(ctx context.Context, study *Study, objects map[*cluster.Pod]*v1.Pod) error {
	session, err := p.deps.Half.Session(ctx)
	if err != nil {
		return fmt.Errorf("opening a placement session: %w", err)
	}
	defer session.Close()
	input := study.Made.Input
	input.Placement = sessionPlacement{session, objects}
	study.Made.Plan = plan.New(input)
	p.pace(&study.Made)
	if study.Pod != nil {
		study.Landings = plan.Landings(&input, study.Pod)
	}
	return nil
}

// pace adds to a plan how long the moves off each node take.
func (p *Plugin) pace(made *Made) {
	moves := slices.Concat(made.Plan.Moves, made.Plan.Waiting)
	if made.Observed.Pace == nil || len(moves) == 0 {
		return
	}
	estimated := map[string]bool{}
	for i := range made.Plan.Waiting {
		if m := &made.Plan.Waiting[i]; m.To == "" {
			estimated[m.From] = true
		}
	}
	reliefs := made.Observed.Pace(moves, p.deps.Options.MaxMoves, made.Input.MaxPerNode)
	for i := range made.Plan.Nodes {
		n := &made.Plan.Nodes[i]
		if relief, moved := reliefs[n.Name]; moved {
			relief.AtLeast = estimated[n.Name]
			n.Relief = &relief
		}
	}
}

// judge finds the pod asked about and evaluates it as the planner does.
func (p *Plugin) judge(ctx context.Context, study *Study, asked Asked) *v1.Pod {
	if asked.Pod == nil {
		return nil
	}
	object, read := p.object(asked.Pod), readingOf(study.Made.Observed.View, asked.Pod)
	if object == nil || read == nil {
		return nil
	}
	pod := &strategies.Pod{Pod: asked.Pod, Usage: read.Used, Expected: read.Expected, Pattern: read.Pattern}
	pod.Refused = p.refuse(object, asked.Pod, read)
	switch {
	case pod.Refused != "":
	case !p.handle.Evictor().PreEvictionFilter(object):
		pod.Refused = reasons.PreEvictionFilter
	default:
		pod.Disruption = p.deps.Half.Disruption(object)
	}
	study.Protection = p.protection(ctx, pod.Refused, asked.Protection, object)
	if reason, detail := p.deps.Half.Protection(object); reason == pod.Refused {
		study.Protection = cmp.Or(study.Protection, detail)
	}
	study.Pod = pod
	return object
}

// object returns the API object of a pod, nil if it is gone.
func (p *Plugin) object(pod *cluster.Pod) *v1.Pod {
	listed, err := podutil.ListPodsOnANode(pod.Node, p.handle.GetPodsAssignedToNodeFunc(), nil)
	if err != nil {
		return nil
	}
	for _, object := range listed {
		if string(object.UID) == pod.UID {
			return object
		}
	}
	return nil
}

// readingOf returns a pod's measured usage, nil if the view does not have it.
func readingOf(view *usage.View, pod *cluster.Pod) *usage.PodUsage {
	i := view.Snapshot.Index(pod.Node)
	if i < 0 {
		return nil
	}
	for j, other := range view.Snapshot.Nodes[i].Pods {
		if other.UID == pod.UID {
			return &view.Nodes[i].Pods[j]
		}
	}
	return nil
}

// openFor counts the cool nodes that take pods. One with taints takes those pods
// only that tolerate them.
func openFor(pods map[*cluster.Pod]*v1.Pod, nodes []plan.Node, objects []*v1.Node) (open int) {
	tainted := map[string][]v1.Taint{}
	for _, object := range objects {
		if len(object.Spec.Taints) > 0 {
			tainted[object.Name] = object.Spec.Taints
		}
	}
	for i := range nodes {
		if n := &nodes[i]; n.Open() && tolerated(tainted[n.Name], pods) {
			open++
		}
	}
	return open
}

// tolerated reports whether no taint keeps pods off, or one of these tolerates
// all that do.
func tolerated(taints []v1.Taint, pods map[*cluster.Pod]*v1.Pod) bool {
	repels := func(taint *v1.Taint) bool { return taint.Effect != v1.TaintEffectPreferNoSchedule }
	repelled := func(tolerations []v1.Toleration) bool {
		_, repelled := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), taints, tolerations, repels, true)
		return repelled
	}
	if !repelled(nil) {
		return true
	}
	for _, pod := range pods {
		if !repelled(pod.Spec.Tolerations) {
			return true
		}
	}
	return false
}

// sessionPlacement is a placement.Session as the planner's Placement.
type sessionPlacement struct {
	session *placement.Session
	objects map[*cluster.Pod]*v1.Pod
}

var _ plan.Placement = sessionPlacement{}

func (s sessionPlacement) Fits(pod *cluster.Pod, node string) (bool, string) {
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

func (s sessionPlacement) Scores(pod *cluster.Pod, nodes []string) []int64 {
	return s.session.Scores(s.objects[pod], nodes)
}

func (s sessionPlacement) Move(pod *cluster.Pod, to string) (func(), error) {
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
