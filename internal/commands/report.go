// Package commands holds the commands that look and print: those that read
// files (lint, convert), those that observe a cluster and change
// nothing (plan, top, doctor, explain, history) or show what a process
// observes (ui); and those that remove what processes left behind (cleanup,
// nodesync --remove). internal/app does not import it.
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
