package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/status"
)

// annotated returns a list of nodes with 10 cores each. Their Crane annotations contain the given
// CPU usage in percent, timestamped by the server's clock.
func annotated(percents ...int) string {
	stamp := time.Now().UTC().Format("2006-01-02T15:04:05Z")
	var nodes []string
	for i, percent := range percents {
		nodes = append(nodes, fmt.Sprintf(`{"metadata":{"name":"n%d","annotations":{"cpu_usage_avg_5m":"0.%02d000,%s","mem_usage_avg_5m":"0.10000,%s"}},"status":{
			"allocatable":{"cpu":"10","memory":"64Gi","pods":"110"},"capacity":{"cpu":"10","memory":"64Gi","pods":"110"},
			"conditions":[{"type":"Ready","status":"True"}]}}`, i, percent, stamp, stamp))
	}
	return strings.Join(nodes, ",")
}

// emptyCluster answers lists with the given nodes and no other objects, and fails the test on every
// write. If pause is given, the kill switch exists and contains that data.
func emptyCluster(t *testing.T, nodes string, pause ...string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(emptyAPI(t, nodes, pause...))
	t.Cleanup(server.CloseClientConnections)
	return kubeconfigOf(t, server.URL)
}

// emptyAPI returns the handler of such a cluster's API server.
func emptyAPI(t *testing.T, nodes string, pause ...string) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		items := ""
		if r.URL.Path == "/api/v1/nodes" {
			items = nodes
		}
		switch query := r.URL.Query(); {
		case r.Method != http.MethodGet:
			t.Errorf("%s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusForbidden)
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
		case query.Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.URL.Path == "/version":
			_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.0"}`))
		case r.URL.Path == "/api" || r.URL.Path == "/apis":
			_, _ = w.Write([]byte(`{}`))
		case len(pause) > 0 && strings.HasSuffix(r.URL.Path, "/namespaces/evenkeel/configmaps/evenkeel-pause"):
			_, _ = fmt.Fprintf(w, `{"kind":"ConfigMap","apiVersion":"v1","data":%s}`, pause[0])
		case strings.Contains(r.URL.Path, "/namespaces/"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		default:
			kind := map[string]string{"/api/v1/nodes": `"kind":"NodeList","apiVersion":"v1",`, "/api/v1/pods": `"kind":"PodList","apiVersion":"v1",`}
			_, _ = fmt.Fprintf(w, `{%s"metadata":{"resourceVersion":"5"},"items":[%s]}`, kind[r.URL.Path], items)
		}
	})
}

// If no source is installed, commands do not wait for usage. If a source is installed but not ready
// yet, they do.
func TestUsageThatNeverComesIsNotWaitedFor(t *testing.T) {
	for code, failed := range map[int]bool{http.StatusNotFound: true, http.StatusForbidden: true, http.StatusServiceUnavailable: false, http.StatusOK: false} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			there := emptyAPI(t, annotated(81, 10, 20))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if code == http.StatusOK || !strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/") {
					there.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, strings.ReplaceAll(http.StatusText(code), " ", ""), code)
			}))
			t.Cleanup(server.CloseClientConnections)
			options := flags.Options{Kubeconfig: kubeconfigOf(t, server.URL), Namespace: "evenkeel"}
			for name, command := range map[string]func(context.Context) error{
				"plan": func(ctx context.Context) error {
					return Plan(ctx, options, PlanOptions{Format: "table", Progress: io.Discard}, io.Discard)
				},
				"explain": func(ctx context.Context) error {
					return Explain(ctx, options, ExplainOptions{Format: "table", Progress: io.Discard}, []string{"node", "n0"}, io.Discard)
				},
			} {
				patience := 4 * time.Second
				if failed {
					patience = time.Minute
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				err := command(ctx)
				if (ctx.Err() == nil) != failed || failed && (err == nil || !strings.Contains(err.Error(), "listing metrics of nodes")) {
					t.Errorf("%s: failed with %v, context %v", name, err, ctx.Err())
				}
			}
		})
	}
}

// An unknown node or pod is an error at once: explain does not wait for usage, which no source here
// ever reports.
func TestExplainReportsUnknownNamesAtOnce(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nusage: {observationPeriod: 10m}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{Kubeconfig: emptyCluster(t, annotated(81, 10, 20)), PolicyFile: policy, Namespace: "evenkeel"}
	for want, words := range map[string][]string{
		`node "nope" is not known; 3 nodes are known`:                                                      {"node", "nope"},
		`pod "nope" in namespace "shop" is not known: it runs on no node, and no move of it is remembered`: {"pod", "shop/nope"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var out bytes.Buffer
		err := Explain(ctx, options, ExplainOptions{Format: "table", Progress: &out}, words, &out)
		if !errors.Is(err, status.ErrUnknown) || err.Error() != want || out.Len() > 0 {
			t.Errorf("%q: %v, want %s\n%s", words, err, want, out.String())
		}
	}
}

// The test runs the whole command, from flags to output, on a cluster whose nodes report their
// usage. The command plans and writes nothing.
func TestExplainHere(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nusage:\n  sources:\n    - type: Annotations\n" +
		"      annotations: {unit: fraction, timezone: UTC}\nhot:\n  windows: [avg_5m]\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{Kubeconfig: emptyCluster(t, annotated(81, 10, 20)), PolicyFile: policy, Namespace: "evenkeel"}
	var out bytes.Buffer
	if err := Explain(t.Context(), options, ExplainOptions{Format: "table", Progress: &out}, []string{"node", "n0"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"n0 is hot since", "cpu avg_5m 81.0% is above the evict line 65%. No pod would be moved (HotThroughImmovable", "Annotations",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
