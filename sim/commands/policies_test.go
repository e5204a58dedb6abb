package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/status"
)

// quick is a LoadPolicy that judges nodes by their newest readings.
const quick = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sources: [{type: MetricsServer}], sampleInterval: 5s, observationPeriod: 5s, maxAge: 30s}
hot: {windows: [last], consecutiveSamples: 1, minWindow: 1s, startup: 0s}
`

const duplicatesOnly = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: default
    pluginConfig: [{name: DefaultEvictor}, {name: RemoveDuplicates}]
    plugins: {balance: {enabled: [RemoveDuplicates]}}
` + quick

// A policy that moves nothing by real usage evicts nothing in a replay either, and a note reports
// that.
func TestSimulateAPolicyThatMovesNothingByUsage(t *testing.T) {
	for text, want := range map[string]bool{
		duplicatesOnly: false,
		quick:          true,
		quick + "eviction: {defaultProfile: false}\n":                                         false,
		strings.ReplaceAll(duplicatesOnly, "RemoveDuplicates", "RealUsageLowNodeUtilization"): true,
		strings.ReplaceAll(duplicatesOnly, "RemoveDuplicates", "ReturnPodsToPreferredNodes"):  true,
	} {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		writeText(t, file, text)
		var notes bytes.Buffer
		o := SimulateOptions{Policies: []string{file}, Notes: &notes}
		variants, err := o.variants()
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(notes.String(), status.NothingByUsage); variants[0].Evicts != want || said == want {
			t.Errorf("evicts %v, want %v, with the notes %q, for\n%s", variants[0].Evicts, want, notes.String(), text)
		}
	}
}

// withArgs returns a policy with arguments for RealUsageLowNodeUtilization.
func withArgs(args string) string {
	moves := strings.ReplaceAll(duplicatesOnly, "RemoveDuplicates", "RealUsageLowNodeUtilization")
	return strings.ReplaceAll(moves, "{name: RealUsageLowNodeUtilization}", "{name: RealUsageLowNodeUtilization, args: "+args+"}")
}

// A replay uses the arguments that a policy gives its strategies: thresholds, and everything else
// by which a strategy plans.
func TestSimulatePlaysTheArguments(t *testing.T) {
	evictions := func(args string) int {
		file := filepath.Join(t.TempDir(), "p.yaml")
		writeText(t, file, withArgs(args))
		return simulated(t, func(o *SimulateOptions) {
			o.Generate, o.Compare, o.Policies, o.Run.Steps, o.Run.WarmUp = "dense", nil, []string{file}, 24, 0
			o.Dense.Pods, o.Dense.LoadPercent = 30, 72
		})["p.yaml"].Evictions
	}
	shipped := evictions("{}")
	if shipped == 0 {
		t.Fatal("nothing is evicted without arguments")
	}
	if got := evictions("{thresholds: {cpu: 30}, targetThresholds: {cpu: 50}}"); got <= shipped {
		t.Errorf("%d evictions at a threshold of 50%%, %d at the policy's", got, shipped)
	}
	for _, args := range []string{
		"{targetThresholds: {cpu: 90}}", "{numberOfNodes: 100}", "{evictableNamespaces: {exclude: [fleet]}}",
	} {
		if got := evictions(args); got != 0 {
			t.Errorf("%d evictions with %s", got, args)
		}
	}
}

// A replay refuses a policy with which no process would start.
func TestSimulateRefusesWhatRunRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"{targetThresholds: {cpu: 30}}": "lines[cpu].low: Invalid value: 45: must be below the reject line (27)",
		"{thresholds: {memor: 30}}":     "thresholds[memor]",
	} {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		writeText(t, file, withArgs(args))
		o := SimulateOptions{Policies: []string{file}, Notes: &bytes.Buffer{}}
		if _, err := o.variants(); exit.Code(err) != exit.Misuse || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: exit code %d for %v, want one that names %s", args, exit.Code(err), err, want)
		}
	}
}

// A policy from somebody else can name a file that only the caller is allowed to read. A recording
// sends its content to the policy's server only if explicitly allowed.
func TestCredentialsAreNotSentUnasked(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("allowed: %t", allowed), func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var asked, sent atomic.Int32
			stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.Header.Get("Authorization") == "Bearer mine" {
					sent.Add(1)
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			defer stranger.Close()
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch query := r.URL.Query(); {
				case query.Get("sendInitialEvents") != "":
					w.WriteHeader(http.StatusUnprocessableEntity) // like an API server without streaming lists
					_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
				case query.Get("watch") != "":
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				case strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/"): // the next source, after the first was queried or skipped
					stop()
				case r.URL.Path == "/api/v1/nodes":
					_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"n0","uid":"n0"},"status":{
						"allocatable":{"cpu":"10","memory":"64Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}]}`)
				case r.URL.Path == "/api/v1/pods":
					_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
				default:
					_, _ = io.WriteString(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0","metadata":{"resourceVersion":"5"},"items":[]}`)
				}
			}))
			defer api.Close()
			dir := t.TempDir()
			token, policy, kubeconfig := filepath.Join(dir, "token"), filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "kubeconfig")
			source := fmt.Sprintf("{type: Prometheus, prometheus: {address: %q, bearerTokenFile: %q}}, {type: MetricsServer}", stranger.URL, token)
			writeText(t, token, "mine")
			writeText(t, policy, strings.Replace(quick, "{type: MetricsServer}", source, 1))
			writeText(t, kubeconfig, fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
				"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", api.URL))
			options := flags.Options{Kubeconfig: kubeconfig, PolicyFile: policy, Namespace: "evenkeel", SendCredentials: allowed}
			err := Record(ctx, options, RecordOptions{Out: filepath.Join(dir, "day.gz"), Interval: 5 * time.Second, Progress: io.Discard}, io.Discard)
			if !errors.Is(ctx.Err(), context.Canceled) {
				t.Fatalf("the second source was not asked: %v", err)
			}
			if (sent.Load() > 0) != allowed || !allowed && asked.Load() > 0 {
				t.Errorf("asked %d times, %d with the token; error %v", asked.Load(), sent.Load(), err)
			}
		})
	}
}

// Unknown color modes are rejected at once.
func TestColor(t *testing.T) {
	o := NewSimulateOptions()
	o.Color = "sometimes"
	err := Simulate(t.Context(), o, &bytes.Buffer{}, nil)
	if want := `--color: "sometimes" is not one of auto|always|never`; err == nil || err.Error() != want || exit.Code(err) != exit.Misuse {
		t.Errorf("error %v with exit code %d, want %q with %d", err, exit.Code(err), want, exit.Misuse)
	}
}
