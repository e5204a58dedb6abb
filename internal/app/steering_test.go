package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/internal/flags"
)

// Held pods are released, except by a dry run, which does not know their plan and changes nothing.
func TestLetGo(t *testing.T) {
	for name, dryRun := range map[string]bool{"run": false, "a dry run": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := starting(t, nil, func(o *flags.Options) { o.DryRun, o.Interval = dryRun, time.Minute })
				ctx, stop := context.WithCancel(t.Context())
				held := &v1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "held", UID: "held"},
					Spec:       v1.PodSpec{SchedulingGates: []v1.PodSchedulingGate{{Name: "evenkeel.io/steer"}}},
				}
				client, _ := a.process.kube.Client.(*fake.Clientset)
				if err := client.Tracker().Add(held); err != nil {
					t.Fatal(err)
				}
				a.informers.Start(ctx.Done())
				done := make(chan error)
				go func() { done <- a.steering.letGo(ctx, dryRun) }()
				time.Sleep(time.Second)
				patched := 0
				for _, action := range client.Actions() {
					if action.GetVerb() == "patch" {
						patched++
					}
				}
				if patched > 0 == dryRun {
					t.Errorf("%d patches", patched)
				}
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
				a.informers.Shutdown()
			})
		})
	}
}
