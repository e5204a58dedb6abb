package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// apiServer answers the API requests that doctor makes. It accepts no writes except reviews.
func apiServer(t *testing.T, denied string) (kubeconfig string) {
	t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	usage := fmt.Sprintf(`"metadata":{"name":"n0","namespace":"web"},"timestamp":%q,"window":"15s"`, now)
	answers := map[string]string{
		"/version": `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"n0"},"status":{
			"allocatable":{"cpu":"10","memory":"64Gi"},"capacity":{"cpu":"10","memory":"64Gi"},"conditions":[{"type":"Ready","status":"True"}]}}]}`,
		"/api/v1/pods":                       `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`,
		"/apis/metrics.k8s.io/v1beta1/nodes": `{"items":[{` + usage + `,"usage":{"cpu":"2","memory":"20Gi"}}]}`,
		"/apis/metrics.k8s.io/v1beta1/pods":  `{"items":[]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			body := new(bytes.Buffer)
			_, _ = body.ReadFrom(r.Body)
			allowed := denied == "" || !strings.Contains(body.String(), denied)
			_, _ = fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, allowed)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
			_, _ = w.Write([]byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"system:serviceaccount:a:b"}}}`))
		case r.Method == http.MethodPatch && r.URL.RequestURI() == "/api/v1/nodes/n0?dryRun=All":
			body := new(bytes.Buffer)
			_, _ = body.ReadFrom(r.Body)
			if !strings.Contains(body.String(), "unfenced") {
				_, _ = w.Write([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n0"}}`))
				return
			}
			w.WriteHeader(http.StatusForbidden) // the request is denied
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
		case r.Method != http.MethodGet:
			t.Errorf("%s %s", r.Method, r.URL)
		case r.URL.Query().Get("watch") != "" && r.URL.Query().Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity) // like an API server without streaming lists
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case answers[r.URL.Path] != "":
			_, _ = w.Write([]byte(answers[r.URL.Path]))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL)
}

// The test runs the whole command, from flags to exit code.
func TestDoctor(t *testing.T) {
	cases := map[string]struct {
		denied   string
		wantCode int
		want     string
	}{
		"a healthy cluster": {wantCode: exit.OK, want: "has all"},
		"it may not evict":  {denied: "eviction", wantCode: exit.Failure, want: "It may not create pods/eviction."},
		"it may not list":   {denied: "list", wantCode: exit.Failure, want: "It could not be checked: it is not allowed to list nodes."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			options := flags.Options{Kubeconfig: apiServer(t, tc.denied), Namespace: "evenkeel"}
			err := Doctor(t.Context(), options, DoctorOptions{Format: "json", Mode: "serve"}, &out)
			if exit.Code(err) != tc.wantCode || !strings.Contains(out.String(), tc.want) {
				t.Errorf("got %v and\n%s", err, out.String())
			}
			var report doctor.Report
			if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Findings) == 0 {
				t.Errorf("no report: %v", err)
			}
		})
	}
}

// A separate nodesync is checked for what that process does.
func TestDoctorOfNodeSync(t *testing.T) {
	const byUsage = "nodesync: {label: {enabled: true}}\n"
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		query, now, value := r.Form.Get("query"), time.Now().Unix(), int64(3)
		if strings.Contains(query, "timestamp(") {
			value = now
		}
		result := ""
		if strings.Contains(query, "load5") {
			result = fmt.Sprintf(`{"metric":{"node":"n0"},"value":[%d,"%d"]}`, now, value)
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
	}))
	defer prometheus.Close()
	bySignal := byUsage + `lines: {load: {evict: 10}}
usage:
  sources: [{type: Prometheus, prometheus: {nodeLabel: node, queries: {nodes: {load: {expr: load5}}}}}]
  metrics: [{name: load, relieves: none}]
`
	cases := map[string]struct {
		policy, prom, denied string
		wantCode             int
		want                 string
	}{
		"all is well":      {policy: byUsage, wantCode: exit.OK, want: "has all 8 permissions that nodesync needs"},
		"it may not write": {policy: byUsage, denied: "patch", wantCode: exit.Failure, want: "It may not patch nodes."},
		"signals alone, and it may not list pods": {policy: bySignal, prom: prometheus.URL, denied: `"pods"`, wantCode: exit.OK, want: "has all 4 permissions that nodesync needs"},
		"signals that no source measures":         {policy: bySignal, prom: "http://127.0.0.1:1", wantCode: exit.Failure, want: "Nothing new would be written on most nodes"},
		"nothing is enabled":                      {wantCode: exit.Failure, want: "The policy enables no part of nodesync"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			writeText(t, file, "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"+tc.policy)
			var out bytes.Buffer
			options := flags.Options{Kubeconfig: apiServer(t, tc.denied), Namespace: "evenkeel", PolicyFile: file}
			err := Doctor(t.Context(), options, DoctorOptions{Format: "json", Mode: "nodesync", Prometheus: tc.prom}, &out)
			if exit.Code(err) != tc.wantCode || !strings.Contains(out.String(), tc.want) {
				t.Errorf("got %v and\n%s", err, out.String())
			}
			for _, other := range []string{"kube-scheduler", "evicted", "Evicting"} {
				if strings.Contains(out.String(), other) {
					t.Errorf("speaks of %q:\n%s", other, out.String())
				}
			}
		})
	}
}

// An unreachable API server is reported in one line.
func TestDoctorWithoutAPIServer(t *testing.T) {
	var out bytes.Buffer
	err := Doctor(t.Context(), flags.Options{Kubeconfig: kubeconfigOf(t, nobody)}, DoctorOptions{Format: "table", Mode: "run"}, &out)
	if exit.Code(err) != exit.Failure || out.Len() > 0 || !strings.Contains(err.Error(), "reaching the API server") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, output %q", err, out.String())
	}
}
