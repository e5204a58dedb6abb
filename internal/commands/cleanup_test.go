package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/internal/cleanup"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
)

// The test runs the whole command, from flags to exit code, in a cluster in which nothing is left.
func TestCleanup(t *testing.T) {
	for _, dryRun := range []bool{true, false} {
		var out bytes.Buffer
		options := flags.Options{Kubeconfig: apiServer(t, ""), Namespace: "evenkeel"}
		err := Cleanup(t.Context(), options, CleanupOptions{Format: "json", Timeout: time.Minute, DryRun: dryRun, Ledger: true}, &out)
		var report cleanup.Report
		if exit.Code(err) != exit.OK || json.Unmarshal(out.Bytes(), &report) != nil || report.Done == nil || report.Left == nil || report.DryRun != dryRun {
			t.Errorf("%v and\n%s", err, out.String())
		}
	}
}

func TestCleanupRefusesWrongFlags(t *testing.T) {
	for want, wanted := range map[string]CleanupOptions{
		"--output":  {Format: "xml", Timeout: time.Minute},
		"--timeout": {Format: "json"},
		"--mode":    {Format: "json", Timeout: time.Minute, Mode: "extender"},
	} {
		var out bytes.Buffer
		err := Cleanup(t.Context(), flags.Options{Kubeconfig: apiServer(t, "")}, wanted, &out)
		if exit.Code(err) != exit.Misuse || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s: %v, output %q", want, err, out.String())
		}
	}
}

// silent is an API server that reports its version and answers nothing else.
func silent(t *testing.T, asked chan<- string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`))
			return
		}
		select {
		case asked <- r.URL.Path:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL)
}

// Cleanup ends at its timeout or when interrupted, whatever hangs. It then does not claim that
// nothing is left.
func TestCleanupEnds(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan string, 1)
	go func() {
		<-asked
		cancel()
	}()
	for name, tc := range map[string]struct {
		ctx     context.Context
		asked   chan<- string
		timeout time.Duration
		want    func(error) bool
	}{
		"timeout": {t.Context(), nil, 200 * time.Millisecond, func(err error) bool {
			return exit.Code(err) == exit.Failure && strings.Contains(err.Error(), "--timeout")
		}},
		"interrupted": {interrupted, asked, time.Hour, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			options := flags.Options{Kubeconfig: silent(t, tc.asked), Namespace: "evenkeel"}
			err := Cleanup(tc.ctx, options, CleanupOptions{Format: "table", Timeout: tc.timeout}, &out)
			if !tc.want(err) || strings.Contains(out.String(), "Nothing is left") || !strings.Contains(out.String(), "run it again") {
				t.Errorf("%v and\n%s", err, out.String())
			}
		})
	}
}
