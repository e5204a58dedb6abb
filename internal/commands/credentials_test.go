package commands

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/internal/flags"
)

// A policy from elsewhere can name a file or Secret that only the caller is allowed to read.
// Commands that change nothing send its content to the policy's server only with
// --send-credentials.
func TestCredentialsAreNotSentUnasked(t *testing.T) {
	t.Parallel()
	commands := map[string]func(context.Context, flags.Options, io.Writer) error{
		"doctor": func(ctx context.Context, o flags.Options, out io.Writer) error {
			return Doctor(ctx, o, DoctorOptions{Format: "json", Mode: "serve"}, out)
		},
		"plan": func(ctx context.Context, o flags.Options, out io.Writer) error {
			return Plan(ctx, o, PlanOptions{Format: "table", Color: "never", Progress: out}, out)
		},
		"top": func(ctx context.Context, o flags.Options, out io.Writer) error {
			return Top(ctx, o, TopOptions{Format: "table", Color: "never", Progress: out}, out)
		},
		"explain": func(ctx context.Context, o flags.Options, out io.Writer) error {
			return Explain(ctx, o, ExplainOptions{Format: "table", Color: "never", Progress: out}, []string{"node", "n0"}, out)
		},
	}
	for name, command := range commands {
		for _, allowed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, allowed: %t", name, allowed), func(t *testing.T) {
				t.Parallel()
				var asked, sent atomic.Int32
				stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					if r.Header.Get("Authorization") == "Bearer mine" {
						sent.Add(1)
					}
					w.WriteHeader(http.StatusServiceUnavailable)
				}))
				defer stranger.Close()
				token := filepath.Join(t.TempDir(), "token")
				policy := filepath.Join(t.TempDir(), "policy.yaml")
				source := fmt.Sprintf("{type: Prometheus, prometheus: {address: %q, bearerTokenFile: %q}}, {type: MetricsServer}", stranger.URL, token)
				for file, text := range map[string]string{token: "mine", policy: strings.Replace(quick, "{type: MetricsServer}", source, 1)} {
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				var out bytes.Buffer
				kubeconfig := heatedServer(t, 2*time.Hour)
				if name == "doctor" || name == "top" {
					kubeconfig = apiServer(t, "")
				}
				options := flags.Options{Kubeconfig: kubeconfig, PolicyFile: policy, Namespace: "evenkeel", SendCredentials: allowed}
				err := command(t.Context(), options, &out)
				if (sent.Load() > 0) != allowed || !allowed && asked.Load() > 0 {
					t.Errorf("asked %d times, %d with the token; error %v and\n%s", asked.Load(), sent.Load(), err, out.String())
				}
				if name == "doctor" {
					for _, want := range []string{token, stranger.URL, "add --send-credentials", "run doctor again with --send-credentials"} {
						if strings.Contains(out.String(), want) == allowed {
							t.Errorf("does it contain %q: %v\n%s", want, !allowed, out.String())
						}
					}
				}
			})
		}
	}
}

// If no usage can be read, the error says why.
func TestPlanNamesWhatWasNotSent(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := strings.Replace(quick, "{type: MetricsServer}", "{type: Prometheus, prometheus: {address: 'https://stranger.example', bearerTokenSecret: {namespace: kube-system, name: admin, key: token}}}", 1)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Plan(t.Context(), flags.Options{Kubeconfig: heatedServer(t, 2*time.Hour), PolicyFile: policy}, PlanOptions{Format: "table", Progress: io.Discard}, &out)
	want := `"token" of Secret kube-system/admin, read with your rights, to https://stranger.example; if you trust that server with it, add --send-credentials`
	if said := strings.Join(strings.Fields(fmt.Sprint(err, out.String())), " "); !strings.Contains(said, want) {
		t.Errorf("want %q in %s", want, said)
	}
}

// A plan depends only on real usage, so it does not read the token that the policy names for upstream's plugins.
func TestPlanReadsNoTokenForOtherPlugins(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders: [{source: Prometheus, prometheus: {url: "https://stranger.example", authToken: {secretReference: {namespace: kube-system, name: admin}}}}]
profiles:
  - name: default
    pluginConfig: [{name: DefaultEvictor}, {name: RealUsageLowNodeUtilization}]
    plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}
` + quick
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Plan(t.Context(), flags.Options{Kubeconfig: heatedServer(t, 2*time.Hour), PolicyFile: policy}, PlanOptions{Format: "table", Progress: io.Discard}, &out)
	if err != nil || !strings.Contains(out.String(), "Hot nodes:      1 of 2, all cooled") {
		t.Errorf("error %v and\n%s", err, out.String())
	}
}
