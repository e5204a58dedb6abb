package plugin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Round is one cycle of a strategy: its input and its plan. It enforces the policy's
// rules. A strategy's moves enter the plan through Move; if the strategy returns its own
// plan, the same rules are applied to it. A descheduler plugin's plan is not checked.
type Round struct {
	// Observed is the observation of usage that the round plans on.
	Observed strategies.Observed
	// Options are the policy's rules.
	Options Options
	// Nodes are the observed nodes that the policy's nodeSelector matches, ordered by
	// name. Ready are all nodes that it matches, observed or not.
	Nodes []*Node
	Ready []*v1.Node
	// Asked is the pod that an explanation is about; nil if there is none.
	Asked *strategies.Pod

	plugin  *Plugin
	asked   *v1.Pod // the object of Asked
	byName  map[string]*Node
	open    map[string][]*Node // by domain, coolest first; nil until needed
	moving  map[string]bool    // UIDs of the pods of supposed moves and of the plan's moves
	planned strategies.Tally
	plan    strategies.Plan
	// undo holds functions that undo the plan's moves in the what-if session. session is
	// nil until needed.
	undo    []func()
	session *placement.Session

	mu sync.Mutex
	// objects holds the API objects of the pods that may be moved, for the scheduler's
	// filters.
	objects map[*cluster.Pod]*v1.Pod
}

// Node is a node of a round.
type Node struct {
	// Object is the node as seen by the watch. Info and Read are its observation.
	Object *v1.Node
	Info   *cluster.NodePods
	Read   *usage.NodeUsage
	State  thresholds.State
	// At is the node's index in the observation.
	At cluster.NodeIndex
	// Predicted is its predicted usage without the plan's moves.
	Predicted cluster.Amounts
	// Domain is the group of nodes that its pods must not leave according to the policy.
	// Zone is the group that they leave only if no node in it has space.
	Domain, Zone string

	known bool // whether its usage is known
	// arriving is the usage, at their peaks, of the pods that the plan moves to the node,
	// if the strategy counts it. change is the net change in usage that the plan causes.
	arriving, change cluster.Amounts
}

// Name returns the node's name.
func (n *Node) Name() string { return n.Info.Node.Name }

// Rated returns amounts in percent of allocatable.
func (n *Node) Rated(amounts cluster.Amounts) cluster.Percents {
	return amounts.PercentOf(n.Info.Node.Allocatable)
}

// NewRound returns a round without a plugin, which plans no moves. It only answers where
// the replacements of evicted pods may go. The caller closes it.
func NewRound(half Half, observed *strategies.Observed, nodes []*v1.Node) *Round {
	return (&Plugin{deps: Deps{Half: half}}).round(observed, nodes)
}

func (p *Plugin) round(observed *strategies.Observed, nodes []*v1.Node) *Round {
	r := &Round{
		Observed: *observed, Options: p.deps.Options, Ready: nodes, plugin: p, byName: make(map[string]*Node, len(nodes)),
		moving: map[string]bool{}, planned: strategies.Tally{}, objects: map[*cluster.Pod]*v1.Pod{},
	}
	for i := range observed.Supposed {
		r.moving[observed.Supposed[i].UID] = true
	}
	for _, object := range nodes {
		if observed.View == nil { // descheduler plugins are planned without a View
			break
		}
		i := observed.View.Snapshot.Index(object.Name)
		if i < 0 {
			continue
		}
		info := observed.View.Snapshot.Nodes[i]
		n := &Node{Object: object, Info: info, Read: &observed.View.Nodes[i], State: observed.States[object.Name].State, At: cluster.NodeIndex(i)}
		n.Domain, n.Zone = r.Options.Within(info.Node.Site())
		n.Predicted, n.known = observed.Board.Predicted(n.At)
		r.Nodes, r.byName[object.Name] = append(r.Nodes, n), n
	}
	return r
}

// Node returns a node by name; nil if it is not one of Nodes.
func (r *Round) Node(name string) *Node { return r.byName[name] }

