package policy

import (
	"github.com/evenkeel/evenkeel/usage/annotations"
	"github.com/evenkeel/evenkeel/usage/kubelet"
	"github.com/evenkeel/evenkeel/usage/metricsserver"
	"github.com/evenkeel/evenkeel/usage/nodemetrics"
	"github.com/evenkeel/evenkeel/usage/prometheus"
	"github.com/evenkeel/evenkeel/usage/source"
)

// known are the kinds that these tests know, whatever others there are: their
// names stand in the messages that are expected.
var known = source.Kinds{
	new(prometheus.Config), new(kubelet.Config), new(nodemetrics.Config), new(annotations.Config), new(metricsserver.Config),
}
