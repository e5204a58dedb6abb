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
	// Current is the evidence for hot: the measured usage that stays on the node.
	Current cluster.Amounts
	// Need is what has to leave a hot node to bring it under its evict lines;
	// zero or less if nothing has to.
	Need cluster.Amounts
	// NeedForSignals is the CPU that has to leave because of metrics other than CPU
	// usage, in milli-cores; zero or less if none has to.
	NeedForSignals int64
	// Unserved is the estimated CPU demand of its pods beyond what it has, in
	// milli-cores.
	Unserved int64
	// Full: its CPU demand exceeds its capacity.
	Full bool
	// FullForHours: it was Full at each reading for as long as peaks of pods are
	// remembered, so these peaks do not show what its pods want.
	FullForHours bool
	// Predicted is the usage that a landing has to assume: all pods, with estimates, and
	// moves in flight. Ceiling is the maximum of it that keeps the node under its reject
	// lines.
	Predicted, Ceiling cluster.Amounts
	// Load is the CPU that the node is expected to use, HotLine its evict line, in
	// milli-cores. ByCPU: it is hot by nothing else, so it is possible to predict whether
	// that lasts.
	Load    forecast.Load
	HotLine int64
	ByCPU   bool
	// OverOther: it is above an evict line of a metric other than CPU.
	OverOther bool
	// Course is the expected CPU usage of the node in each part of a period; nil if
	// nothing recurs.
	Course *forecast.Course
	// Certain is the part of Course that comes from pods that will still exist then: pods
	// that belong to no Job and are not leaving.
	Certain *forecast.Course
	// Domain is what pods never leave: they go only to nodes in the same domain. Zone is
	// what they leave only if no node in it has space.
	Domain, Zone string
	// Closed is why the node takes no pods although it is cool (cordoned, about
	// to be removed); empty if it does.
	Closed string
	// Begun: pods were recently moved off it. If it is still hot, it comes first, because
	// a half-cooled node has cost evictions for nothing.
	Begun bool
	// Pods are the candidates on a node that is or will be hot; nil on other nodes.
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

// due returns the part of a need that cannot be recognized as a peak: everything except
// the CPU that has to leave because of CPU usage.
func (n *Node) due(need cluster.Amounts) cluster.Amounts {
	need[cluster.CPU] = min(need[cluster.CPU], max(n.NeedForSignals, 0))
	return need
}

// HotMinutes returns how long the node is expected to be hot within
// forecast.Horizon.
func (n *Node) HotMinutes() float64 { return n.hotMinutes(&n.Load) }

// heat returns how far a node is above its evict line, as a factor, in its hottest
// resource.
func heat(n *Node) float64 {
	highest := 0.0
	for r, need := range n.Need {
		if need > 0 {
			highest = max(highest, float64(n.Current[r])/max(float64(n.Current[r]-need), 1))
		}
	}
	return highest
}

// gain returns what moving a pod takes off its node in the resources that have to leave,
// in percent of allocatable.
func gain(pod *strategies.Pod, n *Node, need cluster.Amounts) float64 {
	most := 0.0
	for r, percent := range pod.Wanted().PercentOf(n.Allocatable) {
		if need[r] > 0 {
			most = max(most, percent)
		}
	}
	return most
}

// leastGain returns the minimum that moving a pod has to take off a node: the policy's
// minimum or, on a node with small pods, half of the mean over its movable pods.
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

// used returns the usage from which a node's change is reported: for a hot node the usage
// that makes it hot, otherwise its prediction.
func (n *Node) used() cluster.Amounts {
	if n.State == thresholds.Hot {
		return n.Current
	}
	return n.Predicted
}

// Placement answers which nodes would take a pod, given this plan's moves.
type Placement interface {
	// Fits reports whether the replacement of pod could run on node and, if not, why.
	Fits(pod *cluster.Pod, node string) (ok bool, why string)
	// Scores returns how much kube-scheduler would prefer each of the nodes for the
	// replacement: higher is better, and a node on which it could not run has a negative
	// score. It returns nil if kube-scheduler prefers none of them.
	Scores(pod *cluster.Pod, nodes []string) []int64
	// Move applies a move and returns a function that undoes it.
	Move(pod *cluster.Pod, to string) (undo func(), err error)
}

// Residents holds the nodes of owners' pods: indices of the input's nodes in ascending
// order, one for each pod.
type Residents map[strategies.Owner][]cluster.NodeIndex

// count records that a pod of an owner has come to a node, or has left it.
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
	// Residents are the pods of the candidates' owners. A destination without any is
	// preferred.
	Residents Residents
	// MaxMoves limits the plan, MaxPerNode the moves off one node; 0 means unlimited.
	MaxMoves, MaxPerNode int
	// Beside is the Beside of strategies.Observed.
	Beside func(pod *cluster.Pod, ofOwner, ofNamespace int) (reasons.Reason, string)
	// MinGainPercent is what a move must take off its node, in percent of allocatable, in
	// a resource that makes the node hot, unless all of its pods are small.
	MinGainPercent float64
	// MinHotMinutesSaved is the minimum that the moves off a node must save for each
	// plain pod of cost; 0 allows moves that save nothing.
	MinHotMinutesSaved float64
	// Unforeseen: destinations are judged by their current state, not by what is
	// expected.
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

// orderOf sorts true first.
func orderOf(first bool) int {
	if first {
		return -1
	}
	return 1
}