// Basis returns a node for a strategies.Basis; nil if it is not one of Nodes.
func (r *Round) Basis(name string) *strategies.NodeBasis {
	n := r.Node(name)
	if n == nil {
		return nil
	}
	return &strategies.NodeBasis{Name: name, State: n.State, Closed: n.Info.Node.Closed()}
}

// AskedObject returns the API object of Asked.
func (r *Round) AskedObject() *v1.Pod { return r.asked }

// Movable returns the API objects of the pods found by Pods that may be moved.
func (r *Round) Movable() map[*cluster.Pod]*v1.Pod { return r.objects }

// Pods returns the pods of a node, each with the reason why it must not be moved, if any.
// It also returns the usage that has left or is leaving the node since the observation,
// because that usage justifies no further moves. Both exclude pods that were already
// terminating at the time of the observation, because the node was judged without them.
// about selects pods; nil selects all. It is safe for concurrent use.
func (r *Round) Pods(ctx context.Context, of *Node, about func(*cluster.Pod, *v1.Pod) bool) (pods []strategies.Pod, left cluster.Amounts, err error) {
	byUID, err := r.plugin.list(of.Name())
	if err != nil {
		return nil, left, err
	}
	profile, next := r.plugin.profileOfANode()
	movable := map[*cluster.Pod]*v1.Pod{}
	pods = make([]strategies.Pod, 0, len(of.Info.Pods))
	for j, record := range of.Info.Pods {
		if record.Terminating {
			continue
		}
		read := &of.Read.Pods[j]
		object := byUID[record.UID]
		if object == nil || object.DeletionTimestamp != nil || r.plugin.deps.Half.Moving(record.UID) || r.moving[record.UID] {
			left = left.Plus(read.Counted()) // a lower bound, until the next sample
			continue
		}
		if about != nil && !about(record, object) {
			continue
		}
		next(record)
		pod := podOf(record, read)
		pod.Refused = r.plugin.deps.Half.Refuse(ctx, &strategies.Candidate{Object: object, Record: record, Read: read, Leaving: of.Info.Node.Leaving}, profile)
		if pod.Refused == "" {
			pod.Disruption = r.plugin.disruption(object, r.Observed.Moved)
			movable[record] = object
		}
		pods = append(pods, pod)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.objects, movable)
	return pods, left, nil
}

// Take returns a pod that the caller found elsewhere, with the reason why it must not be
// moved, if any. Its usage may be unknown.
func (r *Round) Take(ctx context.Context, object *v1.Pod) strategies.Pod {
	record, read, leaving := r.known(object)
	pod := podOf(record, read)
	if r.moving[record.UID] {
		pod.Refused = reasons.OnTheMove
		return pod
	}
	pod.Refused = r.plugin.deps.Half.Refuse(ctx, &strategies.Candidate{Object: object, Record: record, Read: read, Leaving: leaving}, r.plugin.Profile())
	if pod.Refused == "" {
		pod.Disruption = r.plugin.disruption(object, r.Observed.Moved)
		r.objects[record] = object
	}
	return pod
}

// Evicted is like Take, for a pod that is evicted no matter where its replacement will
// run.
func (r *Round) Evicted(object *v1.Pod) strategies.Pod {
	record, read, _ := r.known(object)
	r.objects[record] = object
	return podOf(record, read)
}

// known returns what was observed of a pod, and why its node is being emptied.
func (r *Round) known(object *v1.Pod) (record *cluster.Pod, read *usage.PodUsage, leaving string) {
	record, read = informed.Pod(object), &usage.PodUsage{}
	if n := r.Node(record.Node); n != nil {
		leaving = n.Info.Node.Leaving
		for j, known := range n.Info.Pods {
			if known.UID == record.UID {
				record, read = known, &n.Read.Pods[j]
			}
		}
	}
	return record, read, leaving
}

func podOf(record *cluster.Pod, read *usage.PodUsage) strategies.Pod {
	return strategies.Pod{Pod: record, Usage: read.Used, Expected: read.Expected, Pattern: read.Pattern, PeakMilliCores: read.PeakMilliCores}
}

