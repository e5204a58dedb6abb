package status

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// NodeStatus is a node in the reports of GET /nodes and `evenkeel top`.
type NodeStatus struct {
	// Node contains the state on which evictions are based. It is judged by the policy's
	// windows.
	Node
	// Since is when the node entered its state.
	Since string `json:"since,omitempty"`
	// Now is the state according to the newest reading alone. It is provisional and never
	// a reason to evict. It is absent if the node is not ready or has no reading.
	Now string `json:"now,omitempty"`
	// Over lists, in words, the metrics whose newest reading is above their evict line.
	Over []string `json:"over,omitempty"`
	// CPU is in milli-cores, Memory in bytes.
	CPU    ResourceStatus `json:"cpu"`
	Memory ResourceStatus `json:"memory"`
	// Pods counts the pods that are bound to the node and have not ended.
	Pods int `json:"pods"`
	Samples
	// Used is the measured usage in each known window: windows that the source reports,
	// and windows that the samples cover. Predicted is the usage that placing one more pod
	// assumes. Both are in percent of allocatable.
	Used      map[string]Percents `json:"used,omitempty"`
	Predicted Percents            `json:"predicted"`
	// Signals holds the newest values of the policy's metrics other than cpu and memory,
	// in their own units.
	Signals map[string]float64 `json:"signals,omitempty"`
	// InFlight is the change in usage by bindings and moves since the observation.
	InFlight Amounts `json:"inFlight"`
}

// ResourceStatus is one resource of a node.
type ResourceStatus struct {
	// Used is the newest reading of the whole machine. UsedPercent is the part of it that
	// counts, in percent of allocatable (see Reserve). Both are absent without a reading.
	Used        *int64   `json:"used,omitempty"`
	UsedPercent *float64 `json:"usedPercent,omitempty"`
	// Requested is the sum of the requests of the node's pods.
	Requested        int64   `json:"requested"`
	RequestedPercent float64 `json:"requestedPercent"`
	Allocatable      int64   `json:"allocatable"`
	// EvictPercent is the evict line; absent if there is none.
	EvictPercent *float64 `json:"evictPercent,omitempty"`
}

// NodeStatuses returns the status of each node.
func (f *Facts) NodeStatuses() []NodeStatus {
	statuses, newest := make([]NodeStatus, len(f.View.Nodes)), f.Lines.Newest()
	for i := range f.View.Nodes {
		statuses[i] = f.nodeStatus(newest, i)
	}
	return statuses
}

func (f *Facts) nodeStatus(newest *thresholds.Resolved, i int) NodeStatus {
	node, read := f.View.Snapshot.Nodes[i], &f.View.Nodes[i]
	status := NodeStatus{
		Node: f.Node(i), Samples: samplesOf(read), Since: f.States[node.Node.Name].Since.UTC().Format(time.RFC3339), Pods: len(node.Pods),
	}
	status.CPU, status.Memory = f.resourceStatus(newest, i, cluster.CPU), f.resourceStatus(newest, i, cluster.Memory)
	if read.Sampled.IsZero() {
		return status
	}
	if read.HasSample() && node.Node.Ready {
		status.Now, status.Over = string(newest.ClassifyNow(i)), over(newest.Evidence(i))
	}
	status.Used, status.Signals = f.windowsUsed(i), map[string]float64{}
	for k, signal := range f.View.Signals {
		if v := read.Signals[k][usage.AtLast]; !math.IsNaN(v) {
			status.Signals[string(signal)] = Round(v)
		}
	}
	predicted, _ := f.Board.Predicted(cluster.NodeIndex(i))
	status.Predicted = PercentsOf(predicted.PercentOf(node.Node.Allocatable))
	status.InFlight = AmountsOf(f.Board.Adjusted(cluster.NodeIndex(i)))
	return status
}

func (f *Facts) resourceStatus(newest *thresholds.Resolved, i int, resource cluster.Resource) ResourceStatus {
	node, read := f.View.Snapshot.Nodes[i], &f.View.Nodes[i]
	percent := func(amounts cluster.Amounts) float64 {
		return Round(amounts.PercentOf(node.Node.Allocatable)[resource])
	}
	status := ResourceStatus{Allocatable: node.Node.Allocatable[resource]}
	if line, ok := newest.HighestEvict(i, usage.Metric(resource.String())); ok {
		status.EvictPercent = new(Round(line))
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

// over describes the metrics whose newest reading is above an evict line, once for each
// metric, because one reading has the same value in all windows.
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

// windowsUsed returns the usage of a node in the windows that are known.
func (f *Facts) windowsUsed(i int) map[string]Percents {
	read, windows := &f.View.Nodes[i], map[string]Percents{}
	for w, window := range f.View.Windows {
		looked := read.SourceSpan[w] > 0 || read.Known()
		if window == usage.Last {
			newest := read.Reported[w]
			looked = !math.IsNaN(newest[cluster.CPU]) || !math.IsNaN(newest[cluster.Memory])
		}
		if looked {
			windows[window.String()] = PercentsOf(read.Measured[w].PercentOf(f.View.Snapshot.Nodes[i].Node.Allocatable))
		}
	}
	return windows
}
