package realkubelets

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
)

// restartPolicy is loadPolicy with a startup that is longer than some pods of the case live.
// It judges by the last sample, because a mean of five minutes reaches back to when the
// nodes of the case became ready.
var restartPolicy = strings.NewReplacer("windows: [avg_5m]", "windows: [last]", "startup: 0s", "startup: 20s").Replace(loadPolicy)

// Containers that the kernel kills for their memory, or that fail their probe, are started
// again by a real kubelet, with its back-off. What a container uses that has just started
// is no evidence, so its pod stays, and others are moved off the hot node.
//
//	hot node: 4 hog × 100m = 400, 2 ailing × 30m = 60 of 500m = 92 %; 2 leaky die at 40Mi
//
//e2e:tier all
func TestRestartingPodsStay(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 3)
	hog := burning("hog", cluster.Resources{CPU: "20m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 100, MemoryMiB: 30, Linger: 3 * time.Second})
	ailing := burning("ailing", cluster.Resources{CPU: "20m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 30, MemoryMiB: 30})
	ailing.Adjust = also(ailing.Adjust, func(c *v1.Container) {
		nobody := v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(9)}}
		c.LivenessProbe = &v1.Probe{ProbeHandler: nobody, InitialDelaySeconds: 5, PeriodSeconds: 5, FailureThreshold: 2}
	})
	leaky := burning("leaky", cluster.Resources{CPU: "20m", Memory: "32Mi"}, kubelets.Burn{MemoryMiB: 80})
	leaky.Adjust = also(leaky.Adjust, func(c *v1.Container) {
		c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("40Mi")}
	})
	if err := f.Place(t.Context(), cluster.Placement{Workload: hog, On: stage.On(4, nodes[0].Name)}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []cluster.Workload{ailing, leaky} {
		w.Replicas, w.NodeSelector = 2, map[string]string{v1.LabelHostname: nodes[0].Name}
		if err := f.Create(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	f.Eventually(time.Minute, "containers killed by the kernel and by their probe", func(ctx context.Context) bool {
		return slices.ContainsFunc(f.Pods(ctx, "leaky"), endedBy("OOMKilled")) && restarts(f, "ailing") > 0
	})
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, restartPolicy))
	f.Eventually(2*time.Minute, "an eviction", func(context.Context) bool { return f.Evictions(mark) > 0 })
	pause(t, 30*time.Second) // several more cycles
	evictions := f.Granted(mark)
	for _, eviction := range evictions {
		if !strings.HasPrefix(eviction.Pod, "hog-") {
			t.Errorf("pod %s was evicted, although it restarts all the time", eviction.Pod)
		}
	}
	if len(evictions) > 2 {
		t.Errorf("%d evictions, want at most 2", len(evictions))
	}
	t.Logf("figures: %d evictions; restarts: leaky %d, ailing %d", len(evictions), restarts(f, "leaky"), restarts(f, "ailing"))
}

func restarts(f *stage.Fixture, deployment string) (count int32) {
	for _, pod := range f.Pods(f.T.Context(), deployment) {
		for _, s := range pod.Status.ContainerStatuses {
			count += s.RestartCount
		}
	}
	return count
}

// also changes the containers of a pod template after another change of it.
func also(adjust func(*v1.PodTemplateSpec), change func(*v1.Container)) func(*v1.PodTemplateSpec) {
	return func(template *v1.PodTemplateSpec) {
		adjust(template)
		for i := range template.Spec.Containers {
			change(&template.Spec.Containers[i])
		}
	}
}

// endedBy matches pods with a container that has ended for a reason.
func endedBy(reason string) func(v1.Pod) bool {
	return func(pod v1.Pod) bool {
		return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s v1.ContainerStatus) bool {
			for _, state := range []v1.ContainerState{s.State, s.LastTerminationState} {
				if state.Terminated != nil && state.Terminated.Reason == reason {
					return true
				}
			}
			return false
		})
	}
}
