package status

// PodExplanation explains a pod.
type PodExplanation struct {
	// Summary describes the most important facts in words.
	Summary   string `json:"summary"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Owner     string `json:"owner,omitempty"`
	// Node is the node on which the pod runs; empty for a pod of which only the ledger
	// has a record.
	Node      string `json:"node,omitempty"`
	NodeState string `json:"nodeState,omitempty"`
	Priority  int32  `json:"priority"`
	// Usage is measured, or an estimate if Measured is false. NodePercent is its share of
	// the node's allocatable, and MeasuredSeconds the time that the samples cover.
	Usage           Amounts  `json:"usage"`
	NodePercent     Percents `json:"nodePercent"`
	Measured        bool     `json:"measured"`
	MeasuredSeconds int      `json:"measuredSeconds"`
	// Candidate is true if the pod is allowed to be moved.
	Candidate bool `json:"candidate"`
	// Move is the move of the pod that a cycle would make now; absent if the pod would
	// stay.
	Move *ExplainedMove `json:"move,omitempty"`
	// Eviction is the eviction of the pod that a descheduler plugin would make even if there
	// is no better place; absent if none would.
	Eviction *PlanEviction `json:"eviction,omitempty"`
	// Reason is why the pod would stay, and Detail explains the reason. Instead holds the
	// moves that cool its node without moving the pod.
	// Plugin is the descheduler plugin that asks for its eviction although it stays; absent
	// if none does.
	Reason  string          `json:"reason,omitempty"`
	Plugin  string          `json:"plugin,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Instead []ExplainedMove `json:"instead"`
	// Landings judge the other nodes as the pod's destination, the best first.
	// ByUsageAlone is true if kube-scheduler's filters were not evaluated.
	Landings     []Landing `json:"landings"`
	ByUsageAlone bool      `json:"byUsageAlone,omitempty"`
	// Moves lists the moves of the pod's owner in the ledger: moves in flight first, then
	// ended ones, each newest first.
	Moves []RecordedMove `json:"moves"`
	// Paused describes what pauses evicting; absent if nothing does.
	Paused string `json:"paused,omitempty"`
}
