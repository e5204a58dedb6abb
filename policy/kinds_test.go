package policy

import (
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/nodemetrics"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// known are the kinds that these tests know, whatever others there are: their
// names stand in the messages that are expected.
var known = source.Kinds{
	new(prometheus.Config), new(kubelet.Config), new(nodemetrics.Config), new(annotations.Config), new(metricsserver.Config),
}
