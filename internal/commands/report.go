// Package commands implements the commands other than long-running processes: those that
// read files (lint, convert), those that inspect a cluster without changing it (plan,
// top, doctor, explain, history) or show what a process observes (ui), and those that
// remove what processes left behind (cleanup, nodesync --remove).
package commands

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/evenkeel/evenkeel/evictor"
)

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

// waitFor waits for the given duration. It returns false if the context ended first.
func waitFor(ctx context.Context, d time.Duration) bool {
	evictor.Sleep(ctx, d)
	return ctx.Err() == nil
}
