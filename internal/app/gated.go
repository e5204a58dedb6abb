package app

import (
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/observer"
)

// gate tells persons when usage becomes too poor to evict on, and when it is good again: in the log of every process, and
// by an Event of the one that evicts, on the ConfigMap by which it is paused.
type gate struct {
	mu       sync.Mutex
	evicting bool
	closed   *observer.Observation // by which the gate closed; nil while it is open
}

// gateOpened is the Event's reason when the gate opens.
const gateOpened = "UsageGateOpened"

// gated is told when the gate closes, opens or changes its reason.
func (a *App) gated(o *observer.Observation) {
	klog.LoggerWithName(klog.Background(), "usage").V(2).Info("Usage gate changed", "gate", o.Blocked, "detail", o.Closed())
	g := &a.usageGate
	g.mu.Lock()
	defer g.mu.Unlock()
	opens := o.Blocked == "" && g.closed != nil
	if g.closed = o; o.Blocked == "" {
		g.closed = nil
	}
	switch {
	case !g.evicting:
	case opens:
		a.gateEvent(v1.EventTypeNormal, gateOpened, "Real usage is known well enough to evict on.")
	case g.closed != nil:
		a.gateEvent(v1.EventTypeWarning, string(o.Blocked), o.Closed())
	}
}

// beginEvicting makes this process the one that tells by Events.
func (a *App) beginEvicting() {
	g := &a.usageGate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.evicting = true; g.closed != nil {
		a.gateEvent(v1.EventTypeWarning, string(g.closed.Blocked), g.closed.Closed())
	}
}

// mostNote is how long the note of an Event may be.
const mostNote = 1024

func (a *App) gateEvent(kind, reason, note string) {
	if a.recorder == nil {
		return
	}
	if len(note) > mostNote {
		note = strings.ToValidUTF8(note[:mostNote], "")
	}
	a.recorder.Eventf(&v1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: a.options.Namespace, Name: evictor.ConfigMapName,
	}, nil, kind, reason, "Evicting", "%s", note)
}
