package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/observe/requests"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status"
)

// measuredPods are pods of one Deployment with one container each.
type measuredPods struct {
	deployment, node string
	pods             int
	request, used    int64 // milli-cores
}

// measuredCluster is a cluster of three nodes with 10 cores whose metrics-server reports the pods' usage. answered
// answers other requests, and reports whether it did.
func measuredCluster(t *testing.T, answered func(http.ResponseWriter, *http.Request) bool, all ...measuredPods) (kubeconfig string) {
	t.Helper()
	there := emptyAPI(t, annotated(10, 10, 10))
	now := time.Now().UTC().Format(time.RFC3339)
	var pods, podMetrics []string
	used := map[string]int64{}
	for _, of := range all {
		for i := range of.pods {
			name := fmt.Sprintf("%s-5d4f8c7b9-%d", of.deployment, i)
			pods = append(pods, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","uid":%q,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"pod-template-hash":"5d4f8c7b9"},
				"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"%s-5d4f8c7b9","uid":"uid-%s","controller":true}]},
				"spec":{"nodeName":%q,"containers":[{"name":"main","resources":{"requests":{"cpu":"%dm","memory":"1Gi"}}}]},
				"status":{"phase":"Running","startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Ready","status":"True"}]}}`,
				name, name, of.deployment, of.deployment, of.node, of.request))
			podMetrics = append(podMetrics, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop"},"timestamp":%q,"window":"15s","containers":[{"name":"main","usage":{"cpu":"%dm","memory":"1Gi"}}]}`, name, now, of.used))
			used[of.node] += of.used
		}
	}
	var nodeMetrics []string
	for i := range 3 {
		name := fmt.Sprint("n", i)
		nodeMetrics = append(nodeMetrics, fmt.Sprintf(`{"metadata":{"name":%q},"timestamp":%q,"window":"15s","usage":{"cpu":"%dm","memory":"8Gi"}}`, name, now, used[name]+200))
	}
	answers := map[string]string{
		"/apis/metrics.k8s.io/v1beta1/nodes": listOf("NodeMetricsList", "metrics.k8s.io/v1beta1", nodeMetrics),
		"/apis/metrics.k8s.io/v1beta1/pods":  listOf("PodMetricsList", "metrics.k8s.io/v1beta1", podMetrics),
		"/api/v1/pods":                       listOf("PodList", "v1", pods),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answered(w, r) {
			return
		}
		answer, ok := answers[r.URL.Path]
		if r.URL.Path == "/api/v1/namespaces/shop/pods" {
			_, name, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "metadata.name=")
			named := slices.DeleteFunc(slices.Clone(pods), func(pod string) bool { return !strings.Contains(pod, fmt.Sprintf(`"name":%q`, name)) })
			answer, ok = listOf("PodList", "v1", named), true
		}
		if !ok || r.URL.Query().Get("watch") != "" || r.Method != http.MethodGet {
			there.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.CloseClientConnections)
	return kubeconfigOf(t, server.URL)
}

// relieving returns a move that relieved a node of a pod of a Deployment.
func relieving(deployment, pod string) ledger.Move {
	return ledger.Move{
		Intent: ledger.Intent{
			Namespace: "shop", Pod: pod, PodUID: pod, From: "n1", To: "n2", TemplateHash: "5d4f8c7b9", Relieves: true,
			Owner: cluster.Owner{UID: "uid-" + deployment, Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9"},
		},
		State: ledger.Landed, Node: "n2", Replacement: "new-" + pod, Accepted: true, Recorded: time.Now(), Evicted: time.Now(), Ended: time.Now(),
	}
}

// storedMoves answers requests for the ledger.
func storedMoves(t *testing.T, moves ...ledger.Move) func(http.ResponseWriter, *http.Request) bool {
	t.Helper()
	packed, err := ledger.Document{Generation: 1, Writer: "w", Written: time.Now(), Moves: moves}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(&v1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-ledger", Namespace: "evenkeel"},
		BinaryData: map[string][]byte{configmap.Key: packed},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/namespaces/evenkeel/configmaps/evenkeel-ledger" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(stored)
		return true
	}
}

func listOf(kind, version string, items []string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, version, strings.Join(items, ","))
}