// template is the key by which the pre-eviction filters distinguish pods of a node. The
// only such filter is the DefaultEvictor's, which checks the namespace's labels and
// whether the pod fits another node. The namespace is part of the key because pods of a
// cluster-scoped owner may be in several namespaces.
type template struct{ namespace, owner, hash string }

// profileOfANode returns the profile for the pods of one node, and a function that the
// caller must call with each pod before it asks the profile about that pod. The profile
// runs the pre-eviction filters only once for pods of the same template, because the
// filters may check every node and log each answer.
func (p *Plugin) profileOfANode() (profile *strategies.Profile, next func(record *cluster.Pod)) {
	var like template
	passing := map[template]bool{}
	profile = p.Profile()
	late := profile.PreEvictionFilter
	profile.PreEvictionFilter = func(object *v1.Pod) bool {
		passes, asked := passing[like]
		if !asked {
			passes = late(object)
			passing[like] = passes
		}
		return passes
	}
	return profile, func(record *cluster.Pod) {
		like = template{record.Namespace, record.Owner.UID, cmp.Or(record.TemplateHash, record.UID)}
	}
}

// list returns the objects of the pods on a node, by UID.
func (p *Plugin) list(node string) (map[string]*v1.Pod, error) {
	objects, err := podutil.ListPodsOnANode(node, p.handle.GetPodsAssignedToNodeFunc(), nil)
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %q: %w", node, err)
	}
	byUID := make(map[string]*v1.Pod, len(objects))
	for _, object := range objects {
		byUID[string(object.UID)] = object
	}
	return byUID, nil
}

// Placement determines which nodes kube-scheduler's filters would accept for pods that
// may be moved, given the moves applied with Move. It is the round's single what-if
// session on the current cluster.
type Placement struct{ round *Round }

// Placement returns the round's what-if session, opening it if needed.
func (r *Round) Placement(ctx context.Context) (Placement, error) {
	if r.session == nil {
		session, err := r.plugin.deps.Half.Session(ctx, r.Observed.Supposed)
		if err != nil {
			return Placement{}, fmt.Errorf("opening a placement session: %w", err)
		}
		r.session = session
	}
	return Placement{r}, nil
}

// Close ends the what-if session. Placement may open another one.
func (r *Round) Close() {
	if r.session != nil {
		r.session.Close()
		r.session = nil
	}
}

// takeBack undoes the plan's moves in the what-if session.
func (r *Round) takeBack() {
	for _, undo := range slices.Backward(r.undo) {
		undo()
	}
	r.undo = nil
}

// Fits reports whether the replacement of pod could run on node and, if not, why.
func (s Placement) Fits(pod *cluster.Pod, node string) (bool, string) {
	object := s.round.objects[pod]
	if object == nil {
		return false, "the pod is gone"
	}
	return fits(s.round.session, object, node)
}

func fits(session *placement.Session, object *v1.Pod, node string) (bool, string) {
	result := session.Fits(object, node)
	if result.OK {
		return true, ""
	}
	if result.Plugin == "" {
		return false, result.Reason
	}
	return false, result.Plugin + ": " + result.Reason
}

// Scores returns how much kube-scheduler would prefer each of the nodes for the
// replacement: higher is better, and a node on which it could not run has a negative
// score. It returns nil if kube-scheduler prefers none of them.
func (s Placement) Scores(pod *cluster.Pod, nodes []string) []int64 {
	return s.round.session.Scores(s.round.objects[pod], nodes)
}

// Filled returns the share of a node's CPU or memory that its pods request, whichever is
// larger, given the moves applied to the what-if session.
func (s Placement) Filled(node string) float64 { return s.round.session.Filled(node) }

// Move applies a move to the what-if session, not to the plan, and returns a function
// that undoes it.
func (s Placement) Move(pod *cluster.Pod, to string) (func(), error) {
	object := s.round.objects[pod]
	if object == nil {
		return nil, fmt.Errorf("moving pod %q: it is gone", pod.Key())
	}
	undo, err := s.round.session.Move(object, to)
	if err != nil {
		return nil, fmt.Errorf("moving pod %q to %q: %w", pod.Key(), to, err)
	}
	return undo, nil
}
