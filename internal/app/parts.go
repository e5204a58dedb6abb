package app

import (
	"context"
	"io"

	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// parts is what a process needs.
type parts struct {
	evicting bool // runs cycles
	serving  bool // answers kube-scheduler
	marking  bool // only publishes on nodes
	// onlyRealUsage drops every other plugin of the policy: plan shows what
	// Evenkeel's own would do.
	onlyRealUsage bool
	// notes is where to print how a legacy policy was converted, instead of the
	// log.
	notes io.Writer
	// execute replaces the Executor: plan only prints.
	execute func(ctx context.Context, made realusage.Made)
}

// once reports whether the process ends after one cycle.
func (p *parts) once(options *Options) bool { return p.evicting && !options.loops() }
