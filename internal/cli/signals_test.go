package cli

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// A signal ends a command's context. A command that does not end because of it is abandoned after a
// while, and at once on a second signal.
func TestUntilSignalled(t *testing.T) {
	const patience = 20 * time.Second
	obeys := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	finishes := func(ctx context.Context) error { <-ctx.Done(); time.Sleep(patience / 2); return nil }
	for name, tc := range map[string]struct {
		command func(context.Context) error
		signals []os.Signal // one second apart
		want    int
		took    time.Duration
	}{
		"it ends on its own":   {command: func(context.Context) error { return nil }},
		"the plan has moves":   {command: func(context.Context) error { return exit.ErrDiffers }, want: 1},
		"it fails on its own":  {command: func(context.Context) error { return exit.Usagef("no") }, want: exit.Misuse},
		"it obeys":             {command: obeys, signals: []os.Signal{syscall.SIGINT}, want: 130, took: time.Second},
		"it finishes its work": {command: finishes, signals: []os.Signal{syscall.SIGTERM}, took: time.Second + patience/2},
		"it does not end":      {command: stuck, signals: []os.Signal{syscall.SIGTERM}, want: 143, took: time.Second + patience},
		"a second signal":      {command: stuck, signals: []os.Signal{syscall.SIGTERM, syscall.SIGINT}, want: 130, took: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, signals := time.Now(), make(chan os.Signal, len(tc.signals))
				go func() {
					for _, s := range tc.signals {
						time.Sleep(time.Second)
						signals <- s
					}
				}()
				got := untilSignalled(signals, patience, tc.command)
				if took := time.Since(begun); got != tc.want || took != tc.took {
					t.Errorf("exit code %d after %v, want %d after %v", got, took, tc.want, tc.took)
				}
				time.Sleep(2 * time.Hour) // until the abandoned command has ended
			})
		})
	}
}

// stuck ignores its context and ends too late.
func stuck(context.Context) error { time.Sleep(time.Hour); return nil }
