package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// readyWithin is generous: on two idle cores, a part is ready within 1 to 3 seconds.
const readyWithin = 90 * time.Second

// Kill ends a part immediately, as a crash would. The part stays down until Restart.
func (c *Cluster) Kill(part Part) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[part]
	if p == nil || p.Ended() {
		return fmt.Errorf("killing %s: it is not running", part)
	}
	p.Kill()
	return nil
}

// Shutdown stops a part gracefully. The part stays down until Restart. It is not an error
// if the part is already down.
func (c *Cluster) Shutdown(part Part) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.processes[part]; p != nil {
		return p.Stop()
	}
	return nil
}

// Running reports whether a part's process is running.
func (c *Cluster) Running(part Part) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[part]
	return p != nil && !p.Ended()
}

// Restart stops a part if it is running, starts it again on the same port and
// waits until it is ready.
func (c *Cluster) Restart(ctx context.Context, part Part) error {
	if err := c.Shutdown(part); err != nil {
		return err
	}
	if err := waitPortFree(ctx, c.ports[part]); err != nil {
		return fmt.Errorf("restarting %s: %w", part, err)
	}
	if part == Kwok {
		// Otherwise, the new kwok would wait until the Leases of the old one have expired.
		if err := c.removeNodeLeases(ctx); err != nil {
			return fmt.Errorf("restarting %s: %w", part, err)
		}
	}
	if err := c.launch(part); err != nil {
		return err
	}
	if err := c.waitReady(ctx, part); err != nil || part != Kwok {
		return err
	}
	return c.wakeKwok(ctx)
}

// RestartScheduler restarts kube-scheduler with other extenders. Without any, it
// schedules alone.
func (c *Cluster) RestartScheduler(ctx context.Context, extenders ...schedulerv1.Extender) error {
	c.mu.Lock()
	c.options.Extenders = extenders
	c.mu.Unlock()
	if err := c.writeSchedulerConfig(); err != nil {
		return err
	}
	return c.Restart(ctx, Scheduler)
}

// PackNodes restarts kube-scheduler so that it prefers full nodes, or empty ones again.
func (c *Cluster) PackNodes(ctx context.Context, pack bool) error {
	c.mu.Lock()
	c.options.PackNodes = pack
	extenders := c.options.Extenders
	c.mu.Unlock()
	return c.RestartScheduler(ctx, extenders...)
}

func (c *Cluster) launch(part Part) error {
	p, err := StartProcess(string(part), filepath.Join(c.options.BinDir, string(part)), c.arguments(part), c.LogPath(part))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[part] = p
	return nil
}

// waitReady polls a part's readiness endpoint. It gives up as soon as the part's process
// has ended.
func (c *Cluster) waitReady(ctx context.Context, part Part) error {
	c.mu.Lock()
	p := c.processes[part]
	c.mu.Unlock()
	last := "no answer"
	err := wait.PollUntilContextTimeout(ctx, pollEvery, readyWithin, true, func(ctx context.Context) (bool, error) {
		if p.Ended() {
			return false, p.Failure()
		}
		body, status, err := c.get(ctx, c.urlOf(part)+readyPath(part))
		switch {
		case err != nil:
			last = err.Error()
		case status != http.StatusOK:
			last = fmt.Sprintf("status %d: %s", status, body)
		}
		return err == nil && status == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s (last: %s): %w", part, last, err)
	}
	return nil
}
