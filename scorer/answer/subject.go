package answer

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// subject is the pod that an answer is about.
type subject struct {
	ledger.Pod
	ownerName        string
	requests, limits cluster.Amounts // 0 is none
	hasClaims        bool
	// known reports whether the pod watch shows the pod without a node. Then all
	// of this is from the watch; otherwise it is what the request says, which
	// may be anybody's: good enough for an answer, and for nothing that others
	// are answered by.
	known bool
	// charges reports whether the answer counts: the pod is known, or
	// kube-scheduler itself speaks, in this process.
	charges bool
}

// claimed returns what a request says of its pod.
func claimed(pod *extender.Pod) subject {
	created, _ := time.Parse(time.RFC3339, pod.Created) // an invalid time counts as unknown
	return subject{
		Pod: ledger.Pod{
			UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, OwnerUID: pod.OwnerUID, OwnerKind: pod.OwnerKind,
			TemplateHash: pod.TemplateHash, Created: created,
		},
		ownerName: pod.OwnerName, hasClaims: pod.HasClaims,
		requests: cluster.Amounts{max(pod.CPUMilli, 0), max(pod.MemoryBytes, 0)},
		limits:   cluster.Amounts{pod.LimitCPUMilli, pod.LimitMemoryBytes},
	}
}

// learn replaces what is said of a pod by what the watch shows of it, if it
// shows the pod without a node.
func (s *subject) learn(from *observer.Observer) {
	pod := from.Unbound(s.UID)
	if pod == nil {
		return
	}
	*s = subject{
		Pod: observer.LedgerPod(pod), ownerName: pod.Owner.Name, requests: pod.Requests, limits: pod.Limits,
		hasClaims: pod.HasClaims, known: true, charges: true,
	}
}

// unmeasured returns what the usage of the subject is estimated by.
func (s *subject) unmeasured() *observer.Unmeasured {
	return &observer.Unmeasured{
		UID: s.UID,
		Kin: usage.Kin{
			Namespace: s.Namespace, Owner: cluster.Owner{UID: s.OwnerUID, Kind: s.OwnerKind, Name: s.ownerName},
			TemplateHash: s.TemplateHash,
		},
		Requests: s.requests, Limits: s.limits,
	}
}
