// Package registry lists Evenkeel's strategies. To add a strategy, put its package next
// to this one and add it to All. Policies, lint, plan, explain, doctor, simulate and the
// policy reference use the strategy's description.
package registry

import (
	"fmt"

	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/preferred"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// All lists the strategies, each represented by its arguments.
var All = []plugin.Strategy{
	new(realusage.Args),
	new(preferred.Args),
}

// New returns a strategy with default arguments.
func New(name string) (plugin.Strategy, error) {
	for _, strategy := range All {
		if strategy.Describe().Name == name {
			made, ok := strategy.DeepCopyObject().(plugin.Strategy)
			if !ok {
				return nil, fmt.Errorf("%s copies to %T, which is not a strategy", name, strategy)
			}
			made.SetDefaults()
			return made, nil
		}
	}
	return nil, fmt.Errorf("there is no strategy %q", name)
}
