package extender

import "github.com/evenkeel/evenkeel/cluster"

// Absent is the value of a Pod's request if no container requests that
// resource, as opposed to requesting 0.
const Absent int64 = -1

// Pod holds the fields that the extender reads from the pod in a request. The Pod is
// reused after the call, so an Answerer must copy it to keep it. Its strings may be kept.
type Pod struct {
	Namespace, Name, UID string

	// The controlling owner; empty if there is none.
	OwnerUID, OwnerKind, OwnerName string

	// Created is metadata.creationTimestamp as sent, in RFC 3339.
	Created string
	// TemplateHash distinguishes the revisions of one owner. It is the label
	// controller-revision-hash for pods of StatefulSets and DaemonSets, otherwise
	// pod-template-hash.
	TemplateHash string

	// HasClaims reports whether the pod has volumes from PersistentVolumeClaims,
	// which may have to be provisioned before it is bound.
	HasClaims bool

	// Effective requests as kube-scheduler computes them (containers, sidecars, init
	// containers, pod level, overhead); Absent if unset.
	CPUMilli, MemoryBytes int64

	// Effective limits by the same rules; 0 if unset.
	LimitCPUMilli, LimitMemoryBytes int64
}

// Answerer opens a Round for each request. It is safe for concurrent use.
type Answerer interface {
	// Begin opens a round on the newest observation.
	Begin() Round
}

// Round answers one request. Only one goroutine uses it.
type Round interface {
	// Node returns the index of the named node, or a negative number if it is
	// unknown. It must not keep name.
	Node(name []byte) cluster.NodeIndex

	// Filter sets reasons[i] to the reason why nodes[i] is rejected. Initially all
	// reasons are RejectNone. A negative index is an unknown node, which is kept
	// regardless of its reason. If every node is rejected, the reply keeps them all (but
	// see RejectLoad), so a Round must book only on a node that it keeps.
	Filter(pod *Pod, nodes []cluster.NodeIndex, reasons []Reject)

	// Prioritize sets scores[i] to 0 to 10, higher for better nodes. Initially all scores
	// are 0. Only differences between the nodes of one request matter to kube-scheduler.
	Prioritize(pod *Pod, nodes []cluster.NodeIndex, scores []int8)
}

// Indexed is a Round that finds nodes with an Index. The Index replaces Node,
// which saves a call for each name.
type Indexed interface {
	Round
	Index() *Index
}

// Reject is the reason why a node is rejected for a pod.
type Reject uint8

// The reasons to reject a node.
const (
	// RejectNone means that the node is kept.
	RejectNone Reject = iota
	// RejectHot means that the node's predicted usage is above the reject line.
	RejectHot
	// RejectSource means that the pod's predecessor was moved from the node.
	RejectSource
	// RejectNotDestination means that the node is not the planned destination of a move.
	RejectNotDestination
	// RejectLoad means that the node's measured usage is above a limit of the policy. Its
	// message is Config.LoadMessage. With Config.RejectAll, it is the only reason that
	// can reject every node of a request.
	RejectLoad

	rejectCount
)

// rejectTexts holds the label value and the message of each reason. The messages are
// written into JSON unescaped, so they must not need escaping. The message of RejectLoad
// is the default of Config.LoadMessage.
var rejectTexts = [rejectCount]struct{ label, message string }{
	RejectNone:           {"None", ""},
	RejectHot:            {"Hot", "node real usage above the reject line"},
	RejectSource:         {"Source", "pod was just evicted from this node"},
	RejectNotDestination: {"NotDestination", "evenkeel planned another node for this pod"},
	RejectLoad:           {"Load", "node load above the policy's limit"},
}

// String returns the metric label value of the reason.
func (r Reject) String() string {
	if r >= rejectCount {
		return "Unknown"
	}
	return rejectTexts[r].label
}

// Message returns the sentence that kube-scheduler includes in the pod's
// events.
func (r Reject) Message() string {
	if r >= rejectCount {
		return "rejected by evenkeel"
	}
	return rejectTexts[r].message
}
