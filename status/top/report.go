// Package top is what `evenkeel top` says: every node's usage by the newest
// reading, the hottest node first, and its state by windows where these were
// looked at.
//
// One reading is enough to show something. What it seems to mean is marked as
// provisional, because evicting waits for windows.
package top

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/serve"
)

// Kind is the kind of a Report.
const Kind = "Top"

// Report is what is known of each node, and of usage in all.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Observed is when the newest reading was judged.
	Observed string `json:"observed"`
	// Nodes are in order of their heat, the hottest first.
	Nodes []serve.NodeStatus `json:"nodes"`
	// HotWindows are the windows that can make a node hot, NeededSeconds for how
	// long readings have to reach back before a window is judged.
	HotWindows    []string `json:"hotWindows"`
	NeededSeconds int      `json:"neededSeconds"`
	// ObserveSeconds is for how long to observe until they do by a source that
	// has no history.
	ObserveSeconds int `json:"observeSeconds"`
	// Gate is why nothing would be evicted, GateDetail the same in words, Paused
	// what the kill switch says; empty if nothing keeps evicting.
	Gate       string               `json:"gate"`
	GateDetail string               `json:"gateDetail"`
	Paused     string               `json:"paused"`
	Sources    []serve.SourceReport `json:"sources"`
	// Process is the process that was asked, and SecondsAgo how old its
	// newest observation was; absent where this one observed itself. Moves are
	// those of its ledger.
	Process    string             `json:"process,omitempty"`
	SecondsAgo int                `json:"secondsAgo,omitempty"`
	Moves      []serve.MoveStatus `json:"moves,omitempty"`
}

// Of reports what was observed under a policy.
func Of(o *observer.Observation, load *policy.LoadPolicy, paused string) Report {
	needed := load.Hot.MinWindow.Duration
	r := Report{
		APIVersion: policy.GroupVersion, Kind: Kind, Observed: o.At.UTC().Format(time.RFC3339), Nodes: serve.NodeStatuses(o), HotWindows: []string{},
		NeededSeconds: seconds(needed), ObserveSeconds: seconds(needed + 2*load.Usage.SampleInterval.Duration),
		Gate: string(o.Blocked), GateDetail: o.Closed(), Paused: paused, Sources: serve.SourceReports(o),
	}
	for _, window := range load.Hot.Windows {
		r.HotWindows = append(r.HotWindows, window.String())
	}
	r.sort()
	return r
}

// errEarlier is returned for a process that does not report all of this.
var errEarlier = errors.New("it is of an earlier version, which does not report what top shows")

// OfProcess reports what another process observed, which answered GET /status
// and /nodes at a moment.
func OfProcess(name string, status *serve.Status, nodes []serve.NodeStatus, now time.Time) (Report, error) {
	observed, err := time.Parse(time.RFC3339, status.Observed)
	if err != nil {
		return Report{}, errors.New("it has not read any usage yet")
	}
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n serve.NodeStatus) bool { return n.CPU.Allocatable > 0 }) {
		return Report{}, errEarlier
	}
	r := Report{
		APIVersion: policy.GroupVersion, Kind: Kind, Observed: status.Observed, Nodes: nodes, HotWindows: []string{},
		Gate: status.Gate, GateDetail: status.GateDetail, Paused: cmp.Or(status.PauseDetail, status.Paused), Sources: status.Sources,
		Process: name, SecondsAgo: seconds(max(now.Sub(observed), 0)), Moves: status.Moves,
	}
	r.sort()
	return r, nil
}

func (r *Report) sort() {
	slices.SortFunc(r.Nodes, func(a, b serve.NodeStatus) int {
		return cmp.Or(cmp.Compare(heat(&b), heat(&a)), cmp.Compare(a.Name, b.Name))
	})
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// beyondAll puts hot nodes before all others, whatever made them hot.
const beyondAll = 1000

// heat orders nodes: hot ones come first, those of unknown usage last.
func heat(n *serve.NodeStatus) float64 {
	_, highest := hottest(n)
	if isHot(n) {
		return beyondAll + highest
	}
	return highest
}

// isHot reports whether a node is hot, or seems to be.
func isHot(n *serve.NodeStatus) bool {
	return n.State == string(thresholds.Hot) || n.Now == string(thresholds.Hot)
}

// hottest returns the resource that is nearest to its evict line, or farthest
// beyond it, and its heat.
func hottest(n *serve.NodeStatus) (*serve.ResourceStatus, float64) {
	cpu, memory := resourceHeat(&n.CPU), resourceHeat(&n.Memory)
	if memory > cpu {
		return &n.Memory, memory
	}
	return &n.CPU, cpu
}

// resourceHeat is a resource's usage as a share of its evict line. One that no
// line judges is below those, one of unknown usage below all.
func resourceHeat(r *serve.ResourceStatus) float64 {
	switch {
	case r.UsedPercent == nil:
		return -2
	case r.EvictPercent != nil && *r.EvictPercent > 0:
		return *r.UsedPercent / *r.EvictPercent
	}
	return min(*r.UsedPercent/100, 1) - 1
}
