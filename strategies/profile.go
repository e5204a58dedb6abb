package strategies

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Profile is the profile of the DeschedulerPolicy that a strategy plans for.
type Profile struct {
	// Name is the profile's name, Strategy that of the strategy's plugin.
	Name, Strategy string
	// Filter and PreEvictionFilter are the profile's filters; pods that they refuse
	// stay.
	Filter, PreEvictionFilter func(*v1.Pod) bool
}

// WithSurge returns a pod that requests a surge as the profile's filters have to see
// it. The DefaultEvictor's minReplicas spares single pods a gap that a surge does not
// leave, and no argument exempts pods from this check alone. But the check skips pods
// with more than one owner, and no other check counts owners.
func WithSurge(pod *v1.Pod) *v1.Pod {
	twice := *pod
	twice.OwnerReferences = slices.Concat(pod.OwnerReferences, pod.OwnerReferences)
	return &twice
}
