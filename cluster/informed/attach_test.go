package informed

import (
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// If only nodes are attached, the store is synced once it is told that there will be no pods, and
// it requests none.
func TestAttachNodes(t *testing.T) {
	client := fake.NewClientset(aNode("n1"), aPod("a", "n1"))
	factory := informers.NewSharedInformerFactory(client, 0)
	s := newTold()
	synced, err := s.AttachNodes(factory)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown) // once the context has ended
	if !cache.WaitForCacheSync(t.Context().Done(), synced) {
		t.Fatal("not synced")
	}
	if s.Synced() {
		t.Error("the store is synced without having heard of pods")
	}
	if s.WithoutPods(); !s.Synced() {
		t.Error("the store waits for pods")
	}
	if got := s.placed(); got != "n1[]" {
		t.Errorf("placed %s", got)
	}
	for _, action := range client.Actions() {
		if action.GetResource().Resource == "pods" {
			t.Errorf("asked to %s pods", action.GetVerb())
		}
	}
}
