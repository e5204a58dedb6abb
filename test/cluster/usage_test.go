package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTrueUsage(t *testing.T) {
	pod := func(node string, adjust ...func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{UsageCPUAnnotation: "500m", UsageMemoryAnnotation: "1Gi"}},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{}}},
		}
		for _, change := range adjust {
			change(&p)
		}
		return p
	}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi")}
	tests := map[string]struct {
		pods []corev1.Pod
		want NodeLoad
	}{
		"an empty node uses nothing": {},
		"pods add up": {
			pods: []corev1.Pod{pod("n"), pod("n")},
			// CPU: 2 × 500m of 2000m; memory: 2 × 1Gi of 4Gi
			want: NodeLoad{CPUPercent: 50, MemoryPercent: 50, Pods: 2},
		},
		"each container uses what the annotation says": {
			pods: []corev1.Pod{pod("n", func(p *corev1.Pod) { p.Spec.Containers = make([]corev1.Container, 2) })},
			want: NodeLoad{CPUPercent: 50, MemoryPercent: 50, Pods: 1},
		},
		"a pod that is being deleted is only counted": {
			pods: []corev1.Pod{pod("n", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} })},
			want: NodeLoad{Terminating: 1},
		},
		"finished, pending and other nodes' pods are left out": {
			pods: []corev1.Pod{pod(""), pod("m"), pod("n", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := trueUsage([]corev1.Node{node}, tc.pods)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]NodeLoad{"n": tc.want}, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}
