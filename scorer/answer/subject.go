package answer

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// subject is the pod of a request.
type subject struct {
	ledger.Pod
	ownerName        string
	requests, limits cluster.Amounts // 0 means none
	hasClaims        bool
	// known reports whether the pod watch shows the pod without a node. If so, all fields
	// come from the watch. Otherwise they come from the request, which anyone may have
	// sent. A request's claims are good enough for its own answer, but must not influence
	// answers about other pods.
	known bool
	// charges reports whether the answer may charge the pod to a node. It may if the pod
	// is known or if kube-scheduler itself asks, in this process.
	charges bool
}

// claimed returns what a request claims about its pod.
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

// learn replaces claims about a pod with the watch's data, if the watch shows the pod
// without a node.
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

// unmeasured returns the data from which the subject's usage is estimated.
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
