package announce

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// eventsClient is a client whose API server takes its time for each Event, and
// may grant only the core group's.
func eventsClient(coreOnly bool) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		resource := action.GetResource().GroupResource()
		if coreOnly && resource.Group == eventsv1.GroupName {
			return true, nil, apierrors.NewForbidden(resource, "", nil)
		}
		<-time.After(50 * time.Millisecond)
		return false, nil, nil
	})
	return client
}

func tellTwice(ctx context.Context, t *testing.T, l *Log) {
	t.Helper()
	finish, err := l.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"web-0", "web-1"} {
		pod := &v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: name}
		l.Eventf(pod, nil, v1.EventTypeNormal, "TooManyRestarts", "Evicting", "evicted from %s", "n0")
	}
	finish()
	l.Shutdown()
}

// The end of a process comes right after its last eviction; the Event about it
// is written all the same.
func TestEventsAreWrittenBeforeTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client := eventsClient(false)
	tellTwice(ctx, t, NewLog(client))
	list, err := client.EventsV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("%d Events, want 2; %v", len(list.Items), err)
	}
}

// Where only the core group's Events are granted, they are written there, with
// what they say and whom they are about.
func TestEventsGoToTheCoreGroupWhereOnlyThatIsGranted(t *testing.T) {
	client := eventsClient(true)
	tellTwice(t.Context(), t, NewLog(client))
	list, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("%d Events, want 2; %v", len(list.Items), err)
	}
	for _, e := range list.Items {
		if e.Message != "evicted from n0" || e.Reason != "TooManyRestarts" || e.InvolvedObject.Namespace != "shop" || e.EventTime.IsZero() {
			t.Errorf("Event %+v", e)
		}
	}
}
