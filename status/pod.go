package status

// PodExplanation explains a pod.
type PodExplanation struct {
	// Summary states in words what matters most.
	Summary   string `json:"summary"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Owner     string `json:"owner,omitempty"`
	// Node is where it runs; empty for a pod that only the ledger remembers.
	Node      string `json:"node,omitempty"`
	NodeState string `json:"nodeState,omitempty"`
	Priority  int32  `json:"priority"`
	// Usage is measured, or an estimate if Measured is false. NodePercent is
	// its share of the node's allocatable, MeasuredSeconds how long samples
	// reach back.
	Usage           Amounts  `json:"usage"`
	NodePercent     Percents `json:"nodePercent"`
	Measured        bool     `json:"measured"`
	MeasuredSeconds int      `json:"measuredSeconds"`
	// Candidate is true if it is allowed to be moved.
	Candidate bool `json:"candidate"`
	// Move is what a cycle would do with it now; absent if it would stay.
	Move *ExplainedMove `json:"move,omitempty"`
	// Reason is why it would stay; Detail explains it. Instead holds the moves that cool
	// its node without it.
	Reason  string          `json:"reason,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Instead []ExplainedMove `json:"instead"`
	// Landings judge the other nodes as its destination, the best first. ByUsageAlone is
	// true if kube-scheduler's filters were not evaluated.
	Landings     []Landing `json:"landings"`
	ByUsageAlone bool      `json:"byUsageAlone,omitempty"`
	// Moves are its owner's moves in the ledger: moves in flight first, then ended ones,
	// each newest first.
	Moves []RecordedMove `json:"moves"`
	// Paused is what pauses evicting; absent if nothing does.
	Paused string `json:"paused,omitempty"`
}
