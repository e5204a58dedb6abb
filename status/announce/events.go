package announce

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/evictor"
)

// Log writes Events with the events.k8s.io API, or with the core API if the process has
// permission only for that, like legacy deschedulers.
type Log struct {
	events.EventRecorder
	events.EventSinkImpl
	broadcaster events.EventBroadcaster
	client      kubernetes.Interface
	// recorded counts the recorded Events, and answered the API server's responses. A
	// repeated Event gets no response.
	recorded, answered atomic.Int64
	// last is when the last Event was recorded.
	last atomic.Pointer[time.Time]
}

var (
	_ events.EventRecorder = (*Log)(nil)
	_ events.EventSink     = (*Log)(nil)
)

// Recorder records Events and sends them.
type Recorder interface {
	events.EventRecorder
	// Start begins to send Events. finish sends the remaining ones.
	Start(ctx context.Context) (finish func(), err error)
	Shutdown()
}

// NewRecorder returns a Recorder. In a dry run it sends nothing.
func NewRecorder(client kubernetes.Interface, dryRun bool) Recorder {
	if dryRun {
		return &Unsent{}
	}
	return NewLog(client)
}

// Unsent records Events and sends none.
type Unsent struct{ events.FakeRecorder }

// Start implements Recorder.
func (*Unsent) Start(context.Context) (finish func(), err error) { return func() {}, nil }

// Shutdown implements Recorder.
func (*Unsent) Shutdown() {}

// NewLog returns a Log that writes nothing before it is started.
func NewLog(client kubernetes.Interface) *Log {
	l := &Log{EventSinkImpl: events.EventSinkImpl{Interface: client.EventsV1()}, client: client}
	l.broadcaster = events.NewBroadcaster(l)
	l.EventRecorder = l.broadcaster.NewRecorder(scheme.Scheme, "evenkeel")
	return l
}

// eventsTimeout is how long a process waits at its end for its last Event to be written.
const eventsTimeout = 3 * time.Second

// Start begins to write, until finish is called. finish waits for the last
// Events to be written, even if the context has ended.
func (l *Log) Start(ctx context.Context) (finish func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if err := l.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("starting to record events: %w", err)
	}
	return func() {
		defer cancel()
		for last := l.last.Load(); last != nil && l.answered.Load() < l.recorded.Load() && time.Since(*last) < eventsTimeout; {
			evictor.Sleep(ctx, eventsTimeout/100)
		}
	}, nil
}

// Eventf records an Event.
func (l *Log) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	now := time.Now()
	l.last.Store(&now)
	l.recorded.Add(1)
	l.EventRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
}

// Create writes an Event.
func (l *Log) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	defer l.answered.Add(1)
	created, err := l.EventSinkImpl.Create(ctx, event)
	if !apierrors.IsForbidden(err) {
		return created, err
	}
	if _, core := l.client.CoreV1().Events(event.Namespace).Create(ctx, coreEvent(event), metav1.CreateOptions{}); core != nil {
		return nil, err // return the error of events.k8s.io, because permission for that API is the one to grant
	}
	return event, nil
}

// coreEvent converts an Event to the core group.
func coreEvent(event *eventsv1.Event) *v1.Event {
	at := metav1.NewTime(event.EventTime.Time)
	return &v1.Event{
		ObjectMeta:          event.ObjectMeta,
		InvolvedObject:      event.Regarding,
		Related:             event.Related,
		Type:                event.Type,
		Reason:              event.Reason,
		Action:              event.Action,
		Message:             event.Note,
		Source:              v1.EventSource{Component: event.ReportingController},
		FirstTimestamp:      at,
		LastTimestamp:       at,
		Count:               1,
		EventTime:           event.EventTime,
		ReportingController: event.ReportingController,
		ReportingInstance:   event.ReportingInstance,
	}
}

// Shutdown stops the recording.
func (l *Log) Shutdown() { l.broadcaster.Shutdown() }
