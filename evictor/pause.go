package evictor

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/reasons"
)

// PauseName is the name of the kill switch: a ConfigMap in Evenkeel's
// namespace that stops every eviction while it exists. Whoever pauses owns it;
// Evenkeel only reads it.
const PauseName = "evenkeel-pause"

// PauseReasonKey is the key of the kill switch's data that says why; it may be
// absent.
const PauseReasonKey = "reason"

// PauseAnnotation on the ledger's ConfigMap pauses too, with any value other
// than "false": the kill switch of earlier versions.
const PauseAnnotation = "evenkeel.io/paused"

// ConfigMapName is the name of the ledger's ConfigMap, in Evenkeel's namespace.
const ConfigMapName = "evenkeel-ledger"

// maxPauseReason bounds what is shown of somebody's reason, in bytes.
const maxPauseReason = 200

// Pause is the state of the kill switch; the zero value pauses nothing.
type Pause struct {
	// Reason is Paused, PauseUnreadable or empty; Detail says what pauses.
	Reason reasons.Reason
	Detail string
	// ByAnnotation: the ledger's annotation pauses, and the kill switch does
	// not exist.
	ByAnnotation bool
}

// Err returns the pause as a refusal, nil if evicting goes on.
func (p Pause) Err() error {
	if p.Reason == "" {
		return nil
	}
	return &reasons.Refusal{Reason: p.Reason, Detail: p.Detail}
}

// String puts the pause into words; empty if evicting goes on.
func (p Pause) String() string {
	switch p.Reason {
	case "":
		return ""
	case reasons.Paused:
		return "evicting is paused by " + p.Detail
	}
	return "the kill switch cannot be read, so evicting counts as paused: " + p.Detail
}

// Switch reads the kill switch. It is safe for concurrent use.
type Switch struct {
	client    kubernetes.Interface
	namespace string
	last      atomic.Pointer[Pause]
}

// NewSwitch returns the Switch of Evenkeel's namespace.
func NewSwitch(client kubernetes.Interface, namespace string) *Switch {
	return &Switch{client: client, namespace: namespace}
}

// Last returns the newest state that was read; a nil Switch pauses nothing.
func (s *Switch) Last() Pause {
	if s == nil || s.last.Load() == nil {
		return Pause{}
	}
	return *s.last.Load()
}

// Read asks the API server. Whatever cannot be read pauses; a missing ConfigMap
// does not. With optional, one that may not be read pauses nothing.
func (s *Switch) Read(ctx context.Context, optional bool) Pause {
	pause := s.read(ctx, PauseName, optional, func(object *v1.ConfigMap) Pause {
		p := Pause{Reason: reasons.Paused, Detail: fmt.Sprintf("ConfigMap %s/%s", s.namespace, PauseName)}
		if why := oneLine(object.Data[PauseReasonKey]); why != "" {
			p.Detail += fmt.Sprintf(" (%s)", why)
		}
		return p
	})
	if pause.Reason == "" {
		pause = s.read(ctx, ConfigMapName, optional, s.annotated)
	}
	s.last.Store(&pause)
	return pause
}

// read returns what a ConfigMap says, if it exists.
func (s *Switch) read(ctx context.Context, name string, optional bool, says func(*v1.ConfigMap) Pause) Pause {
	object, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return says(object)
	case apierrors.IsNotFound(err), optional && apierrors.IsForbidden(err):
		return Pause{}
	}
	return Pause{Reason: reasons.PauseUnreadable, Detail: fmt.Sprintf("reading ConfigMap %s/%s: %v", s.namespace, name, err)}
}

// annotated reads the kill switch of earlier versions.
func (s *Switch) annotated(object *v1.ConfigMap) Pause {
	value, ok := object.Annotations[PauseAnnotation]
	if !ok || value == "false" {
		return Pause{}
	}
	return Pause{
		Reason: reasons.Paused, ByAnnotation: true,
		Detail: fmt.Sprintf("annotation %s=%q on ConfigMap %s/%s", PauseAnnotation, oneLine(value), s.namespace, ConfigMapName),
	}
}

// oneLine makes somebody's text one line of bounded length.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), maxPauseReason)]), "")
}
