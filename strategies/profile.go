package strategies

import v1 "k8s.io/api/core/v1"

// Profile is the profile of the DeschedulerPolicy that a strategy plans for.
type Profile struct {
	// Name is the profile's name, Strategy that of the strategy's plugin.
	Name, Strategy string
	// Filter and PreEvictionFilter are the profile's filters; pods that they refuse
	// stay.
	Filter, PreEvictionFilter func(*v1.Pod) bool
}
