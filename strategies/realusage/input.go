package realusage

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/utils"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/forecast"
)

// gathering collects the input of a plan.
type gathering struct {
	*Plugin

	observed strategies.Observed
	// byUID holds the API objects of the current node's pods.
	byUID map[string]*v1.Pod
	// objects holds the API objects of the pods that may be moved, for the
	// scheduler's filters.
	objects map[*cluster.Pod]*v1.Pod
	// passing holds what the pre-eviction filters said of the current node's pods.
	passing map[template]bool
}

// template is what the pre-eviction filters distinguish pods of a node by: the
// DefaultEvictor's, the only one that there is, asks for the namespace's labels
// and for another node that the pod fits on. Pods of one owner are in several
// namespaces if it is in none.
type template struct{ namespace, owner, hash string }

// input also returns the API objects of the pods that may be moved.
func (p *Plugin) input(observed strategies.Observed, nodes []*v1.Node) (plan.Input, map[*cluster.Pod]*v1.Pod, error) {
	in := plan.Input{
		MaxMoves: p.deps.Options.MaxMoves, MinGainPercent: p.deps.Options.MinGainPercent,
		MinHotMinutesSaved: p.deps.Options.MinHotTimeSaved.Minutes(), Recurs: p.deps.Options.Recurs, At: observed.View.At,
		Unforeseen: p.deps.Options.Unforeseen, Beside: observed.Beside,
	}
	if observed.MaxMoves > 0 && (in.MaxMoves == 0 || observed.MaxMoves < in.MaxMoves) {
		in.MaxMoves = observed.MaxMoves
	}
	if limits := p.args.EvictionLimits; limits != nil && limits.Node != nil {
		in.MaxPerNode = int(*limits.Node)
	}
	g := &gathering{Plugin: p, observed: observed, objects: make(map[*cluster.Pod]*v1.Pod, observed.PodsOnHotNodes())}
	var err error
	if in.Nodes, err = g.nodes(nodes); err != nil {
		return plan.Input{}, nil, err
	}
	in.Residents = g.residents(in.Nodes)
	return in, g.objects, nil
}

