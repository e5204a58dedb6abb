package serve

import (
	"math"
	"net/http"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status/explain"
)

// NodeStatus is one node as GET /nodes and `evenkeel top` report it.
type NodeStatus struct {
	Name string `json:"name"`
	// State is the state that evicting goes by: of the policy's windows.
	State string `json:"state"`
	// Since is when the node entered its state.
	Since string `json:"since,omitempty"`
	// Unknown is why the state is unknown.
	Unknown string `json:"unknownReason,omitempty"`
	// Now is the state by the newest reading alone, which is provisional:
	// nothing is evicted on it. It is absent without a reading of a ready node.
	Now string `json:"now,omitempty"`
	// Over says in words what the newest reading has above its evict line.
	Over []string `json:"over,omitempty"`
	// NotHot says why it is not hot although it is measured or predicted above an
	// evict line, NotCool why it is not cool although it is measured under its low
	// lines; absent where that is not so.
	NotHot  *explain.Basis `json:"notHot,omitempty"`
	NotCool *explain.Basis `json:"notCool,omitempty"`
	// StolenMilliCores is the CPU that the machine was denied; the percentages are
	// of what is left.
	StolenMilliCores int64 `json:"stolenMilliCores,omitempty"`
	// Reserve says what the percentages of usage are of; absent if nothing of the
	// node is reserved.
	Reserve *explain.Reserve `json:"reserve,omitempty"`
	// CPU is in milli-cores, Memory in bytes.
	CPU    ResourceStatus `json:"cpu"`
	Memory ResourceStatus `json:"memory"`
	// Pods counts the pods that are bound to the node and have not ended.
	Pods   int    `json:"pods"`
	Source string `json:"source,omitempty"`
	// AgeSeconds is how old the newest sample is; WindowSeconds is how far back
	// the samples reach.
	AgeSeconds    int `json:"ageSeconds"`
	WindowSeconds int `json:"windowSeconds"`
	// Used is the measured usage of each window that was looked at: that the
	// source gave, or that samples reach back long enough for. Predicted is the
	// usage that placing one more pod assumes. Both are in percent of
	// allocatable.
	Used      map[string]explain.Percents `json:"used,omitempty"`
	Predicted explain.Percents            `json:"predicted"`
	// Signals are the newest values of the policy's metrics other than cpu and
	// memory, in their own units.
	Signals map[string]float64 `json:"signals,omitempty"`
	// Pool is the node pool whose lines apply to the node; empty for the
	// policy's own.
	Pool string `json:"pool,omitempty"`
	// InFlight is how bindings and moves have changed the usage since the
	// observation.
	InFlight explain.Amounts `json:"inFlight"`
}

// ResourceStatus is what is known of one resource of a node.
type ResourceStatus struct {
	// Used is the newest reading of the whole machine, UsedPercent what counts of it
	// in percent of allocatable, as Reserve says; absent without one.
	Used        *int64   `json:"used,omitempty"`
	UsedPercent *float64 `json:"usedPercent,omitempty"`
	// Requested is what the node's pods request.
	Requested        int64   `json:"requested"`
	RequestedPercent float64 `json:"requestedPercent"`
	Allocatable      int64   `json:"allocatable"`
	// EvictPercent is the evict line; absent without one.
	EvictPercent *float64 `json:"evictPercent,omitempty"`
}

// Nodes answers GET /nodes.
func (p *Reports) Nodes(*http.Request) (any, error) { return NodeStatuses(p.Observer.Latest()), nil }

// NodeStatuses returns what was observed of each node.
func NodeStatuses(latest *observer.Observation) []NodeStatus {
	if latest == nil {
		return []NodeStatus{}
	}
	statuses, newest := make([]NodeStatus, len(latest.View.Nodes)), latest.Lines.Newest()
	for i := range latest.View.Nodes {
		statuses[i] = nodeStatus(latest, newest, i)
	}
	return statuses
}

