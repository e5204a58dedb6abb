package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

// ledgerName is the name of the ConfigMap in which Evenkeel stores its moves.
const ledgerName = "evenkeel-ledger"

// tally is the current state of a measurement.
type tally struct {
	score      *soak.Score
	moves      soak.Moves
	report     *soak.Report
	now        soak.Now
	patched    int // number until the previous minute
	ledger     int
	stuck      map[string]bool
	complaints int
}

// play starts everything and runs until the time is over or the context ends. The report
// is nil if the clock never started.
func (s *stage) play(ctx context.Context) (*soak.Report, error) {
	// An interrupt ends the run, but not the cluster, which the report still
	// needs.
	alive := context.WithoutCancel(ctx)
	if err := s.raise(alive); err != nil {
		return nil, err
	}
	driving, stop := context.WithCancel(alive)
	defer stop()
	d := newDriver(s)
	s.started = time.Now()
	if err := s.watchPods(driving, d.came); err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.Go(func() error { return d.run(driving) })
	defer func() {
		stop()
		_ = group.Wait() // it never fails
	}()
	if err := s.settle(ctx, d); err != nil {
		return nil, err
	}
	d.reset()
	alerts, err := s.watchAlerts(alive)
	if err != nil {
		return nil, err
	}
	end, err := s.makeTrouble(driving)
	if err != nil {
		return nil, err
	}
	report, err := s.measure(ctx, d)
	trouble, failed := end()
	if report == nil {
		return nil, errors.Join(err, failed)
	}
	fired, unknown := alerts(alive)
	report.Trouble, report.Alerts = trouble, fired
	report.Finish(s.flags.step)
	return report, errors.Join(err, failed, unknown)
}

// settle waits until every pod has the usage given by its series, and metrics-server has
// measured it.
func (s *stage) settle(ctx context.Context, d *driver) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	select {
	case <-ctx.Done():
		return fmt.Errorf("setting the usage of pods: %w", ctx.Err())
	case <-d.ready:
	}
	if err := s.Cluster.WaitMetrics(ctx); err != nil {
		return err
	}
	s.Tell("Usage follows %s, a step every %v. The clock starts.", s.traceID, s.flags.step)
	return nil
}

// measure samples until the duration has passed.
func (s *stage) measure(ctx context.Context, d *driver) (*soak.Report, error) {
	shape := s.flags.shape
	t := &tally{
		score: soak.NewScore(soak.ScoreConfig{Nodes: s.nodes, Node: shape.Node, Lines: s.lines, Every: s.flags.sample}),
		report: &soak.Report{
			Baseline: s.flags.baseline, Trace: s.traceID, Nodes: shape.Nodes, Pods: shape.Pods, Lines: s.lines,
		},
		stuck: map[string]bool{},
	}
	began := time.Now()
	s.roster.Begin(began)
	ticker := time.NewTicker(s.flags.sample)
	defer ticker.Stop()
	minutes := 0
	for {
		if err := s.sample(ctx, t); err != nil {
			return nil, err
		}
		elapsed := time.Since(began)
		if m := int(elapsed.Minutes()); m > minutes {
			minutes = m
			s.minute(ctx, t, d, m)
		}
		if elapsed >= s.flags.runFor || ctx.Err() != nil {
			return s.sumUp(t, d, elapsed)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// sample measures the nodes, the pods and the processes. It returns an error only if a
// process cannot be restarted.
func (s *stage) sample(ctx context.Context, t *tally) error {
	now := time.Now()
	t.now = t.score.Sample(s.roster.Usage(), now)
	for _, name := range s.roster.Pending(s.flags.pendingLimit, now) {
		t.stuck[name] = true
	}
	for _, r := range s.processes {
		died, err := r.revive()
		if err != nil {
			return err
		}
		if died {
			s.Tell("  %s ended by itself and was started again", r.name)
			continue
		}
		s.complain(t, r.measure(ctx))
		status, err := workshop.Fetch(ctx, http.DefaultClient, evenkeel.Reports(r.listen)+"/status")
		if err == nil {
			err = t.moves.Read([]byte(status))
		}
		s.complain(t, err)
	}
	return nil
}

// complain reports what could not be measured, up to a maximum number of times.
func (s *stage) complain(t *tally, err error) {
	const most = 20
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	if t.complaints++; t.complaints <= most {
		s.Tell("  %v", err)
	}
}

func (s *stage) minute(ctx context.Context, t *tally, d *driver, number int) {
	patches := d.patches()
	minute := soak.Minute{Minute: number, Now: t.now, Counts: s.roster.Counts(), Moves: t.moves.Counts(), Patches: patches.Made - t.patched}
	t.patched = patches.Made
	if !s.flags.baseline {
		size, err := s.ledgerSize(ctx)
		s.complain(t, err)
		t.ledger, t.report.LedgerPeakBytes = size, max(t.report.LedgerPeakBytes, size)
		minute.LedgerKB = float64(size) / 1000
		minute.Vitals = map[string]*soak.Vitals{}
		for _, r := range s.processes {
			minute.Vitals[r.name] = r.latest
		}
	}
	t.report.Timeline = append(t.report.Timeline, minute)
	s.Tell("%s", minute.Line())
}

// ledgerSize returns the size of the ledger's ConfigMap; 0 if there is none.
func (s *stage) ledgerSize(ctx context.Context) (int, error) {
	stored, err := s.Cluster.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Get(ctx, ledgerName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the ledger: %w", err)
	}
	size := 0
	for key, value := range stored.BinaryData {
		size += len(key) + len(value)
	}
	for key, value := range stored.Data {
		size += len(key) + len(value)
	}
	return size, nil
}

func (s *stage) sumUp(t *tally, d *driver, elapsed time.Duration) (*soak.Report, error) {
	t.score.Sample(s.roster.Usage(), time.Now()) // so that the time since the last sample counts, too
	report := t.report
	report.Minutes = elapsed.Minutes()
	report.Counts, report.Moves, report.Totals = s.roster.Counts(), t.moves.Counts(), t.score.Totals()
	report.Patches, report.LedgerBytes = d.patches(), t.ledger
	for _, name := range s.roster.Pending(s.flags.pendingLimit, time.Now()) {
		t.stuck[name] = true
	}
	report.Pending = slices.Sorted(maps.Keys(t.stuck))
	var errs []error
	for _, r := range s.processes {
		process, err := r.sumUp()
		report.Processes = append(report.Processes, process)
		errs = append(errs, err)
	}
	report.Finish(s.flags.step)
	return report, errors.Join(errs...)
}
