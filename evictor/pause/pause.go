// Package pause reads the kill switch: a ConfigMap in Evenkeel's namespace that stops
// every eviction while it exists. The object belongs to the user who pauses; this package
// never writes it.
package pause

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// Name is the name of the kill switch.
	Name = "evenkeel-pause"
	// ReasonKey is the key in the kill switch's data that holds the reason; it may be
	// absent.
	ReasonKey = "reason"
	// Annotation on the ledger's ConfigMap also pauses, with any value other than
	// "false". It is the kill switch of earlier versions.
	Annotation = "evenkeel.io/paused"

	// timeout bounds each request.
	timeout = 5 * time.Second
	// maxReason bounds how much of the stated reason is shown, in bytes.
	maxReason = 200
)

// State is the state of the kill switch; the zero value allows evicting.
type State struct {
	// Reason is Paused, PauseUnreadable or empty. Detail describes the cause of the
	// pause.
	Reason reasons.Reason
	Detail string
	// ByAnnotation reports whether evicting is paused only by the Annotation: the kill
	// switch does not exist.
	ByAnnotation bool
}

// Err returns the state as a refusal; nil if evicting is allowed.
func (s State) Err() error {
	if s.Reason == "" {
		return nil
	}
	return &reasons.Refusal{Reason: s.Reason, Detail: s.Detail}
}

// String describes the state; empty if evicting is allowed.
func (s State) String() string {
	if s.Reason == "" {
		return ""
	}
	if s.Reason == reasons.Paused {
		return "evicting is paused by " + s.Detail
	}
	return "the kill switch cannot be read, so evicting counts as paused: " + s.Detail
}

// Switch reads the kill switch. It is safe for concurrent use.
type Switch struct {
	client            kubernetes.Interface
	namespace, ledger string
	last              atomic.Pointer[State]
	// hinted reports whether the hint about the Annotation was logged.
	hinted atomic.Bool
}

// NewSwitch returns the Switch of a namespace with the name of the ledger's
// ConfigMap, and registers its metric.
func NewSwitch(client kubernetes.Interface, namespace, ledger string, registry prometheus.Registerer) *Switch {
	s := &Switch{client: client, namespace: namespace, ledger: ledger}
	for _, reason := range []reasons.Reason{reasons.Paused, reasons.PauseUnreadable} {
		promauto.With(registry).NewGaugeFunc(prometheus.GaugeOpts{
			Name: "evenkeel_evictions_paused", Help: "1 while the kill switch stops evicting, by reason.",
			ConstLabels: prometheus.Labels{"reason": reason.Label()},
		}, func() float64 {
			if s.Last().Reason == reason {
				return 1
			}
			return 0
		})
	}
	return s
}

// Last returns the newest state that was read. A nil Switch never pauses.
func (s *Switch) Last() State {
	if s == nil || s.last.Load() == nil {
		return State{}
	}
	return *s.last.Load()
}

// Read queries the API server. A ConfigMap that cannot be read pauses evicting; a missing
// one does not. If optional is true, a ConfigMap that the process is not allowed to read
// does not pause either.
func (s *Switch) Read(ctx context.Context, optional bool) State {
	state := s.read(ctx, Name, optional, s.exists)
	if state.Reason == "" {
		state = s.read(ctx, s.ledger, optional, s.annotated)
	}
	s.log(ctx, s.Last(), state)
	s.last.Store(&state)
	return state
}

// log logs changes and, once, how to replace the Annotation.
func (s *Switch) log(ctx context.Context, before, now State) {
	logger := klog.FromContext(ctx)
	switch {
	case now == before:
	case now.Reason == "":
		logger.Info("Evicting is no longer paused")
	default:
		logger.Info("Evicting is paused", "reason", now.Reason, "detail", now.Detail)
	}
	if now.ByAnnotation && !s.hinted.Swap(true) {
		logger.Info("Pausing by an annotation on the ledger will stop working in two versions; use a ConfigMap of this name, which works even if the ledger is deleted",
			"configMap", klog.KRef(s.namespace, Name))
	}
}

// read returns the state according to a ConfigMap, if it exists.
func (s *Switch) read(ctx context.Context, name string, optional bool, says func(*v1.ConfigMap) State) State {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	object, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return says(object)
	case apierrors.IsNotFound(err), optional && apierrors.IsForbidden(err):
		return State{}
	}
	return State{Reason: reasons.PauseUnreadable, Detail: fmt.Sprintf("reading ConfigMap %s/%s: %v", s.namespace, name, err)}
}

// exists returns the state according to the kill switch's ConfigMap.
func (s *Switch) exists(object *v1.ConfigMap) State {
	state := State{Reason: reasons.Paused, Detail: fmt.Sprintf("ConfigMap %s/%s", s.namespace, Name)}
	if why := oneLine(object.Data[ReasonKey]); why != "" {
		state.Detail += fmt.Sprintf(" (%s)", why)
	}
	return state
}

// annotated returns the state according to the Annotation on the ledger's ConfigMap.
func (s *Switch) annotated(ledger *v1.ConfigMap) State {
	value, ok := ledger.Annotations[Annotation]
	if !ok || value == "false" {
		return State{}
	}
	return State{
		Reason: reasons.Paused, ByAnnotation: true,
		Detail: fmt.Sprintf("annotation %s=%q on ConfigMap %s/%s", Annotation, oneLine(value), s.namespace, s.ledger),
	}
}

// oneLine reduces a text to one line of bounded length.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text[:min(len(text), 2*maxReason)])
	return strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), maxReason)]), "")
}
