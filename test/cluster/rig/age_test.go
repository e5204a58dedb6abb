package rig

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Pods get the age that a test requires, both for clients that list them and for clients that watch
// them.
func TestPodsCanBeAged(t *testing.T) {
	c := start(t, cluster.Options{})
	if _, err := c.AddNodes(t.Context(), 1, cluster.NodeTemplate{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Deploy(t.Context(), cluster.Workload{Name: "old", Replicas: 2}); err != nil {
		t.Fatal(err)
	}
	pods := c.Client().CoreV1().Pods("default")
	before, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(before.Items) != 2 {
		t.Fatalf("%d pods, want 2 (%v)", len(before.Items), err)
	}
	watch, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: before.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if err := c.Age(t.Context(), "default", 5*time.Hour); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-watch.ResultChan():
		t.Logf("the watch saw %s", event.Type)
	case <-time.After(10 * time.Second):
		t.Error("the watch saw nothing within 10s")
	}
	after, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range after.Items {
		was, is := before.Items[i].CreationTimestamp, after.Items[i].CreationTimestamp
		if older := was.Sub(is.Time); older != 5*time.Hour || after.Items[i].UID != before.Items[i].UID {
			t.Errorf("pod %s is %s older, want 5h0m0s", after.Items[i].Name, older)
		}
	}
}
