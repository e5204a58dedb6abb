package commands

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
)

// RemoveNodeSync runs `evenkeel nodesync --remove`: it removes what nodesync wrote to
// nodes.
func RemoveNodeSync(ctx context.Context, options flags.Options, out io.Writer) error {
	connection, err := options.Connect()
	if err != nil {
		return err
	}
	if err := connection.Reach(ctx); err != nil {
		return err
	}
	report, err := nodesync.Remove(ctx, connection.Client)
	_, _ = fmt.Fprintf(out, "Removed from %d nodes: %d annotations, %d labels, %d taints.\n",
		report.Nodes, report.Annotations, report.Labels, report.Taints)
	if len(report.Corrupt) > 0 {
		_, _ = fmt.Fprintf(out, "The record of what was written could not be read on these nodes: %s.\n", strings.Join(report.Corrupt, ", "))
	}
	return err
}
