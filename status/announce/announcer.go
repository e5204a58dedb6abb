// Package announce informs people about the state of a process: in its log and, if the
// process evicts, with Events on the ledger's ConfigMap and on nodes.
package announce

import (
	"errors"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/reasons"
)

// The reasons of Events.
const (
	// gateOpened means that usage is again a sufficient basis for evictions.
	gateOpened = "UsageGateOpened"
	// ledgerSetAside means that the stored content is not a ledger and was set aside,
	// because this process has the ledger in memory or a user accepted its loss.
	// Otherwise nothing is evicted, with the reason LedgerUnreadable.
	ledgerSetAside = "LedgerSetAside"
)

// Announcer writes Events. It is safe for concurrent use.
type Announcer struct {
	recorder  events.EventRecorder // nil in a process that never evicts
	namespace string

	mu     sync.Mutex
	leader evictor.Leader        // nil until this process has led
	closed *observer.Observation // the observation that closed the gate; nil while it is open
}

// NewAnnouncer returns an Announcer for a namespace's ConfigMap. The recorder
// may be nil.
func NewAnnouncer(recorder events.EventRecorder, namespace string) *Announcer {
	return &Announcer{recorder: recorder, namespace: namespace}
}

// Gated must be called when usage becomes insufficient for evictions, when it becomes
// sufficient again, and when the reason changes.
func (a *Announcer) Gated(o *observer.Observation) {
	klog.LoggerWithName(klog.Background(), "usage").V(2).Info("Usage gate changed", "gate", o.Blocked, "detail", o.Closed())
	a.mu.Lock()
	defer a.mu.Unlock()
	opens := o.Blocked == "" && a.closed != nil
	if a.closed = o; o.Blocked == "" {
		a.closed = nil
	}
	switch {
	case !a.evicting():
	case opens:
		a.event(v1.EventTypeNormal, gateOpened, "Real usage is known well enough to evict on.")
	case a.closed != nil:
		a.event(v1.EventTypeWarning, string(o.Blocked), o.Closed())
	}
}

// evicting reports whether this process is the one that writes Events.
func (a *Announcer) evicting() bool { return a.leader != nil && a.leader.Leads() == nil }

// Evicting makes this process the one that writes Events, as long as it leads.
func (a *Announcer) Evicting(leader evictor.Leader) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leader = leader; a.evicting() && a.closed != nil {
		a.event(v1.EventTypeWarning, string(a.closed.Blocked), a.closed.Closed())
	}
}

// LedgerLost writes an Event that explains why the stored ledger is unreadable.
func (a *Announcer) LedgerLost(err error) {
	reason := ledgerSetAside
	if errors.Is(err, configmap.ErrUnreadable) {
		reason = string(reasons.LedgerUnreadable)
	}
	a.event(v1.EventTypeWarning, reason, err.Error())
}

// tell writes an Event if this is the evicting process.
func (a *Announcer) tell(kind, reason, note string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.evicting() {
		a.event(kind, reason, note)
	}
}

// onNode writes an Event on a node if this is the evicting process, and reports whether
// it is.
func (a *Announcer) onNode(node, kind, reason, note string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.evicting() {
		return false
	}
	// As in the kubelet's Events, the UID is the node's name, because kubectl describe
	// uses it to find the Event.
	a.write(&v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(node)}, kind, reason, "Watching", note)
	return true
}

func (a *Announcer) event(kind, reason, note string) {
	a.write(&v1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: a.namespace, Name: evictor.ConfigMapName,
	}, kind, reason, "Evicting", note)
}

// mostNote is the longest note of an Event, in bytes.
const mostNote = 1024

func (a *Announcer) write(regarding *v1.ObjectReference, kind, reason, action, note string) {
	if a.recorder == nil {
		return
	}
	if len(note) > mostNote {
		note = strings.ToValidUTF8(note[:mostNote], "")
	}
	a.recorder.Eventf(regarding, nil, kind, reason, action, "%s", note)
}
