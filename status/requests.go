package status

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/observe/requests"
	"github.com/evenkeel/evenkeel/policy"
)

// RequestsKind is the kind of a Requests.
const RequestsKind = "Requests"

// Requests names the owners whose CPU requests misled kube-scheduler.
type Requests struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Observed is when the newest reading was judged.
	Observed string `json:"observed"`
	requests.Report
	// AllNodes counts the nodes.
	AllNodes int `json:"allNodes"`
	// Process is the process that made the observation, and SecondsAgo the age of its
	// newest observation; absent if this process made it.
	Process    string `json:"process,omitempty"`
	SecondsAgo int    `json:"secondsAgo,omitempty"`
	// Notes lists what could not be looked up, and why.
	Notes []string `json:"notes,omitempty"`
}

// NewRequests returns what is known at a time.
func NewRequests(report requests.Report, nodes int, observed time.Time) Requests {
	return Requests{APIVersion: policy.GroupVersion, Kind: RequestsKind, Observed: observed.UTC().Format(time.RFC3339), Report: report, AllNodes: nodes}
}

// Only keeps the given hot nodes and the owners that made them hot, or everything if no
// node is given. It returns the name of a node that is not hot; empty if all of them are.
func (r *Requests) Only(nodes []string) (unknown string) {
	if len(nodes) == 0 {
		return ""
	}
	for _, name := range nodes {
		if !slices.ContainsFunc(r.Nodes, func(n requests.HotNode) bool { return n.Name == name }) {
			return name
		}
	}
	r.Nodes = slices.DeleteFunc(r.Nodes, func(n requests.HotNode) bool { return !slices.Contains(nodes, n.Name) })
	r.Owners = slices.DeleteFunc(r.Owners, func(f requests.Finding) bool {
		return !slices.ContainsFunc(f.HotNodes, func(name string) bool { return slices.Contains(nodes, name) })
	})
	return ""
}

// OnlyHot keeps the owners that made nodes hot.
func (r *Requests) OnlyHot() {
	r.Owners = slices.DeleteFunc(r.Owners, func(f requests.Finding) bool { return f.HeatMilliCores == 0 })
}

// Provisional reports whether too little is known of some listed owner for advice that
// lasts.
func (r *Requests) Provisional() bool {
	return slices.ContainsFunc(r.Owners, func(f requests.Finding) bool { return f.Provisional() })
}
