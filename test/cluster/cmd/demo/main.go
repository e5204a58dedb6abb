// Command demo shows what Evenkeel does, on a real control plane on this machine: two
// nodes are hot although they look emptiest by requests, Evenkeel cools them with the
// fewest evictions, and kube-scheduler puts every pod on its planned node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// limit is the time limit for the demo once everything is built.
const limit = 6 * time.Minute

func main() {
	steering := flag.String("steering", byExtender, "how replacements are steered: extender, or where kube-scheduler asks nobody admission, or webhook as before Kubernetes 1.36")
	ui := flag.Bool("ui", false, "print the address of Evenkeel's page, and keep it open after the story until Ctrl-C")
	dashboard := flag.Bool("dashboard", false, "have Prometheus scrape Evenkeel, and list the queries of its dashboard that had no data")
	flag.Parse()
	if !slices.Contains([]string{byExtender, byAdmission, byWebhook}, *steering) || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(workshop.Main("\ndemo", func(ctx context.Context) error { return run(ctx, *steering, *ui, *dashboard) }))
}

func run(ctx context.Context, steering string, ui, dashboard bool) error {
	s, err := newShow(ctx, os.Stdout, steering)
	if err != nil {
		return err
	}
	defer s.close()
	s.ui = ui
	if dashboard {
		if s.board, err = newBoard(); err != nil {
			return err
		}
	}
	if err := s.tell(ctx); err != nil {
		return err
	}
	if err := s.verdict(); err != nil {
		return err
	}
	if ui {
		s.say("The page stays at %s/ until Ctrl-C.", evenkeel.Reports(s.listen))
		<-ctx.Done()
	}
	return os.RemoveAll(s.dir)
}

// tell runs one act after another. Processes started by acts run until ctx ends, so they
// outlast the story. The end of ctx also ends a story that takes too long.
func (s *show) tell(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	late := fmt.Errorf("the demo takes longer than %v", limit)
	defer time.AfterFunc(limit, func() { cancel(late) }).Stop()
	for _, act := range []func(context.Context) error{s.raise, s.before, s.cool, s.newPods, s.after, s.panels} {
		if err := act(ctx); err != nil {
			if errors.Is(context.Cause(ctx), late) {
				return errors.Join(late, err)
			}
			return err
		}
	}
	return nil
}
