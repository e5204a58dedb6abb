// Package cleanup removes what Evenkeel has left in a cluster outside its manifests: keys
// and gates of steering, what nodesync wrote on nodes and, on request, what it stored. It
// identifies Evenkeel's objects by their names and records, so it may be run repeatedly.
// It is meant for a cluster in which Evenkeel no longer runs.
package cleanup

import (
	"context"

	"github.com/evenkeel/evenkeel/scorer/admission"
)

// Run cleans up until the context ends. The report lists what cannot be
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
