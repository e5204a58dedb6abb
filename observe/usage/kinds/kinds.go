// Package kinds lists the kinds of usage sources. A new kind requires a package next to
// this one and a line here. Policies, lint, doctor and the policy reference use its
// description.
package kinds

import (
	"errors"
	"fmt"

	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/nodemetrics"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// All lists the kinds of usage sources.
var All = source.Kinds{
	new(prometheus.Config),
	new(kubelet.Config),
	new(nodemetrics.Config),
	new(annotations.Config),
	new(metricsserver.Config),
}

// maker is a configuration that makes the reader of its source.
type maker interface {
	New(env *access.Env) (access.Reader, error)
}

// New makes the reader of a source without sending a request.
func New(config source.Config, env *access.Env) (access.Reader, error) {
	if env.REST == nil || env.Now == nil || env.Timeout <= 0 || env.Interval <= 0 || env.QueriesPerSecond <= 0 {
		return nil, errors.New("REST, Now, Timeout, Interval and QueriesPerSecond must be set")
	}
	kind, ok := config.(maker)
	if !ok {
		return nil, fmt.Errorf("%T cannot make a reader", config)
	}
	return kind.New(env)
}
