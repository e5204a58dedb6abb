// Command demo shows what Evenkeel does, on a real control plane on this machine: two nodes burn although they look the
// emptiest by requests, Evenkeel cools them with the fewest evictions, and kube-scheduler puts every pod where the plan said.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limit is how long the story may take once everything is built.
const limit = 6 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo: "+err.Error())
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	s, err := newShow(ctx, os.Stdout)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, act := range []func(context.Context) error{s.raise, s.before, s.cool, s.newPods, s.after} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return s.verdict()
}