func nodeStatus(o *observer.Observation, newest *thresholds.Resolved, i int) NodeStatus {
	node, read := o.View.Snapshot.Nodes[i], &o.View.Nodes[i]
	state := o.States[node.Node.Name]
	status := NodeStatus{
		Name: node.Node.Name, State: string(state.State), Unknown: string(state.Unknown), Source: read.Source, Pool: o.Lines.Pool(i),
		AgeSeconds: int(read.Age / time.Second), WindowSeconds: int(read.Span / time.Second),
		Since: state.Since.UTC().Format(time.RFC3339), Pods: len(node.Pods),
	}
	status.CPU, status.Memory = resourceStatus(o, newest, i, cluster.CPU), resourceStatus(o, newest, i, cluster.Memory)
	if read.Sampled.IsZero() {
		return status
	}
	if read.HasSample() && node.Node.Ready {
		status.Now, status.Over = string(newest.Glance(i)), over(newest.Evidence(i))
	}
	facts := explain.Facts{View: o.View, States: o.States, Lines: o.Lines, SamplesNeeded: o.SamplesNeeded}
	status.NotHot, status.NotCool = facts.Bases(i)
	status.Reserve, status.StolenMilliCores = explain.ReserveOf(read), read.StolenMilliCores
	status.Used, status.Signals = windowsOf(o, i), map[string]float64{}
	for k, signal := range o.View.Signals {
		if v := read.Signals[k][usage.AtLast]; !math.IsNaN(v) {
			status.Signals[string(signal)] = round1(v)
		}
	}
	predicted, _ := o.Board.Predicted(cluster.NodeIndex(i))
	status.Predicted = explain.PercentsOf(predicted.PercentOf(node.Node.Allocatable))
	status.InFlight = explain.AmountsOf(o.Board.Adjusted(cluster.NodeIndex(i)))
	return status
}

func resourceStatus(o *observer.Observation, newest *thresholds.Resolved, i int, resource cluster.Resource) ResourceStatus {
	node, read := o.View.Snapshot.Nodes[i], &o.View.Nodes[i]
	percent := func(amounts cluster.Amounts) float64 {
		return round1(amounts.PercentOf(node.Node.Allocatable)[resource])
	}
	status := ResourceStatus{Allocatable: node.Node.Allocatable[resource]}
	if line, ok := newest.HighestEvict(i, usage.Metric(resource.String())); ok {
		status.EvictPercent = new(round1(line))
	}
	var requested cluster.Amounts
	for _, pod := range node.Pods {
		requested = requested.Plus(pod.Requests)
	}
	status.Requested, status.RequestedPercent = requested[resource], percent(requested)
	if read.HasSample() && read.Reports(resource) {
		status.Used, status.UsedPercent = new(read.Whole(usage.AtLast)[resource]), new(percent(read.Measured[usage.AtLast]))
	}
	return status
}

// over puts into words what the newest reading has above its evict line, once
// for each metric: by it all windows are the same.
func over(evidence []thresholds.Evidence) []string {
	var words []string
	said := map[usage.Metric]bool{}
	for _, e := range evidence {
		if !said[e.Metric] {
			said[e.Metric], e.Window = true, usage.Last
			words = append(words, e.String())
		}
	}
	return words
}

// windowsOf returns the windows of a node that were looked at.
func windowsOf(o *observer.Observation, i int) map[string]explain.Percents {
	read, windows := &o.View.Nodes[i], map[string]explain.Percents{}
	for w, window := range o.View.Windows {
		looked := read.SourceSpan[w] > 0 || read.Known()
		if window == usage.Last {
			newest := read.Reported[w]
			looked = !math.IsNaN(newest[cluster.CPU]) || !math.IsNaN(newest[cluster.Memory])
		}
		if looked {
			windows[window.String()] = explain.PercentsOf(read.Measured[w].PercentOf(o.View.Snapshot.Nodes[i].Node.Allocatable))
		}
	}
	return windows
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }
