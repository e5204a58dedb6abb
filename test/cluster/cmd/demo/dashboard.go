package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/monitoring"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// board watches the demo as a dashboard would: with a Prometheus and an extender that
// only observes.
type board struct {
	prometheus *prometheus.Server
	observer   *evenkeel.Process
	// extender and metrics are the addresses of the observing extender.
	extender, metrics string
	// empty holds the dashboard's queries that returned no data.
	empty []monitoring.Query
}

const (
	// memoryLimit is GOMEMLIMIT in the shipped Deployment.
	memoryLimit = "900MiB"
	// scrapeEvery is short enough for rates over a minute.
	scrapeEvery = 5 * time.Second
	// judgedWithin bounds the wait until moves are judged, which happens a minute after they
	// landed.
	judgedWithin = 2 * time.Minute
)

func newBoard() (b *board, err error) {
	b = &board{}
	if err := os.Setenv("GOMEMLIMIT", memoryLimit); err != nil { // for the processes that are started from now on
		return nil, err
	}
	if b.extender, err = evenkeel.FreeAddress(); err != nil {
		return nil, err
	}
	b.metrics, err = evenkeel.FreeAddress()
	return b, err
}

// watch starts the Prometheus and the extender.
func (b *board) watch(ctx context.Context, s *show, kubeconfig, policy string) (err error) {
	b.observer, err = evenkeel.Start(s.binary, filepath.Join(s.dir, "observer.log"),
		"extender", "--kubeconfig", kubeconfig, "--namespace", evenkeel.Namespace, "--policy-config-file", policy,
		"--listen-address", b.extender, "--metrics-address", b.metrics)
	if err != nil {
		return err
	}
	if err := b.observer.WaitServing(ctx, "http://"+b.metrics+"/livez"); err != nil {
		return err
	}
	b.prometheus, err = monitoring.Watch(ctx, s.dir, scrapeEvery, s.metrics, b.metrics)
	return err
}

func (b *board) stop() (err error) {
	if b == nil {
		return nil
	}
	if b.prometheus != nil {
		err = b.prometheus.Stop()
	}
	if b.observer != nil {
		err = errors.Join(err, b.observer.Stop())
	}
	return err
}

// panels lists the dashboard's queries that have had no data since the start. It waits
// until everything in the story has been scraped and its moves have been judged.
func (s *show) panels(ctx context.Context) (err error) {
	if s.board == nil {
		return nil
	}
	s.chapter("The dashboard")
	s.say("A minute after they landed, moves are judged by whether they have helped.")
	if err := s.board.judged(ctx); err != nil {
		return err
	}
	if s.board.empty, err = monitoring.Empty(ctx, s.board.prometheus, time.Since(s.started)); err != nil {
		return err
	}
	for _, query := range s.board.empty {
		s.say("no data: %s: %s", query.Panel, query.Expr)
	}
	s.say("%d queries had no data.", len(s.board.empty))
	return nil
}

// judged waits until a move has been judged and there have been two more scrapes, which a
// rate requires.
func (b *board) judged(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, judgedWithin, fmt.Errorf("no move was judged within %v", judgedWithin))
	defer cancel()
	wait := func(d time.Duration) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
			return nil
		}
	}
	for {
		samples, err := b.prometheus.Query(ctx, "evenkeel_moves_evaluated_total > 0")
		if err != nil {
			return err
		}
		if len(samples) > 0 {
			return wait(2*scrapeEvery + time.Second)
		}
		if err := wait(scrapeEvery); err != nil {
			return err
		}
	}
}
