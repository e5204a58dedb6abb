package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
)

const (
	// firstDelay and mostDelay are the first and the longest delay between two attempts; the
	// delay doubles each time.
	firstDelay, mostDelay = time.Second, 15 * time.Second
	// toldEvery is how often a lasting problem is logged.
	toldEvery = time.Minute
)

// Persist calls try until it succeeds or the context ends, with growing delays. It gives
// up only on user errors. It calls alive before each attempt, and limits how often errors
// are logged.
func Persist(ctx context.Context, alive func(), try func(context.Context) error) error {
	trouble := Trouble{Message: "Cannot start yet, trying again"}
	for delay := firstDelay; ; delay = min(2*delay, mostDelay) {
		alive()
		err := try(ctx)
		if err == nil || exit.Code(err) == exit.Misuse {
			trouble.Note(ctx, nil)
			return err
		}
		if ctx.Err() != nil { // the error of an interrupted attempt does not matter
			trouble.Note(ctx, nil)
			return ctx.Err()
		}
		trouble.Note(ctx, err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait.Jitter(delay, 0.2)):
		}
	}
}

// Trouble logs a lasting problem: when it begins, every minute while it lasts, and when
// it ends. It is safe for concurrent use.
type Trouble struct {
	Message string

	mu            sync.Mutex
	began, logged time.Time
}

// Note records the result of an attempt and returns how long the problem has
// lasted; 0 if there is none.
func (t *Trouble) Note(ctx context.Context, err error) (lasted time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil && t.began.IsZero():
		return 0
	case err == nil:
		klog.FromContext(ctx).Info("Problem is over", "problem", t.Message, "lasted", now.Sub(t.began))
		t.began, t.logged = time.Time{}, time.Time{}
		return 0
	case t.began.IsZero():
		t.began = now
	}
	lasted = now.Sub(t.began)
	if t.logged.IsZero() || now.Sub(t.logged) >= toldEvery {
		t.logged = now
		klog.FromContext(ctx).Error(err, t.Message, "lasting", lasted)
	}
	return lasted
}
