package policy

import (
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/nodemetrics"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// known are the only source kinds in these tests, because expected messages list their names.
var known = source.Kinds{
	new(prometheus.Config), new(kubelet.Config), new(nodemetrics.Config), new(annotations.Config), new(metricsserver.Config),
}
