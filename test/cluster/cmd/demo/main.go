// Command demo shows what Evenkeel does, on a real control plane on this
// machine: two nodes are hot although they look emptiest by requests, Evenkeel
// cools them with the fewest evictions, and kube-scheduler puts every pod where
// the plan said.
package main

import (
	"context"
	"os"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
)

// limit bounds the demo once everything is built.
const limit = 6 * time.Minute

func main() { os.Exit(workshop.Main("\ndemo", run)) }

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
