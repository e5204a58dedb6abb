package announce

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/features"
)

// eventsClient returns a client whose API server takes a while for each Event, and may allow only
// the core group's Events.
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

// A process ends right after its last eviction, but the Event about that eviction is still written.
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

// The framework records its Events on the pods that upstream's plugins evict or fail to evict.
func TestEventsOfUpstreamEvictions(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "pods/eviction", func(action clienttesting.Action) (bool, runtime.Object, error) {
		eviction := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		if eviction.Name == "refused" {
			return true, nil, errors.New("refused")
		}
		return true, nil, nil
	})
	l := NewLog(client)
	finish, err := l.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pods := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	framework, err := evictions.NewPodEvictor(t.Context(), client, l, pods, features.DefaultMutableFeatureGate,
		evictions.NewOptions().WithPolicyGroupVersion("policy/v1").WithEvictionFailureEventNotification(new(true)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"upstream-0", "refused", "upstream-1"} {
		_ = framework.EvictPod(t.Context(), podNamed(name), evictions.EvictOptions{Reason: "NodeHot"})
	}
	finish()
	l.Shutdown()
	list, err := client.EventsV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range list.Items {
		got[e.Regarding.Name] += e.Reason + ";"
	}
	want := map[string]string{"upstream-0": "NodeHot;", "refused": "EvictionFailed;", "upstream-1": "NodeHot;"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func podNamed(name string) *v1.Pod {
	return &v1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{NodeName: "n1"},
	}
}

// If only the core group's Events are allowed, Events are written there, with the same text and
// subject.
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
