package strategies

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Profile is the profile of the DeschedulerPolicy that a strategy plans for.
type Profile struct {
	// Name is the profile's name, Strategy the name of the strategy's plugin.
	Name, Strategy string
	// Filter and PreEvictionFilter are the profile's filters. Pods that they reject stay.
	Filter, PreEvictionFilter func(*v1.Pod) bool
	// Hosted reports whether the strategy is a descheduler plugin, which selects pods by
	// its own rules and not by usage.
	Hosted bool
	// DryRun reports whether the strategy's moves are only logged.
	DryRun bool
	// Spares reports whether the strategy's arguments exclude the pods of a namespace.
	Spares func(namespace string) bool
}

// Candidate is a pod that a strategy would move if that is allowed.
type Candidate struct {
	// Object is the pod as the watch shows it, Record and Read its observation.
	Object *v1.Pod
	Record *cluster.Pod
	Read   *usage.PodUsage
	// Leaving explains why the pod's node is being emptied for another reason; empty if it
	// is not.
	Leaving string
}
