package commands

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/status"
)

// heatedServer is an API server with a node at 92% and an idle one. The pods on the hot node
// started age ago.
func heatedServer(t *testing.T, age time.Duration) (kubeconfig string) {
	t.Helper()
	began := time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)
	started := time.Now().Add(-age).UTC().Format(time.RFC3339)
	node := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"uid":"uid-%[1]s","creationTimestamp":%[2]q},"status":{"allocatable":{"cpu":"10","memory":"64Gi","pods":"110"},
			"capacity":{"cpu":"10","memory":"64Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%[2]q}]}}`, name, began)
	}
	pod := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","uid":"uid-%[1]s","creationTimestamp":%[2]q,"ownerReferences":[
			{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"uid-web","controller":true}]},"spec":{"nodeName":"n0","schedulerName":"default-scheduler","restartPolicy":"Always","containers":[{"name":"a","image":"a"}]},
			"status":{"phase":"Running","startTime":%[2]q,"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%[2]q}],
			"containerStatuses":[{"name":"a","ready":true,"state":{"running":{"startedAt":%[2]q}}}]}}`, name, started)
	}
	measured := func(name, cpu string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop"},"timestamp":%q,"window":"15s","usage":{"cpu":%q,"memory":"2Gi"},
			"containers":[{"name":"a","usage":{"cpu":"4500m","memory":"1Gi"}}]}`, name, time.Now().UTC().Format(time.RFC3339), cpu)
	}
	return listsServer(t, func(path string) []string {
		switch path {
		case "/api/v1/nodes":
			return []string{node("n0"), node("n1")}
		case "/api/v1/pods":
			return []string{pod("web-0"), pod("web-1")}
		case "/apis/apps/v1/replicasets":
			return []string{fmt.Sprintf(`{"metadata":{"name":"web","namespace":"shop","uid":"uid-web","creationTimestamp":%q},"spec":{"replicas":2},
				"status":{"replicas":2,"readyReplicas":2,"availableReplicas":2}}`, began)}
		case "/apis/metrics.k8s.io/v1beta1/nodes":
			return []string{measured("n0", "9200m"), measured("n1", "200m")}
		case "/apis/metrics.k8s.io/v1beta1/pods":
			return []string{measured("web-0", "0"), measured("web-1", "0")}
		}
		return nil
	})
}

// listsServer is an API server that lists objects by path. It accepts no changes.
func listsServer(t *testing.T, lists func(path string) []string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity) // like an API server without streaming lists
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
		case query.Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.URL.Path == "/version":
			_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.0"}`))
		case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`))
		case strings.Contains(r.URL.Path, "/configmaps/") || strings.Contains(r.URL.Path, "/leases/"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		case r.Method == http.MethodGet:
			kind := ""
			if strings.HasSuffix(r.URL.Path, "/pods") { // the watch of pods relies on it
				kind = `"kind":"PodList","apiVersion":"v1",`
			}
			_, _ = fmt.Fprintf(w, `{%s"metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, strings.Join(lists(r.URL.Path), ","))
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL)
}

// quick is a LoadPolicy that judges nodes by their newest readings.
const quick = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sources: [{type: MetricsServer}], sampleInterval: 5s, observationPeriod: 5s, maxAge: 30s}
hot: {windows: [last], consecutiveSamples: 1, minWindow: 1s, startup: 0s}
`

const lifetimeOnly = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: default
    pluginConfig: [{name: DefaultEvictor}, {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 86400}}]
    plugins: {deschedule: {enabled: [PodLifeTime]}}
` + quick

const duplicatesOnly = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: default
    pluginConfig: [{name: DefaultEvictor}, {name: RemoveDuplicates}]
    plugins: {balance: {enabled: [RemoveDuplicates]}}
