// Package cleanup removes what Evenkeel has left in a cluster in addition to its
// manifests: steering keys and gates, what nodesync wrote on nodes and, on request, the
// stored data. It identifies these by names and records, so it may be run repeatedly. It
// is meant for a cluster in which Evenkeel no longer runs.
package cleanup

import (
	"context"

	"github.com/evenkeel/evenkeel/scorer/admission"
)

// Run cleans up until it is done or the context ends. The report lists what could not be
// removed.
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
