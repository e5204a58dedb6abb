// Package commands holds the commands that run no process of their own: commands that
// read files (lint, convert), commands that observe a cluster without changing it (plan,
// top, doctor, explain, history) or show what a process observes (ui), and commands that
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

// waitFor waits, and reports whether the context is still alive.
func waitFor(ctx context.Context, d time.Duration) bool {
	evictor.Sleep(ctx, d)
	return ctx.Err() == nil
}