// The test runs the whole command: after one reading of usage, it names the owner that made a node hot.
func TestRequestsNamesTheCause(t *testing.T) {
	notMade := relieving("web", "w3")
	notMade.State, notMade.Evicted, notMade.Accepted, notMade.Replacement, notMade.Node = ledger.Cancelled, time.Time{}, false, "", ""
	options := flags.Options{Namespace: "evenkeel", Kubeconfig: measuredCluster(t, storedMoves(t, relieving("web", "w1"), relieving("web", "w2"), relieving("db", "d1"), notMade),
		measuredPods{"web", "n1", 8, 100, 900}, measuredPods{"db", "n1", 1, 1000, 900}, measuredPods{"batch", "n2", 2, 50, 400}, measuredPods{"api", "n0", 2, 500, 300},
	)}
	run := func(t *testing.T, wanted RequestsOptions) (out string, err error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var printed bytes.Buffer
		err = Requests(ctx, options, wanted, &printed)
		return printed.String(), err
	}
	for name, tc := range map[string]struct {
		wanted RequestsOptions
		owners []string
	}{
		"hot nodes":    {RequestsOptions{}, []string{"web"}},
		"one node":     {RequestsOptions{Nodes: []string{"n1"}}, []string{"web"}},
		"all requests": {RequestsOptions{All: true}, []string{"web", "batch"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.wanted.Format = "json"
			out, err := run(t, tc.wanted)
			if err != nil {
				t.Fatal(err)
			}
			var report status.Requests
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatal(err)
			}
			if len(report.Notes) > 0 {
				t.Errorf("notes %q", report.Notes)
			}
			var owners []string
			for _, f := range report.Owners {
				owners = append(owners, f.Name)
			}
			if strings.Join(owners, " ") != strings.Join(tc.owners, " ") || len(report.Nodes) != 1 || report.Nodes[0].Name != "n1" || report.Kind != status.RequestsKind {
				t.Fatalf("owners %v, want %v, and n1:\n%s", owners, tc.owners, out)
			}
			f := &report.Owners[0]
			if f.Verdict != requests.TooLow || f.HeatPercent != 100 || f.Advice == nil || f.Advice.RequestMilliCores < 850 || f.Advice.RequestMilliCores > 1000 || !f.Provisional() || f.RequestMilliCores != 100 || f.Evictions != 2 {
				t.Errorf("%+v", f)
			}
		})
	}
	t.Run("table", func(t *testing.T) {
		out, err := run(t, RequestsOptions{Format: "table"})
		for _, want := range []string{"3 nodes, 1 hot by CPU", "shop/web 100%", "ask for 900m", "Provisional: "} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v; no %q in\n%s", err, want, out)
			}
		}
		for line := range strings.Lines(out) {
			if len([]rune(strings.TrimRight(line, "\n"))) > 100 {
				t.Errorf("a line is too long: %s", line)
			}
		}
	})
	t.Run("a node that is not hot", func(t *testing.T) {
		if out, err := run(t, RequestsOptions{Format: "table", Nodes: []string{"n2"}}); err == nil || out != "" {
			t.Errorf("error %v; printed %s", err, out)
		}
	})
}

// A process is asked for what it knows.
func TestRequestsAsksAProcess(t *testing.T) {
	report := status.NewRequests(requests.Report{Owners: []requests.Finding{{Namespace: "shop", Name: "web", Verdict: requests.TooLow, HeatMilliCores: 5, MinutesKnown: 600}}}, 3, time.Now().Add(-20*time.Second))
	for name, tc := range map[string]struct {
		report status.Requests
		fails  bool
	}{"that observes": {report, false}, "that has just started": {status.Requests{}, true}} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("/requests", extender.Report(func(*http.Request) (any, error) { return tc.report, nil }))
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			var out bytes.Buffer
			err := Requests(t.Context(), flags.Options{}, RequestsOptions{Format: "table", Extender: remote.Extender{URL: server.URL}}, &out)
			if (err != nil) != tc.fails || strings.Contains(out.String(), "shop/web") == tc.fails || strings.Contains(out.String(), "Provisional") {
				t.Errorf("error %v; printed\n%s", err, out.String())
			}
		})
	}
}

func TestRequestsRefuses(t *testing.T) {
	good := RequestsOptions{Format: "table"}
	for want, change := range map[string]func(*RequestsOptions){
		`--output: "name" is not one of`:                   func(o *RequestsOptions) { o.Format = "name" },
		"--observe: -1s is negative":                       func(o *RequestsOptions) { o.Observe = -time.Second },
		"--all and names of nodes cannot be used together": func(o *RequestsOptions) { o.All, o.Nodes = true, []string{"n1"} },
		"--observe and --extender-url cannot be used to":   func(o *RequestsOptions) { o.Observe, o.Extender.URL = time.Second, "http://localhost" },
		"--extender-url: it is not a URL that begins":      func(o *RequestsOptions) { o.Extender.URL = "localhost" },
	} {
		wanted := good
		change(&wanted)
		if err := Requests(t.Context(), flags.Options{}, wanted, io.Discard); err == nil || !strings.HasPrefix(err.Error(), want) || exit.Code(err) != exit.Misuse {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
