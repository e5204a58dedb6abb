package app

import (
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/observer"
)

// gate tells persons when usage becomes too poor to evict on, and when it is good again: in the log of every process, and
// by an Event of the one that evicts, on the ConfigMap by which it is paused.
type gate struct{ evicting atomic.Bool }

// gateOpened is the Event's reason when the gate opens.
const gateOpened = "UsageGateOpened"

func (a *App) gated(o *observer.Observation) {
	logger := klog.LoggerWithName(klog.Background(), "usage")
	kind, reason, note := v1.EventTypeWarning, string(o.Gate), o.Closed()
	if o.Gate == "" {
		kind, reason, note = v1.EventTypeNormal, gateOpened, "Real usage is known well enough to evict on."
	}
	logger.V(2).Info("Usage gate changed", "reason", reason, "detail", note)
	if a.recorder == nil || !a.usageGate.evicting.Load() {
		return
	}
	a.recorder.Eventf(&v1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: a.options.Namespace, Name: evictor.ConfigMapName,
	}, nil, kind, reason, "Evicting", "%s", shorten(note))
}

// mostNote is how long the note of an Event may be.
const mostNote = 1024

func shorten(note string) string {
	if len(note) <= mostNote {
		return note
	}
	return strings.ToValidUTF8(note[:mostNote], "")
}
