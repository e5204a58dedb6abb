package cleanup

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer/admission"
)

// keysAndGates first deletes keys, so that no more pods are held or restricted, and then
// releases the pods that are. It repeats this until it finds neither keys nor such pods.
func (c *cleaner) keysAndGates(ctx context.Context) {
	if c.After == NodeSync {
		return
	}
	began := c.Clock.Now()
	for range maxPasses {
		failures := len(c.report.Left)
		if found := c.keys(ctx) + c.gates(ctx) + c.stranded(ctx, began); found == 0 || c.DryRun || len(c.report.Left) > failures {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settling):
		}
	}
	c.left("Steering", "", "", "new keys or held pods keep appearing, so an Evenkeel process is still running: stop it first")
}

// keys deletes all Steerings and returns how many there were.
func (c *cleaner) keys(ctx context.Context) int {
	steerings, err := c.steering.Steerings(ctx)
	if err != nil {
		c.left("Steering", "", "", "%v", err)
	}
	attempts := tries{c: c, kind: "Steering", total: len(steerings)}
	for i := range steerings {
		of := &steerings[i]
		err := c.change(ctx, func(ctx context.Context) error { return c.steering.Delete(ctx, of.Namespace) })
		if attempts.fails(ctx, of.Namespace, of.Name(), err) {
			break
		}
		if err == nil {
			c.done("Steering", of.Namespace, of.Name(), "is", "deleted, with %s", reasons.Count(len(of.Ends), "key"))
		}
	}
	return len(steerings)
}

// gates releases all held pods and returns how many there were.
func (c *cleaner) gates(ctx context.Context) int {
	pods, err := c.steering.Held(ctx)
	if err != nil {
		c.left("Pod", "", "", "%v", err)
	}
	attempts := tries{c: c, kind: "Pod", total: len(pods)}
	for i := range pods {
		pod := &pods[i]
		err := c.change(ctx, func(ctx context.Context) error { return c.steering.LetGo(ctx, pod) })
		if attempts.fails(ctx, pod.Namespace, pod.Name, err) {
			break
		}
		if err == nil {
			c.done("Pod", pod.Namespace, pod.Name, "is", "freed of the gate %s", admission.Gate)
		}
	}
	return len(pods)
}

// stranded releases all pods that wait for the nodes to which they were restricted, and
// returns how many there were. It ignores pods created after the keys were deleted,
// because nothing restricted them.
func (c *cleaner) stranded(ctx context.Context, began time.Time) int {
	pods, err := c.steering.Stranded(ctx)
	if err != nil {
		c.left("Pod", "", "", "%v", err)
	}
	pods = slices.DeleteFunc(pods, func(pod v1.Pod) bool { return pod.CreationTimestamp.After(began) })
	attempts := tries{c: c, kind: "Pod", total: len(pods)}
	for i := range pods {
		pod := &pods[i]
		err := c.change(ctx, func(ctx context.Context) error { return c.steering.Release(ctx, pod) })
		if attempts.fails(ctx, pod.Namespace, pod.Name, err) {
			break
		}
		if err == nil {
			c.done("Pod", pod.Namespace, pod.Name, "is", "evicted, because none of the nodes that it was restricted to takes it")
		}
	}
	return len(pods)
}

// tries counts changes of one kind, and the number of consecutive failures.
type tries struct {
	c                  *cleaner
	kind               string
	total, made, inRow int
}

// fails records a failed change. It reports whether to give up, because too many changes
// have failed or time has run out.
func (t *tries) fails(ctx context.Context, namespace, name string, err error) (enough bool) {
	t.made++
	if err == nil {
		t.inRow = 0
		return false
	}
	t.inRow++
	t.c.left(t.kind, namespace, name, "%v", err)
	if t.inRow < maxFailures && ctx.Err() == nil {
		return false
	}
	if more := t.total - t.made; more > 0 {
		t.c.left(t.kind, "", "", "%d more were not tried", more)
	}
	return true
}
