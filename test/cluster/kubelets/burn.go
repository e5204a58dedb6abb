package kubelets

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Burn defines what a container really uses.
type Burn struct {
	MilliCPU, MemoryMiB int
	// Linger is how long the container continues to run after it was asked to end.
	Linger time.Duration
	// SpikeMilliCPU is additional CPU usage, which begins SpikeAfter its start and lasts
	// SpikeLasts.
	SpikeMilliCPU          int
	SpikeAfter, SpikeLasts time.Duration
}

// Apply makes the containers of a pod use these resources; see cluster.Workload.Adjust.
func (b Burn) Apply(template *corev1.PodTemplateSpec) {
	for i := range template.Spec.Containers {
		container := &template.Spec.Containers[i]
		container.Image, container.ImagePullPolicy = Image, corev1.PullNever
		container.Args = []string{
			fmt.Sprintf("--cpu=%d", b.MilliCPU), fmt.Sprintf("--memory=%d", b.MemoryMiB), fmt.Sprintf("--linger=%s", b.Linger),
			fmt.Sprintf("--spike=%d", b.SpikeMilliCPU), fmt.Sprintf("--spike-after=%s", b.SpikeAfter), fmt.Sprintf("--spike-lasts=%s", b.SpikeLasts),
		}
	}
	seconds := int64((b.Linger + 10*time.Second).Seconds())
	template.Spec.TerminationGracePeriodSeconds = &seconds
}
