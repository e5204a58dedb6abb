package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

const (
	// patchers is the maximum number of concurrent patches. It is low, because the API
	// server shares the machine with the measured processes.
	patchers = 8
	// driveEvery is how often usage is checked. Replicas change at different times within
	// their step.
	driveEvery = time.Second
	// patchWithin bounds one patch.
	patchWithin = 10 * time.Second
)

// driver updates the usage on pods.
type driver struct {
	stage *stage
	// nudge makes the driver check immediately, because a new pod has appeared.
	nudge chan struct{}
	// ready is closed once every pod has its first usage.
	ready chan struct{}

	mu    sync.Mutex
	done  soak.Patches
	total time.Duration
}

func newDriver(s *stage) *driver {
	return &driver{stage: s, nudge: make(chan struct{}, 1), ready: make(chan struct{})}
}

func (d *driver) came() {
	select {
	case d.nudge <- struct{}{}:
	default:
	}
}

// run updates usage until the context ends. A failed patch is retried at the next check.
func (d *driver) run(ctx context.Context) error {
	ticker := time.NewTicker(driveEvery)
	defer ticker.Stop()
	d.look(ctx)
	close(d.ready)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-d.nudge:
		}
		d.look(ctx)
	}
}

// look patches all pods whose usage has changed.
func (d *driver) look(ctx context.Context) {
	began := time.Now()
	due := d.stage.roster.Due(began.Sub(d.stage.started))
	var group errgroup.Group
	group.SetLimit(patchers)
	for _, change := range due {
		group.Go(func() error {
			d.patch(ctx, change, time.Since(began))
			return nil
		})
	}
	_ = group.Wait() // the functions never return errors
}

func (d *driver) patch(ctx context.Context, change soak.Change, late time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patchWithin)
	defer cancel()
	began := time.Now()
	err := d.stage.Cluster.SetUsage(ctx, namespace, change.Name, resources(change.Used))
	if apierrors.IsNotFound(err) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done.LateSeconds = max(d.done.LateSeconds, late.Seconds())
	if err != nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			d.done.Failed++
		}
		d.stage.roster.Untold(change.UID)
		return
	}
	d.done.Made++
	d.total += time.Since(began)
}

func (d *driver) patches() soak.Patches {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := d.done
	if done.Made > 0 {
		done.MeanMilliseconds = float64(d.total.Microseconds()) / 1000 / float64(done.Made)
	}
	return done
}

// reset resets the counts, because the start-up is not part of the run.
func (d *driver) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done, d.total = soak.Patches{}, 0
}
