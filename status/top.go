package status

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/policy"
)

// TopKind is the kind of a Top.
const TopKind = "Top"

// Top holds the usage of every node according to the newest reading, and its state
// according to windows if these have been observed. A state that is based on one reading
// alone is provisional, because evicting waits for windows.
type Top struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Observed is when the newest reading was judged.
	Observed string `json:"observed"`
	// Nodes are sorted by heat, the hottest first.
	Nodes []NodeStatus `json:"nodes"`
	// HotWindows lists the windows that can make a node hot. NeededSeconds is the time
	// that readings have to cover before a window is judged.
	HotWindows    []string `json:"hotWindows"`
	NeededSeconds int      `json:"neededSeconds"`
	// ObserveSeconds is how long a source without history must be observed until its
	// readings cover that time.
	ObserveSeconds int `json:"observeSeconds"`
	// Gate is why nothing would be evicted, GateDetail explains it, and Paused is the
	// state of the kill switch; empty if evicting is allowed.
	Gate       string         `json:"gate"`
	GateDetail string         `json:"gateDetail"`
	Paused     string         `json:"paused"`
	Sources    []SourceReport `json:"sources"`
	// Process is the process that made the observation, and SecondsAgo the age of its
	// newest observation; absent if this process made it. Moves lists the moves of its
	// ledger.
	Process    string `json:"process,omitempty"`
	SecondsAgo int    `json:"secondsAgo,omitempty"`
	Moves      []Move `json:"moves,omitempty"`
}

// errEarlier is returned if the reports of a process lack fields.
var errEarlier = errors.New("it runs an earlier version, which does not report what top shows")

// NewTop returns a Top of the given nodes, the hottest first, as observed under a policy.
func NewTop(nodes []NodeStatus, load *policy.LoadPolicy) Top {
	needed := load.Hot.MinWindow.Duration
	t := topOf(nodes)
	t.NeededSeconds, t.ObserveSeconds = seconds(needed), seconds(needed+2*load.Usage.SampleInterval.Duration)
	for _, window := range load.Hot.Windows {
		t.HotWindows = append(t.HotWindows, window.String())
	}
	return t
}

// TopOfProcess returns what another process has observed. status and nodes are its
// responses to GET /status and GET /nodes.
func TopOfProcess(name string, status *Status, nodes []NodeStatus, now time.Time) (Top, error) {
	observed, err := time.Parse(time.RFC3339, status.Observed)
	if err != nil {
		return Top{}, errors.New("it has not read any usage yet")
	}
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n NodeStatus) bool { return n.CPU.Allocatable > 0 }) {
		return Top{}, errEarlier
	}
	t := topOf(nodes)
	t.Observed, t.Sources, t.Moves = status.Observed, status.Sources, status.Moves
	t.Gate, t.GateDetail, t.Paused = status.Gate, status.GateDetail, cmp.Or(status.PauseDetail, status.Paused)
	t.Process, t.SecondsAgo = name, seconds(max(now.Sub(observed), 0))
	return t, nil
}

func topOf(nodes []NodeStatus) Top {
	slices.SortFunc(nodes, func(a, b NodeStatus) int {
		return cmp.Or(cmp.Compare(b.heat(), a.heat()), cmp.Compare(a.Name, b.Name))
	})
	return Top{APIVersion: policy.GroupVersion, Kind: TopKind, Nodes: nodes, HotWindows: []string{}}
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// beyondAll puts hot nodes before all others, regardless of what made them hot.
const beyondAll = 1000

// heat is used to order nodes: hot nodes come first, and nodes with unknown usage last.
func (n *NodeStatus) heat() float64 {
	_, highest := n.Hottest()
	if n.IsHot() {
		return beyondAll + highest
	}
	return highest
}

// IsHot reports whether a node is hot according to its windows or to the newest reading.
func (n *NodeStatus) IsHot() bool {
	return n.State == string(thresholds.Hot) || n.Now == string(thresholds.Hot)
}

// Hottest returns the resource that is closest to its evict line, or farthest beyond it,
// and its heat.
func (n *NodeStatus) Hottest() (*ResourceStatus, float64) {
	cpu, memory := n.CPU.heat(), n.Memory.heat()
	if memory > cpu {
		return &n.Memory, memory
	}
	return &n.CPU, cpu
}

// heat returns a resource's usage as a share of its evict line. Resources without an
// evict line rank below those with one, and resources with unknown usage below all
// others.
func (r *ResourceStatus) heat() float64 {
	switch {
	case r.UsedPercent == nil:
		return -2
	case r.EvictPercent != nil && *r.EvictPercent > 0:
		return *r.UsedPercent / *r.EvictPercent
	}
	return min(*r.UsedPercent/100, 1) - 1
}
