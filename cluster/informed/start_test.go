package informed

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
)

func after(d time.Duration) metav1.Time { return metav1.NewTime(time.Unix(1_800_000_000, 0).Add(d)) }

// A pod's newest start is that of the running container that started last, for example one that was
// restarted or a sidecar.
func TestNewestStartOfAPod(t *testing.T) {
	running := func(d time.Duration) v1.ContainerStatus {
		return v1.ContainerStatus{State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: after(d)}}}
	}
	restarted := func(d time.Duration, times int32) v1.ContainerStatus {
		status := running(d)
		status.RestartCount = times
		return status
	}
	ended := v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: after(time.Hour)}}}
	cases := map[string]struct {
		init, containers []v1.ContainerStatus
		want             time.Duration
	}{
		"no status":                   {nil, nil, 0},
		"promptly":                    {nil, []v1.ContainerStatus{running(2 * time.Second)}, cluster.PromptStart},
		"without its time, stored":    {nil, []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}, cluster.PromptStart},
		"after a pull":                {nil, []v1.ContainerStatus{running(90 * time.Second)}, 90 * time.Second},
		"one restarted":               {nil, []v1.ContainerStatus{running(time.Second), running(time.Hour)}, time.Hour},
		"a sidecar restarted":         {[]v1.ContainerStatus{running(time.Hour)}, []v1.ContainerStatus{running(time.Second)}, time.Hour},
		"one that restarted twice":    {nil, []v1.ContainerStatus{running(time.Second), restarted(time.Hour, 2)}, time.Hour},
		"one that keeps restarting":   {nil, []v1.ContainerStatus{running(time.Second), restarted(time.Hour, 3)}, cluster.PromptStart},
		"a sidecar that does":         {[]v1.ContainerStatus{restarted(time.Hour, 9)}, []v1.ContainerStatus{running(time.Minute)}, time.Minute},
		"many that restart in turn":   {nil, []v1.ContainerStatus{restarted(time.Minute, 1), restarted(2*time.Minute, 1), restarted(time.Hour, 1)}, 0},
		"next to one that does":       {nil, []v1.ContainerStatus{restarted(time.Hour, 1), restarted(time.Second, 2), running(time.Minute)}, time.Minute},
		"next to a sidecar that does": {[]v1.ContainerStatus{restarted(time.Second, 2)}, []v1.ContainerStatus{restarted(time.Hour, 1), running(time.Second)}, cluster.PromptStart},
		"next to one that waits":      {nil, []v1.ContainerStatus{{RestartCount: 9}, restarted(time.Hour, 1), running(time.Second)}, cluster.PromptStart},
		"two that restarted once":     {nil, []v1.ContainerStatus{restarted(time.Minute, 1), restarted(time.Hour, 1)}, time.Hour},
		"one late, among restarts":    {nil, []v1.ContainerStatus{restarted(time.Second, 9), running(time.Hour)}, time.Hour},
		"an init container ended":     {[]v1.ContainerStatus{ended}, []v1.ContainerStatus{running(time.Minute)}, time.Minute},
		"before its pod, by a clock":  {nil, []v1.ContainerStatus{running(-time.Hour)}, cluster.PromptStart},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			start := after(0)
			pod := Pod(&v1.Pod{Status: v1.PodStatus{StartTime: &start, InitContainerStatuses: tc.init, ContainerStatuses: tc.containers}})
			if got := pod.NewestStart(start.Add(24*time.Hour), time.Minute).Sub(start.Time); got != tc.want {
				t.Errorf("%v after its pod, want %v", got, tc.want)
			}
		})
	}
}

// A node has been ready since its condition last turned true, but never since before it was
// created.
func TestReadySince(t *testing.T) {
	object := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: after(0)}}
	ready := v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, LastTransitionTime: after(time.Minute)}
	for name, tc := range map[string]struct {
		change func(*v1.NodeCondition)
		want   time.Time
	}{
		"ready":               {func(*v1.NodeCondition) {}, after(time.Minute).Time},
		"by a clock too slow": {func(c *v1.NodeCondition) { c.LastTransitionTime = after(-time.Hour) }, after(0).Time},
		"not ready":           {func(c *v1.NodeCondition) { c.Status = v1.ConditionFalse }, time.Time{}},
	} {
		condition := ready
		tc.change(&condition)
		object.Status.Conditions = []v1.NodeCondition{condition}
		if got := Node(object).ReadySince; !got.Equal(tc.want) {
			t.Errorf("%s: since %v, want %v", name, got, tc.want)
		}
	}
	node, later := cluster.Node{ReadySince: after(0).Time}, cluster.Node{ReadySince: after(1).Time}
	if node.Equal(&later) {
		t.Error("a node that became ready again is unchanged")
	}
}
