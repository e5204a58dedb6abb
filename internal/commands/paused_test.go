package commands

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/internal/flags"
)

// Commands that plan report that the kill switch is set, and why.
func TestPausedIsShown(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nusage:\n  sources:\n    - type: Annotations\n" +
		"      annotations: {unit: fraction, timezone: UTC}\nhot:\n  windows: [avg_5m]\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{
		Kubeconfig: emptyCluster(t, annotated(81, 10, 20), `{"reason":"incident 4711"}`), PolicyFile: policy, Namespace: "evenkeel",
	}
	const want = "evicting is paused by ConfigMap evenkeel/evenkeel-pause (incident 4711)"
	for name, run := range map[string]func(ctx context.Context, format string, out io.Writer) error{
		"plan": func(ctx context.Context, format string, out io.Writer) error {
			return Plan(ctx, options, PlanOptions{Format: format, Progress: io.Discard}, out)
		},
		"explain": func(ctx context.Context, format string, out io.Writer) error {
			return Explain(ctx, options, ExplainOptions{Format: format, Progress: io.Discard}, []string{"node", "n0"}, out)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for _, format := range []string{"table", "json"} {
				var out bytes.Buffer
				if err := run(ctx, format, &out); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(out.String(), want) {
					t.Errorf("-o %s does not say %q:\n%s", format, want, out.String())
				}
			}
		})
	}
}
