package scenario

import "github.com/evenkeel/evenkeel/test/cluster"

// Option changes the nodes of a Story.
type Option func(*cluster.NodeTemplate)

// OwnAddresses gives each node its own InternalIP, which package exporters and
// matching by address need.
func OwnAddresses() Option {
	return func(t *cluster.NodeTemplate) { t.OwnAddresses = true }
}

// template returns nodes of 32 cores and 256Gi, with the options.
func template(options []Option) cluster.NodeTemplate {
	t := cluster.NodeTemplate{CPU: "32", Memory: "256Gi"}
	for _, option := range options {
		option(&t)
	}
	return t
}
