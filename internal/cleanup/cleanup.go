// Package cleanup takes away what Evenkeel has left in a cluster outside of its
// manifests: keys and gates of steering, what nodesync wrote on nodes and, if
// wanted, what it stored. It finds by names and records what is Evenkeel's, so it
// may be run again, and it is for a cluster in which no Evenkeel runs any more.
package cleanup

import (
	"context"

	"github.com/evenkeel/evenkeel/scorer/admission"
)

// Run cleans up until the context ends. What cannot be removed is in the
// report.
func Run(ctx context.Context, config Config) *Report {
	c := cleaner{Config: config, steering: admission.NewLeftovers(config.Client, config.Dynamic)}
	c.report = Report{DryRun: config.DryRun, Done: []Entry{}, Left: []Entry{}}
	for _, step := range []func(context.Context){c.leases, c.keysAndGates, c.scaledUp, c.nodes, c.stored} {
		if ctx.Err() == nil {
			step(ctx)
		}
	}
	return &c.report
}
