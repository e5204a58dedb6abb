package app

import (
	"net/http"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/usage"
)

// Status is what GET /status of an extender answers.
type Status struct {
	// Asked counts filter and prioritize requests since the process started.
	Asked int64 `json:"asked"`
	// PodAsked answers ?pod=UID: whether kube-scheduler asked about this pod lately.
	PodAsked bool `json:"podAsked,omitempty"`
	// Observed is when usage was last read; empty before the first reading.
	Observed string `json:"observed,omitempty"`
	// Gate is why nothing would be evicted now; empty when it would.
	Gate string `json:"gate,omitempty"`
	// ReadyNodes counts the ready nodes, FreshNodes those whose usage is known.
	ReadyNodes int `json:"readyNodes"`
	FreshNodes int `json:"freshNodes"`
	// Moves lists the moves in flight and those that ended lately.
	Moves []MoveStatus `json:"moves,omitempty"`
}

// MoveStatus is one move of the ledger.
type MoveStatus struct {
	Namespace   string      `json:"namespace"`
	Pod         string      `json:"pod"`
	Owner       string      `json:"owner"`
	From        string      `json:"from"`
	To          string      `json:"to,omitempty"`
	Node        string      `json:"node,omitempty"`
	State       string      `json:"state"`
	Asked       bool        `json:"asked"`
	Replacement string      `json:"replacement,omitempty"`
	Usage       UsageReport `json:"usage"`
}

func (a *App) status(r *http.Request) (any, error) {
	status := Status{}
	if a.judge != nil {
		status.Asked = a.judge.Asked()
		status.PodAsked = a.judge.AskedAbout(r.URL.Query().Get("pod"))
	}
	if latest := a.observer.Latest(); latest != nil {
		status.Observed = latest.At.UTC().Format(time.RFC3339)
		status.Gate = string(latest.Gate)
		status.ReadyNodes, status.FreshNodes = latest.Ready, latest.Fresh
	}
	inFlight, ended := a.observer.Ledger().Moves()
	for _, move := range append(inFlight, ended...) {
		status.Moves = append(status.Moves, moveStatus(&move))
	}
	return status, nil
}

func moveStatus(m *ledger.Move) MoveStatus {
	return MoveStatus{
		Namespace: m.Namespace, Pod: m.Pod, Owner: m.Owner.Kind + "/" + m.Owner.Name, From: m.From, To: m.To, Node: m.Node,
		State: string(m.State), Asked: m.Asked, Replacement: m.Replacement, Usage: usageReport(m.Usage),
	}
}

// NodeStatus is one node as GET /nodes and `evenkeel top` tell it.
type NodeStatus struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Since is when the node came to its state.
	Since string `json:"since,omitempty"`
	// Unknown is why the state is unknown.
	Unknown string `json:"unknownReason,omitempty"`
	Source  string `json:"source,omitempty"`
	// AgeSeconds is how old the newest sample is, WindowSeconds how long the samples reach back.
	AgeSeconds    int `json:"ageSeconds"`
	WindowSeconds int `json:"windowSeconds"`
	// Used is the measured usage per window, Predicted what placing one more pod reckons with, in percent of allocatable.
	Used      map[string]PercentReport `json:"used,omitempty"`
	Predicted PercentReport            `json:"predicted"`
	// InFlight is what bindings and moves have changed since the observation.
	InFlight UsageReport `json:"inFlight"`
}

func (a *App) nodes(*http.Request) (any, error) { return a.nodeStatuses(), nil }

func (a *App) nodeStatuses() []NodeStatus {
	latest := a.observer.Latest()
	if latest == nil {
		return []NodeStatus{}
	}
	statuses := make([]NodeStatus, len(latest.View.Nodes))
	for i := range latest.View.Nodes {
		node, read := &latest.View.Snapshot.Nodes[i].Node, &latest.View.Nodes[i]
		state := latest.States[node.Name]
		status := NodeStatus{
			Name: node.Name, State: string(state.State), Unknown: string(state.Unknown), Source: read.Source,
			AgeSeconds: int(read.Age / time.Second), WindowSeconds: int(read.Span / time.Second),
			Since: state.Since.UTC().Format(time.RFC3339),
		}
		if read.Unknown != usage.NoSample {
			status.Used = map[string]PercentReport{}
			for _, w := range usage.Windows() {
				status.Used[w.String()] = percentReport(read.Measured[w].PercentOf(node.Allocatable))
			}
			predicted, _ := latest.Board.Predicted(int32(i)) //nolint:gosec // a cluster has fewer than 2^31 nodes
			status.Predicted = percentReport(predicted.PercentOf(node.Allocatable))
			status.InFlight = usageReport(latest.Board.Adjusted(int32(i))) //nolint:gosec // as above
		}
		statuses[i] = status
	}
	return statuses
}

// UsageReport is an amount in JSON.
type UsageReport struct {
	CPUMilli    int64 `json:"cpuMilli"`
	MemoryBytes int64 `json:"memoryBytes"`
}

func usageReport(a cluster.Amounts) UsageReport {
	return UsageReport{CPUMilli: a[cluster.CPU], MemoryBytes: a[cluster.Memory]}
}

// PercentReport is a percentage of allocatable per resource in JSON.
type PercentReport struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

func percentReport(p cluster.Percents) PercentReport {
	return PercentReport{CPU: round1(p[cluster.CPU]), Memory: round1(p[cluster.Memory])}
}
