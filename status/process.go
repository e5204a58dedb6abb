package status

// Process describes a process and how often kube-scheduler asks it.
type Process struct {
	// Started is when the process started.
	Started string `json:"started"`
	// Asked counts filter and prioritize requests since the process started. LastAsked is
	// when the newest one came.
	Asked     int64  `json:"asked"`
	LastAsked string `json:"lastAsked,omitempty"`
}

// Source is the result of the last reading of a usage source.
type Source struct {
	Name string `json:"name"`
	// Asked is false if this source was skipped because the sources before it were
	// complete.
	Asked bool   `json:"asked"`
	Error string `json:"error,omitempty"`
}

// SourceReport is the result of the last reading of a usage source in the reports of
// /status and top.
type SourceReport struct {
	Source
	// Nodes and Pods count the nodes and pods that the source reported. Chosen counts the
	// known nodes whose usage is taken from it.
	Nodes  int `json:"nodes"`
	Pods   int `json:"pods"`
	Chosen int `json:"chosenNodes"`
	// Problems describes the rejected samples, by cause.
	Problems map[string]ProblemReport `json:"problems,omitempty"`
}

// ProblemReport is the number of samples that were rejected for one cause, with the names
// of a few of them.
type ProblemReport struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// ProcessStatus is the part of a process's status that unauthenticated clients may read. It names no node, and no pod
// except the one in the request.
type ProcessStatus struct {
	Process
	// PodAsked answers the query ?pod=UID. It is true if kube-scheduler recently asked
	// about this pod.
	PodAsked bool `json:"podAsked,omitempty"`
	// Gate is the reason why nothing would be evicted now; empty if evicting is allowed.
	Gate string `json:"gate,omitempty"`
}

// Status is the response to GET /status among the reports.
type Status struct {
	ProcessStatus
	// Observed is when usage was last read; empty before the first reading.
	Observed string `json:"observed,omitempty"`
	// GateDetail explains Gate.
	GateDetail string `json:"gateDetail,omitempty"`
	// Paused is the reason why the kill switch stops evicting: Paused or PauseUnreadable;
	// empty if it does not. The value is at most 15 seconds old. PauseDetail explains it.
	Paused      string `json:"paused,omitempty"`
	PauseDetail string `json:"pauseDetail,omitempty"`
	// Sources has the result of the last reading of each usage source.
	Sources []SourceReport `json:"sources,omitempty"`
	// ReadyNodes is the number of ready nodes, and FreshNodes the number of those whose
	// usage is known.
	ReadyNodes int `json:"readyNodes"`
	FreshNodes int `json:"freshNodes"`
	// Policy reports which policy is in effect.
	Policy PolicyStatus `json:"policy"`
	// Ledger reports the stored ledger.
	Ledger LedgerReport `json:"ledger"`
	// Moves lists the moves in flight and those that ended recently.
	Moves []Move `json:"moves,omitempty"`
}

// PolicyStatus is the report of a process on its policy.
type PolicyStatus struct {
	// Generation counts the policies that the process has applied. It is 1 for the policy
	// with which the process started.
	Generation int `json:"generation"`
	// Problem explains why the changed policy file is not in effect; empty if it is.
	Problem string `json:"problem,omitempty"`
}

// LedgerReport is the report of a process on the stored ledger.
type LedgerReport struct {
	// Generation is the generation of the newest document that the process has read or
	// written.
	Generation int64 `json:"generation"`
	InFlight   int   `json:"inFlight"`
	// Unreadable is why the stored ledger cannot be read, so that nothing is evicted, and how to continue; empty if it
	// can be read.
	Unreadable string `json:"unreadable,omitempty"`
	// Hold is the reason why evicting is on hold; empty if it is not.
	Hold string `json:"hold,omitempty"`
	// HoldUntil is when evicting resumes automatically.
	HoldUntil string `json:"holdUntil,omitempty"`
}