` + quick

// If a policy moves nothing by real usage, plan reports that without watching usage, and shows no moves of
// another policy.
func TestPlanOfAPolicyThatMovesNothingByUsage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(lifetimeOnly), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{Kubeconfig: heatedServer(t, 2*time.Hour), PolicyFile: file}
	plan := func(format string) func(context.Context, io.Writer) error {
		return func(ctx context.Context, out io.Writer) error {
			return Plan(ctx, options, PlanOptions{Format: format, Progress: io.Discard}, out)
		}
	}
	for name, tc := range map[string]struct {
		command func(context.Context, io.Writer) error
		want    []string
	}{
		"a table": {plan("table"), []string{"Nothing is planned: " + status.NothingByUsage[:60], "Hot nodes:      none of 2;", "Moves:          none"}},
		"JSON":    {plan("json"), []string{`"closed": "` + status.NothingByUsage + `"`, `"moves": []`, `"hotNodes": 0`}},
		"explain": {func(ctx context.Context, out io.Writer) error {
			return Explain(ctx, options, ExplainOptions{Format: "table", Progress: io.Discard}, []string{"node", "n0"}, out)
		}, []string{"This policy's profiles plan no moves by real usage"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := tc.command(t.Context(), &out); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %q in\n%s", want, out.String())
				}
			}
		})
	}
}

// Evictions that an upstream plugin would make are planned and explained, with source, destination,
// reason and plugin.
func TestPlanOfAnUpstreamPlugin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(duplicatesOnly), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{Kubeconfig: heatedServer(t, 2*time.Hour), PolicyFile: file}
	for format, want := range map[string][]string{
		"table": {"AskedByPlugin (RemoveDuplicates): "},
		"json":  {`"moves": 1`, `"from": "n0"`, `"to": "n1"`, `"reason": "AskedByPlugin"`, `"plugin": "RemoveDuplicates"`},
	} {
		var out bytes.Buffer
		if err := Plan(t.Context(), options, PlanOptions{Format: format, Progress: io.Discard}, &out); err != nil {
			t.Fatal(err)
		}
		for _, want := range want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("want %q in\n%s", want, out.String())
			}
		}
	}
	moved, stays := 0, 0
	for _, pod := range []string{"shop/web-0", "shop/web-1"} {
		var out bytes.Buffer
		if err := Explain(t.Context(), options, ExplainOptions{Format: "json", Progress: io.Discard}, []string{"pod", pod}, &out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), `"reason": "AskedByPlugin"`) {
			moved++
		}
		if strings.Contains(out.String(), "RemoveDuplicates does not ask for it") {
			stays++
		}
	}
	if moved != 1 || stays != 1 {
		t.Errorf("explained as moved: %d, as not requested: %d, want one each", moved, stays)
	}
}

// withoutUsage is an API server like another one, but without metrics-server.
func withoutUsage(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1 // watches
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io") {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
	}))
	t.Cleanup(server.CloseClientConnections)
	return kubeconfigOf(t, server.URL)
}

// A policy of descheduler alone, in a cluster without usage, is planned and explained: from where to where,
// and which plugin asks. What is not known is not shown as 0.
func TestPlanOfAnUpstreamPluginWithoutUsage(t *testing.T) {
	t.Parallel()
	plain, _, _ := strings.Cut(duplicatesOnly, "\n---\n")
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{Kubeconfig: withoutUsage(t, heatedServer(t, 2*time.Hour)), PolicyFile: file}
	var plan, node, pods bytes.Buffer
	if err := Plan(t.Context(), options, PlanOptions{Format: "table", Progress: io.Discard}, &plan); err != nil {
		t.Fatal(err)
	}
	if err := Explain(t.Context(), options, ExplainOptions{Format: "table", Progress: io.Discard}, []string{"node", "n0"}, &node); err != nil {
		t.Fatal(err)
	}
	for _, pod := range []string{"shop/web-0", "shop/web-1"} {
		if err := Explain(t.Context(), options, ExplainOptions{Format: "table", Progress: io.Discard}, []string{"pod", pod}, &pods); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ got, want string }{
		{plan.String(), "AskedByPlugin (RemoveDuplicates)"}, {plan.String(), "unknown"},
		{node.String(), "1 pod would be moved: RemoveDuplicates asks for it"},
		{pods.String(), "would be moved from n0 to n1: RemoveDuplicates asks for it"}, {pods.String(), "It is not known how full n1 is."},
		{pods.String(), "RemoveDuplicates does not ask for it"},
	} {
		if !strings.Contains(tc.got, tc.want) {
			t.Errorf("want %q in\n%s", tc.want, tc.got)
		}
	}
	if all := plan.String() + node.String() + pods.String(); strings.Contains(all, "0.0%") || strings.Contains(all, status.NothingByUsage) {
		t.Errorf("something is wrong or not known:\n%s", all)
	}
}

// If a node is measured above its evict line but not hot, the plan explains why.
func TestPlanWhilePodsStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(quick, "startup: 0s", "startup: 3m", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	options := flags.Options{Kubeconfig: heatedServer(t, time.Minute), PolicyFile: file}
	if err := Plan(t.Context(), options, PlanOptions{Format: "json", Progress: io.Discard}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"hotNodes": 0`, `"notHotNodes": 1`, "cpu last is measured at 92.0%, above the evict line 65%, and counts as ", " points are from 2 pods that started ", " and count from ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}
