package workshop

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What was started last is stopped first. Something that cannot be stopped does not keep the rest
// running.
func TestClose(t *testing.T) {
	stuck := errors.New("stuck")
	var w Workshop
	var stopped []string
	for _, part := range []struct {
		name string
		err  error
	}{{"cluster", nil}, {"handler", stuck}, {"scheduler", nil}} {
		w.OnClose(func() error {
			stopped = append(stopped, part.name)
			return part.err
		})
	}
	if err := w.Close(); !errors.Is(err, stuck) {
		t.Errorf("got %v, want %v", err, stuck)
	}
	if err := w.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if diff := cmp.Diff([]string{"scheduler", "handler", "cluster"}, stopped); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestCleanUp(t *testing.T) {
	failed := errors.New("failed")
	cases := map[string]struct {
		err  error
		keep bool
		want bool
	}{
		"after success":                        {nil, false, false},
		"after success, to be kept":            {nil, true, true},
		"after an error":                       {failed, false, true},
		"after an error, and kept in any case": {failed, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var progress bytes.Buffer
			w := &Workshop{name: "test", progress: &progress}
			if err := w.makeDir(); err != nil {
				t.Fatal(err)
			}
			err := w.CleanUp(tc.err, tc.keep)
			if !errors.Is(err, tc.err) {
				t.Errorf("got %v, want %v", err, tc.err)
			}
			if _, missing := os.Stat(w.Dir); (missing == nil) != tc.want {
				t.Errorf("the logs are there: %t, want %t", missing == nil, tc.want)
			}
			said := progress.String()
			if err != nil {
				said += err.Error()
			}
			if strings.Contains(said, w.Dir) != tc.want {
				t.Errorf("the log folder is printed: %t, want %t", !tc.want, tc.want)
			}
		})
	}
}

// Without a log folder there is nothing to remove and no path to print.
func TestCleanUpBeforeStart(t *testing.T) {
	failed := errors.New("failed")
	var w Workshop
	if err := w.CleanUp(failed, false); !errors.Is(err, failed) || err.Error() != failed.Error() {
		t.Errorf("got %v, want %v", err, failed)
	}
}

func TestExitCode(t *testing.T) {
	for want, result := range []error{nil, errors.New("a test's own")} {
		if got := Main("test", func(context.Context) error { return result }); got != want {
			t.Errorf("%v: exit code %d, want %d", result, got, want)
		}
	}
}
