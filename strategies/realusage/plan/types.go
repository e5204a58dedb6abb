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
	// Current is the usage that decides whether the node is hot: the measured usage without
	// the pods that are leaving.
	Current cluster.Amounts
	// LatestMilliCores is the CPU usage of the last sample, without the pods that are
	// leaving. While usage rises, it is above Current, which is a mean.
	LatestMilliCores int64
	// Need is the usage that has to leave a hot node to bring it below its evict lines;
	// zero or less if none has to.
	Need cluster.Amounts
	// NeedForSignals is the CPU that has to leave because of metrics other than CPU
	// usage, in milli-cores; zero or less if none has to.
	NeedForSignals int64
	// Unserved is the estimated CPU demand of its pods beyond what it has, in
	// milli-cores.
	Unserved int64
	// Full reports whether its CPU demand exceeds its capacity.
	Full bool
	// FullForHours reports whether it was Full at each reading for as long as the peaks
	// of pods are remembered, so that these peaks do not show what its pods want.
	FullForHours bool
	// Predicted is the usage on which a landing must be based. It includes estimates for
	// pods that are not measured, and moves in flight. Ceiling is the highest Predicted
	// at which the node stays within its reject lines.
	Predicted, Ceiling cluster.Amounts
	// Load is the CPU that the node is expected to use, HotLine its evict line, in
	// milli-cores. ByCPU reports whether it is hot by CPU alone, so that it is possible
	// to predict how long it stays hot.
	Load    forecast.Load
	HotLine int64
	ByCPU   bool
	// OverOther reports whether it is above an evict line of a metric other than CPU.
	OverOther bool
	// Course is the expected CPU usage of the node in each part of a period; nil if
	// nothing recurs.
	Course *forecast.Course
	// Certain is the part of Course that comes from pods that will still exist then: pods
	// that belong to no Job and are not leaving.
	Certain *forecast.Course
	// Domain is the group of nodes that its pods must not leave. Zone is the group that
	// they leave only if no node in it has space.
	Domain, Zone string
	// Closed explains why the node takes no pods although it is cool, for example because
	// it is cordoned or about to be removed; empty if it takes pods.
	Closed string
	// Begun reports whether pods were recently moved off it. If it is still hot, it comes
	// first, because otherwise the evictions so far would have been in vain.
	Begun bool
	// Pods are the candidates on a node that is or will be hot; nil on other nodes.
	Pods []strategies.Pod
}

// hotMinutes returns how long the node is expected to be hot under a load.
func (n *Node) hotMinutes(load *forecast.Load) float64 {
	return load.HotMinutes(n.HotLine, n.Allocatable[cluster.CPU])
}

// weightedHotMinutes returns hotMinutes weighted by how far above its line the node is
// expected to be.
func (n *Node) weightedHotMinutes(load *forecast.Load) float64 {
	return load.WeightedHotMinutes(n.HotLine, n.Allocatable[cluster.CPU])
}

// due returns the part of a need that cannot be recognized as a peak: everything except
// the CPU that has to leave because of CPU usage.
func (n *Node) due(need cluster.Amounts) cluster.Amounts {
	need[cluster.CPU] = min(need[cluster.CPU], max(n.NeedForSignals, 0))
	return need
}

// ifUsageLasts raises a need that follows from CPU usage to what has to leave if the usage
// of the last sample lasts. Whether moves can cool a node is judged by it, because a mean
// is too low while usage rises. How much they move is not, because the last sample may be a
// peak.
func (n *Node) ifUsageLasts(need cluster.Amounts) cluster.Amounts {
	if need[cluster.CPU] > max(n.NeedForSignals, 0) {
		need[cluster.CPU] = max(need[cluster.CPU], n.LatestMilliCores-n.HotLine)
	}
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

// gain returns by how much moving a pod reduces the usage of its node, in percent of
// allocatable: the maximum over the resources that have to leave.
func gain(pod *strategies.Pod, n *Node, need cluster.Amounts) float64 {
	most := 0.0
	for r, percent := range pod.Wanted().PercentOf(n.Allocatable) {
		if need[r] > 0 {
			most = max(most, percent)
		}
	}
	return most
}

// leastGain returns the minimum gain that justifies moving a pod off a node: the policy's
// minimum or, if that is less, half of the mean gain of the movable pods.
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

// used returns the usage with which a node is reported before any move: the usage that
// makes it hot, or its prediction if it is not hot.
func (n *Node) used() cluster.Amounts {
	if n.State == thresholds.Hot {
		return n.Current
	}
	return n.Predicted
}

// Placement determines which nodes would take a pod, given this plan's moves.
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
	// Residents holds the nodes of the candidates' siblings. A destination without
	// siblings is preferred.
	Residents Residents
	// MaxMoves limits the plan, MaxPerNode the moves off one node; 0 means unlimited.
	MaxMoves, MaxPerNode int
	// Beside is like Observed.Beside of package strategies.
	Beside func(pod *cluster.Pod, ofOwner, ofNamespace int) (reasons.Reason, string)
	// MinGainPercent is the minimum by which a move must reduce the usage of a resource
	// that makes its node hot, in percent of allocatable. A lower minimum applies on
	// nodes with small pods.
	MinGainPercent float64
	// MinHotMinutesSaved is the minimum that the moves off a node must save for each
	// plain pod of cost; 0 allows moves that save nothing.
	MinHotMinutesSaved float64
	// Unforeseen reports whether destinations are judged only by their current state,
	// without a forecast.
	Unforeseen bool
	// Recurs defines the period of each Course.
	Recurs    forecast.Clock
	At        time.Time
	Placement Placement
}

func compareKey(a, b *strategies.Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// orderOf returns a sort key that puts true before false.
func orderOf(first bool) int {
	if first {
		return -1
	}
	return 1
}
