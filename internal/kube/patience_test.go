package kube

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// Attempts continue for as long as needed, with short delays at first. They count as progress
// throughout and are logged once a minute.
func TestPersist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) { lines.WriteString(args + "\n") }, funcr.Options{}))
		began, alive, longest := time.Now(), time.Now(), time.Duration(0)
		err := Persist(ctx, func() {
			longest = max(longest, time.Since(alive))
			alive = time.Now()
		}, func(context.Context) error {
			if time.Since(began) < time.Hour {
				return errors.New("connection refused")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if late := time.Since(began) - time.Hour; late > 20*time.Second || longest > 20*time.Second {
			t.Errorf("%v late, %v between two attempts", late, longest)
		}
		if got := strings.Count(lines.String(), "\n"); got > 62 || !strings.Contains(lines.String(), "Problem is over") {
			t.Errorf("%d lines in an hour:\n%s", got, lines.String())
		}
	})
}

// An attempt that is cut off may return any error. Discovery, for example, does not wrap the
// context's error. A process that is stopped while it starts ends without an error.
func TestPersistIsStoppedDuringAnAttempt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	err := Persist(ctx, func() {}, func(context.Context) error {
		stop()
		return errors.New("unable to retrieve the complete list of server APIs")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// Attempts end if waiting cannot help: on a user error, or when the process is stopped.
func TestPersistEnds(t *testing.T) {
	mistake := exit.Usagef("there is no such class")
	stopped := context.Canceled
	cases := map[string]struct {
		fails   error
		stopped bool
		want    error
	}{
		"a mistake":                    {fails: mistake, want: mistake},
		"stopped while it waits":       {fails: errors.New("refused"), stopped: true, want: stopped},
		"stopped during an attempt":    {fails: stopped, stopped: true, want: stopped},
		"stopped after the last error": {fails: mistake, stopped: true, want: mistake},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if tc.stopped {
					time.AfterFunc(500*time.Millisecond, stop)
				}
				if err := Persist(ctx, func() {}, func(context.Context) error { return tc.fails }); !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
			})
		})
	}
}
