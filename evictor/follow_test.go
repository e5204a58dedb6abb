package evictor

import (
	"context"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
)

func smallNode(name, pods string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse(pods),
	}}}
}

// watchOf returns a channel that is closed when a resource is watched. The fake API server does not
// replay changes between a list and its watch.
func watchOf(kube *fake.Clientset, resource string) <-chan struct{} {
	watching := make(chan struct{})
	begun := sync.OnceFunc(func() { close(watching) })
	kube.PrependWatchReactor(resource, func(action clienttesting.Action) (bool, watch.Interface, error) {
		options := metav1.ListOptions{}
		if asked, is := action.(clienttesting.WatchActionImpl); is {
			options = asked.ListOptions
		}
		watched, err := kube.Tracker().Watch(action.GetResource(), action.GetNamespace(), options)
		if err == nil {
			begun()
		}
		return true, watched, err //nolint:wrapcheck // as the fake does
	})
	return watching
}

// Sessions see pods and nodes that come, change and go, as the watches report them.
func TestSessionsFollowTheWatches(t *testing.T) {
	ctx := t.Context()
	kube := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(kube, 0)
	filters, err := placement.New(ctx, placement.Config{})
	if err != nil {
		t.Fatal(err)
	}
	watched := NewWatched(factory, ledger.New(ledger.Config{}), at(noon))
	if err := watched.WatchOwners(filters); err != nil {
		t.Fatal(err)
	}
	asked := replica("asked")
	asked.Spec.NodeName = "a"
	nodes, pods := kube.CoreV1().Nodes(), kube.CoreV1().Pods(asked.Namespace)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(nodes.Create(ctx, smallNode("a", "2"), metav1.CreateOptions{}))
	must(pods.Create(ctx, asked, metav1.CreateOptions{}))
	watching := []<-chan struct{}{watchOf(kube, "nodes"), watchOf(kube, "pods")}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for _, begun := range watching {
		<-begun
	}
	t.Cleanup(factory.Shutdown)
	becomes := func(what string, want bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			session, err := watched.Session(ctx)
			if err != nil {
				return false, err
			}
			defer session.Close()
			return session.Fits(asked, "b").OK == want, nil
		})
		if err != nil {
			t.Fatalf("%s: the pod does not fit as expected (%v): %v", what, want, err)
		}
	}
	becomes("there is no other node", false)
	must(nodes.Create(ctx, smallNode("b", "1"), metav1.CreateOptions{}))
	becomes("a node has come", true)
	other := replica("other")
	other.Spec.NodeName = "b"
	must(pods.Create(ctx, other, metav1.CreateOptions{}))
	becomes("a pod has taken its place", false)
	must(nodes.Update(ctx, smallNode("b", "2"), metav1.UpdateOptions{}))
	becomes("the node may have more pods", true)
	more := replica("more")
	must(pods.Create(ctx, more, metav1.CreateOptions{}))
	bound := more.DeepCopy()
	bound.Spec.NodeName = "b"
	must(pods.Update(ctx, bound, metav1.UpdateOptions{}))
	becomes("a pod was bound", false)
	must(nil, pods.Delete(ctx, more.Name, metav1.DeleteOptions{}))
	becomes("the pod was deleted", true)
	must(nil, nodes.Delete(ctx, "b", metav1.DeleteOptions{}))
	becomes("the node was deleted", false)
}
