package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Node is one node as the planner sees it.
type Node struct {
	Name        string
	Allocatable cluster.Amounts
	State       thresholds.State
	// Current is the evidence for hot: what stays on the node, as measured.
	Current cluster.Amounts
	// Need is what has to leave a hot node to bring it under its evict lines;
	// zero or less if nothing has to.
	Need cluster.Amounts
	// NeedForSignals is the CPU that has to leave it for other metrics than CPU usage, in
	// milli-cores; zero or less if none has to.
	NeedForSignals int64
	// Unserved is how much more CPU its pods are estimated to want than it has, in
	// milli-cores.
	Unserved int64
	// Full: it is asked for more CPU than it has.
	Full bool
	// FullForHours: it was Full at each reading for as long as peaks of pods are remembered,
	// so these do not show what its pods want.
	FullForHours bool
	// Predicted is what a landing has to allow for: all pods, with estimates,
	// and moves in flight. Ceiling is the most of it that keeps the node under
	// its reject lines.
	Predicted, Ceiling cluster.Amounts
	// Load is the CPU that the node is expected to use, HotLine its evict line, in
	// milli-cores. ByCPU: it is hot by nothing else, so whether that lasts can be
	// told.
	Load    forecast.Load
	HotLine int64
	ByCPU   bool
	// OverOther: it is above an evict line of something else than CPU.
	OverOther bool
	// Course is the CPU that is expected of the node in each part of a period; nil
	// where nothing recurs.
	Course *forecast.Course
	// Certain is the Course of the pods that will be there then: of no Job, and
	// not leaving.
	Certain *forecast.Course
	// Domain is what pods stay within: they land on nodes of their own node's
	// domain only. Zone is what they stay within as long as that has room.
	Domain, Zone string
	// Closed is why the node takes no pods although it is cool (cordoned, about
	// to be removed); empty if it does.
	Closed string
	// Begun: pods were moved off it lately. If it is still hot it comes first,
	// because half cooled it has cost evictions for nothing.
	Begun bool
	// Pods are the candidates on a node that is hot or will be; nil on others.
	Pods []strategies.Pod
}

// hotMinutes returns how long the node is expected to be hot under a load.
func (n *Node) hotMinutes(load *forecast.Load) float64 {
	return load.HotMinutes(n.HotLine, n.Allocatable[cluster.CPU])
}

// weightedHotMinutes returns the same, weighted by how far above its line the node
// is expected to be.
func (n *Node) weightedHotMinutes(load *forecast.Load) float64 {
	return load.WeightedHotMinutes(n.HotLine, n.Allocatable[cluster.CPU])
}

// due returns the part of a need that nobody can tell to be a peak: all of it but the
// CPU that has to leave for the usage of CPU.
func (n *Node) due(need cluster.Amounts) cluster.Amounts {
	need[cluster.CPU] = min(need[cluster.CPU], max(n.NeedForSignals, 0))
	return need
}

// HotMinutes returns how long the node is expected to be hot within
// forecast.Horizon.
func (n *Node) HotMinutes() float64 { return n.hotMinutes(&n.Load) }

// heat returns how far a node is above its evict line, as a factor, in its
// hottest resource.
func heat(n *Node) float64 {
	highest := 0.0
	for r, need := range n.Need {
		if need > 0 {
			highest = max(highest, float64(n.Current[r])/max(float64(n.Current[r]-need), 1))
		}
	}
	return highest
}

// gain returns what moving a pod takes off its node in the resources that have
// to leave, in percent of allocatable.
func gain(pod *strategies.Pod, n *Node, need cluster.Amounts) float64 {
	most := 0.0
	for r, percent := range pod.Wanted().PercentOf(n.Allocatable) {
		if need[r] > 0 {
			most = max(most, percent)
		}
	}
	return most
}

// leastGain returns what moving a pod has to take off a node: the policy's least or,
// on a node whose pods are small, half of what its movable pods take off in the mean.
func (n *Node) leastGain(need cluster.Amounts, least float64) float64 {
	sum, pods := 0.0, 0
	for i := range n.Pods {
		if pod := &n.Pods[i]; pod.Refused == "" {
			sum += gain(pod, n, need)
			pods++
		}
	}
	return min(least, sum/float64(max(pods, 1))/2)
}

// used returns the usage that a node's change is reported from: what makes it
// hot if it is, its prediction otherwise.
func (n *Node) used() cluster.Amounts {
	if n.State == thresholds.Hot {
		return n.Current
	}
	return n.Predicted
}

// Placement answers which nodes would take a pod, given this plan's moves.
type Placement interface {
	// Fits reports whether the replacement of pod could run on node, and if
	// not, why.
	Fits(pod *cluster.Pod, node string) (ok bool, why string)
	// Scores returns how much kube-scheduler would prefer each of some nodes
	// for the replacement, higher for better and below 0 for a node that it
	// could not run on; nil if it has no preference among them.
	Scores(pod *cluster.Pod, nodes []string) []int64
	// Move applies a move and returns its undo.
	Move(pod *cluster.Pod, to string) (undo func(), err error)
}

// Residents are the nodes of owners' pods: indices in the input's nodes in
// ascending order, one for each pod.
type Residents map[strategies.Owner][]cluster.NodeIndex

// count notes a pod of an owner that has come to a node, or one that has left it.
func (r Residents) count(owner strategies.Owner, node cluster.NodeIndex, by int) {
	nodes := r[owner]
	at, _ := slices.BinarySearch(nodes, node)
	if by > 0 {
		r[owner] = slices.Insert(nodes, at, node)
	} else {
		r[owner] = slices.Delete(nodes, at, at+1)
	}
}

// Input is everything a Plan depends on.
type Input struct {
	// Nodes in the order of their names.
	Nodes []Node
	// Residents are the pods of the candidates' owners: a destination without
	// any is preferred.
	Residents Residents
	// MaxMoves bounds the plan; 0 means no bound. MaxPerNode bounds the moves
	// from one node; 0 means no bound.
	MaxMoves, MaxPerNode int
	// Beside is strategies.Observed's.
	Beside func(pod *cluster.Pod, ofOwner, ofNamespace int) (reasons.Reason, string)
	// MinGainPercent is what a move must take off its node, in percent of
	// allocatable, in a resource the node is hot by, unless all of its pods are small.
	MinGainPercent float64
	// MinHotMinutesSaved is the least that the moves off a node have to save for
	// each that costs as much as that of a plain pod; 0 for moves at any worth.
	MinHotMinutesSaved float64
	// Unforeseen: destinations count as they are, not as they are expected to be.
	Unforeseen bool
	// Recurs is the period of Courses.
	Recurs forecast.Clock
	// At is the time of the plan.
	At        time.Time
	Placement Placement
}

func compareKey(a, b *strategies.Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// orderOf sorts what is true first.
func orderOf(first bool) int {
	if first {
		return -1
	}
	return 1
}