// nodes converts the nodes of the view that the policy names, on all processors:
// what is asked about each pod takes a third of a plan.
func (g *gathering) nodes(named []*v1.Node) ([]plan.Node, error) {
	eligible := make(map[string]struct{}, len(named))
	for _, node := range named {
		eligible[node.Name] = struct{}{}
	}
	places := make([]int, 0, len(named))
	for i, info := range g.observed.View.Snapshot.Nodes {
		if _, ok := eligible[info.Node.Name]; ok {
			places = append(places, i)
		}
	}
	nodes, parts := make([]plan.Node, len(places)), make([]*gathering, min(runtime.GOMAXPROCS(0), 1+len(places)/nodesEach))
	var group errgroup.Group
	for first := range parts {
		part := &gathering{Plugin: g.Plugin, observed: g.observed, byUID: map[string]*v1.Pod{}, passing: map[template]bool{}, objects: map[*cluster.Pod]*v1.Pod{}}
		parts[first] = part
		group.Go(func() (err error) {
			for k := first; k < len(places) && err == nil; k += len(parts) {
				nodes[k], err = part.node(places[k])
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, part := range parts {
		maps.Copy(g.objects, part.objects)
	}
	return nodes, nil
}

// nodesEach is for how many nodes another processor is worth asking.
const nodesEach = 500

// residents finds the candidates and their siblings, replacements that are on
// their way included.
func (g *gathering) residents(nodes []plan.Node) plan.Residents {
	if len(g.objects) == 0 {
		return nil // most of the time nothing is hot
	}
	place, i := owners(nodes), 0
	lists := make([][]cluster.NodeIndex, len(place))
	for _, info := range g.observed.View.Snapshot.Nodes {
		if i == len(nodes) || info.Node.Name != nodes[i].Name {
			continue
		}
		for _, pod := range info.Pods {
			if k, ok := place[plan.OwnerOf(pod)]; ok && !pod.Terminating {
				lists[k] = append(lists[k], cluster.NodeIndex(i))
			}
		}
		i++
	}
	for _, a := range g.observed.Coming {
		k, ok := place[plan.Owner{Namespace: a.Namespace, UID: a.OwnerUID}]
		i, known := slices.BinarySearchFunc(nodes, a.Node, func(n plan.Node, name string) int { return strings.Compare(n.Name, name) })
		if ok && known {
			lists[k] = append(lists[k], cluster.NodeIndex(i))
			slices.Sort(lists[k])
		}
	}
	residents := make(plan.Residents, len(lists))
	for owner, k := range place {
		residents[owner] = lists[k]
	}
	return residents
}

// owners numbers the owners of the candidates.
func owners(nodes []plan.Node) map[plan.Owner]int {
	place := map[plan.Owner]int{}
	for i := range nodes {
		for k := range nodes[i].Pods {
			owner := plan.OwnerOf(nodes[i].Pods[k].Pod)
			if _, known := place[owner]; !known && owner.UID != "" && nodes[i].Pods[k].Refused == "" {
				place[owner] = len(place)
			}
		}
	}
	return place
}

// within returns what pods of a node stay within by the policy, and the zone
// that they stay within if they can.
func (p *Plugin) within(site cluster.Site) (domain, zone string) {
	if site.Zone != "" && !p.deps.Options.AcrossZones {
		domain = "zone " + site.Zone
	}
	if site.Spot && !p.deps.Options.AcrossCapacityTypes {
		domain = strings.TrimSpace(domain + " spot")
	}
	return domain, site.Zone
}

// node converts a node of the view for the planner.
func (g *gathering) node(i int) (plan.Node, error) {
	info, read := g.observed.View.Snapshot.Nodes[i], &g.observed.View.Nodes[i]
	node := plan.Node{
		Name:        info.Node.Name,
		Allocatable: info.Node.Allocatable,
		State:       g.observed.States[info.Node.Name].State,
		Current:     read.Current[usage.AtAvg5m],
		Closed:      info.Node.Closed(),
	}
	node.OverOther = g.observed.Lines.OverOther(i, usage.CPU)
	node.Domain, node.Zone = g.within(info.Node.Site())
	node.Predicted, _ = g.observed.Board.Predicted(cluster.NodeIndex(i))
	node.Ceiling = g.observed.Board.Ceiling(cluster.NodeIndex(i))
	if node.State != thresholds.Hot {
		rest := node.Predicted[cluster.CPU]
		for j := range read.Pods {
			node.Load.Add(read.Pods[j].Expected)
			rest -= read.Pods[j].Used[cluster.CPU]
		}
		g.expect(&node, i, rest)
		return node, g.ahead(&node, info, read)
	}
	pods, left, err := g.pods(info, read)
	if err != nil {
		return plan.Node{}, err
	}
	node.Pods, node.Begun = pods, g.observed.Begun[info.Node.Name]
	node.Current = node.Current.Minus(left).AtLeastZero()
	rest := node.Current[cluster.CPU]
	for k := range pods {
		node.Load.Add(pods[k].Expected)
		rest -= pods[k].Usage[cluster.CPU]
	}
	stays := g.expect(&node, i, rest)
	for k := range pods {
		pods[k].Expected = pods[k].Expected.Toward(stays)
	}
	node.Need = g.observed.Lines.Need(i, left)
	node.Full = !g.deps.Options.Unforeseen && strategies.Full(&info.Node, read.Whole(usage.AtAvg5m))
	if node.Full {
		node.Unserved = strategies.EstimateUnserved(pods)
	}
	node.ByCPU = g.observed.Lines.OverOnly(i, usage.CPU)
	return node, nil
}

// ahead tells what recurs on a node that is not hot, and finds the candidates if it
// will be; not while replacements are on their way, whose patterns it would miss.
func (g *gathering) ahead(node *plan.Node, info *cluster.NodePods, read *usage.NodeUsage) (err error) {
	recurs := func(p usage.PodUsage) bool { return p.Pattern.Recurs() }
	if !read.Known() || g.deps.Options.Recurs.Period == 0 || !slices.ContainsFunc(read.Pods, recurs) {
		return nil
	}
	node.Course = new(forecast.Course)
	for j := range read.Pods {
		node.Course.Add(read.Pods[j].Expected, read.Pods[j].Pattern)
	}
	node.Course.Shift(read.System[cluster.CPU])
	if node.Certain = node.Course; len(g.observed.Coming) > 0 || !node.WillBeHot(g.deps.Options.Recurs) {
		return nil
	}
	node.Certain = new(*node.Course)
	without(node.Certain, read, func(j int) bool { return read.Pods[j].Lasts && !info.Pods[j].Terminating })
	if !node.WillBeHot(g.deps.Options.Recurs) {
		return nil
	}
	if node.Pods, _, err = g.pods(info, read); err != nil {
		return err
	}
	k := 0
	without(node.Certain, read, func(j int) bool {
		listed := k < len(node.Pods) && node.Pods[k].Pod == info.Pods[j]
		if listed {
			k++
		}
		return listed || !read.Pods[j].Lasts || info.Pods[j].Terminating // the others have begun to leave
	})
	return nil
}

// without takes those pods out of what is certain of a node that do not stay.
func without(certain *forecast.Course, read *usage.NodeUsage, stays func(j int) bool) {
	for j := range read.Pods {
		if !stays(j) {
			certain.Remove(read.Pods[j].Expected, read.Pods[j].Pattern)
		}
	}
}

// expect completes what a node is expected to use: besides its pods, so much as
// long as one can see. It returns how much of that is believed to stay as it is.
func (g *gathering) expect(node *plan.Node, i int, rest int64) [forecast.Spans]float64 {
	node.Load.Shift(rest)
	node.Load.Correlate(g.observed.View.Nodes[i].Expected)
	stays := node.Load.Stays(node.Allocatable[cluster.CPU])
	node.Load = node.Load.Toward(stays)
	node.HotLine = g.observed.Lines.HotLine(i, cluster.CPU)
	return stays
}

// pods returns the candidates of a hot node, and the usage that has left or is
// leaving it since the observation, which justifies no further moves. Pods that
// were already terminating then count as neither, because the node was not
// judged by them.
func (g *gathering) pods(info *cluster.NodePods, read *usage.NodeUsage) (pods []strategies.Pod, left cluster.Amounts, err error) {
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
		if object == nil || object.DeletionTimestamp != nil || g.deps.Half.Moving(record.UID) {
			left = left.Plus(pod.Usage) // a lower bound, until the next sample
			continue
		}
		pod.Refused = g.refuse(object, record, &read.Pods[j])
		if pod.Refused == "" && !g.passes(object, record) {
			pod.Refused = reasons.PreEvictionFilter
		}
		if info.Node.Leaving != "" {
			pod.Refused = reasons.NodeLeaving
		}
		if pod.Refused == "" {
			pod.Disruption = g.deps.Half.Disruption(object)
			g.objects[record] = object
		}
		pods = append(pods, pod)
	}
	return pods, left, nil
}

// passes asks the pre-eviction filters, once for pods that are alike: they may
// look at every node for an answer, and they log it.
func (g *gathering) passes(object *v1.Pod, record *cluster.Pod) bool {
	like := template{record.Namespace, record.Owner.UID, cmp.Or(record.TemplateHash, record.UID)}
	passes, asked := g.passing[like]
	if !asked {
		passes = g.handle.Evictor().PreEvictionFilter(object)
		g.passing[like] = passes
	}
	return passes
}

// list looks up the objects of the pods on a node, which becomes the current one.
func (g *gathering) list(node string) error {
	objects, err := podutil.ListPodsOnANode(node, g.handle.GetPodsAssignedToNodeFunc(), nil)
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

// refuse returns the most informative reason why a pod may not be moved.
func (p *Plugin) refuse(object *v1.Pod, record *cluster.Pod, read *usage.PodUsage) reasons.Reason {
	switch {
	case utils.IsMirrorPod(object) || isStatic(object):
		return reasons.MirrorPod
	case record.Owner.Kind == "DaemonSet":
		return reasons.DaemonSetPod
	case record.Owner.UID == "":
		return reasons.NoController
	case record.Owner.Kind == "Job" && !p.deps.Options.EvictJobs && !foreign(object):
		return reasons.JobPod
	case !slices.Contains(p.deps.Options.SchedulerNames, object.Spec.SchedulerName):
		return reasons.SchedulerNotSteered
	case p.args.Spares(object.Namespace):
		return reasons.NamespaceExcluded
	case read.Starting:
		return reasons.PodStarting
	case !read.Measured:
		return reasons.PodUsageUnknown
	}
	if reason := p.deps.Half.Refuse(object); reason != "" {
		return reason
	}
	if !p.handle.Evictor().Filter(p.filtered(object)) {
		return reasons.ProtectedByDefaultEvictor
	}
	return ""
}

// foreign reports whether a pod's controller is of a custom resource. Volcano's Job,
// for one, is among the policy's recreatingControllers or not moved at all.
func foreign(object *v1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(object)
	return ref != nil && strings.Contains(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group, ".")
}

// isStatic is upstream's IsStaticPod without its error for every pod that does
// not state its source.
func isStatic(object *v1.Pod) bool {
	source, ok := object.Annotations[configSource]
	return ok && source != "api"
}

// configSource is the annotation in which a kubelet states a pod's source.
const configSource = "kubernetes.io/config.source"

// filtered returns the pod to show to the framework's filters. The
// DefaultEvictor's minReplicas spares single pods a gap that a surge does not
// leave, and no argument exempts pods from this check alone. But the check
// skips pods with more than one owner, and no other check counts owners.
func (p *Plugin) filtered(object *v1.Pod) *v1.Pod {
	if len(object.OwnerReferences) == 0 || !p.deps.Half.Surges(object) {
		return object
	}
	twice := *object
	twice.OwnerReferences = slices.Concat(object.OwnerReferences, object.OwnerReferences)
	return &twice
}
