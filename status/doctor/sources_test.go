package doctor_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/jsonscan"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/nodemetrics"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// reading returns the error of reading an answer that should be a JSON object.
func reading(answer string) error {
	scanner := jsonscan.NewReader(512, jsonscan.OfAnswers)
	scanner.Reset(strings.NewReader(answer))
	for range scanner.Object {
		scanner.Skip()
	}
	return scanner.End()
}

// An error is reported with a fix for its cause.
func TestErrorsOfSources(t *testing.T) {
	cases := map[string]struct {
		kind string
		err  error
		want string // part of the fix
	}{
		"Prometheus is down":            {prometheus.Name, errors.New("dial tcp 10.0.0.1:9090: connect: connection refused"), "Prometheus itself listens on 9090"},
		"an untrusted authority":        {prometheus.Name, fmt.Errorf("tls: failed to verify certificate: %w", x509.UnknownAuthorityError{}), "tls: {caFile:"},
		"the certificate is another's":  {prometheus.Name, errors.New("tls: failed to verify certificate: x509: certificate is valid for a, not b"), "serverName"},
		"an address in the certificate": {kubelet.Name, errors.New("x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs"), "kubelet:\n        tls: {serverName"},
		"no token":                      {prometheus.Name, errors.New("cpu avg_5m: the server answered 401 Unauthorized"), "bearerTokenSecret"},
		"not this token":                {prometheus.Name, errors.New("the server answered 403 Forbidden"), "X-Scope-OrgID"},
		"a kubelet refuses":             {kubelet.Name, errors.New(`asking 3 nodes: none gave usage; node "n0": 403 Forbidden: no`), "nodes/stats"},
		"kubelets get no token":         {kubelet.Name, errors.New(`asking 3 nodes: none gave usage; node "n0": requesting a token of ServiceAccount "evenkeel-kubelet-source": serviceaccounts is forbidden`), "rbac.kubeletSource: always"},
		"the path lacks its prefix":     {prometheus.Name, errors.New("the server answered 404 Not Found"), "/prometheus"},
		"the exporter's path":           {nodemetrics.Name, errors.New("404 Not Found"), "path: /statistics"},
		"too slow":                      {prometheus.Name, errors.New("context deadline exceeded"), "timeout: 30s"},
		"no such name":                  {prometheus.Name, errors.New("dial tcp: lookup prom on 10.96.0.10:53: no such host"), "<service>.<namespace>.svc"},
		"far too much":                  {prometheus.Name, errors.New("the answer is too large: over 134217728 bytes"), "sum by"},
		"http where https is":           {prometheus.Name, errors.New("net/http: HTTP/1.x transport connection broken: malformed HTTP response"), "correct the scheme"},
		"another program":               {prometheus.Name, errors.New("the answer has no status: is this the Prometheus API?"), "/api/v1/query"},
		"a web page":                    {prometheus.Name, reading("<html>"), "/api/v1/query"},
		"an incomplete answer":          {prometheus.Name, reading(`{"status":`), "proxies"},
		"the server is ill":             {prometheus.Name, errors.New("the server answered 500 Internal Server Error"), "its log"},
		"metrics-server is missing":     {metricsserver.Name, errors.New("listing metrics of nodes: the server could not find the requested resource"), "install metrics-server"},
		"metrics-server is down":        {metricsserver.Name, errors.New("the server is currently unable to handle the request"), "get apiservice v1beta1.metrics.k8s.io"},
		"something never seen":          {annotations.Name, errors.New("oops"), "See the error"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, tc.kind)
			w.sources[0].err = tc.err
			p := w.ask().installation
			want := []string{fmt.Sprintf("problem %s: It gave no reading: %v", tc.kind, tc.err)}
			if diff := cmp.Diff(want, found(p, doctor.CheckSources)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckSources); !strings.Contains(got, tc.want) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.want)
			}
		})
	}
}

func TestSources(t *testing.T) {
	cases := map[string]struct {
		change func(w *fixture)
		want   []string
	}{
		"all is well": {
			want: []string{"ok MetricsServer: Responded in 1ms with 3 nodes and 6 pods."},
		},
		"it answers with nothing": {
			change: func(w *fixture) { w.sources[0].batch.Nodes = nil },
			want:   []string{"problem MetricsServer: Responded in 1ms but returned no nodes."},
		},
		"no node has memory": {
			change: func(w *fixture) {
				for i := range w.sources[0].batch.Nodes {
					w.sources[0].batch.Nodes[i].Readings = w.sources[0].batch.Nodes[i].Readings[:1]
				}
			},
			want: []string{"problem MetricsServer: It returned 3 nodes, but only 0 of them with memory. Nodes without it are unknown."},
		},
		"one node lacks it": {
			change: func(w *fixture) { w.sources[0].batch.Nodes[0].Readings = w.sources[0].batch.Nodes[0].Readings[:1] },
			want:   []string{"warning MetricsServer: It returned 3 nodes, but only 2 of them with memory. Nodes without it are unknown."},
		},
		"a resource without lines is not missed": {
			change: func(w *fixture) {
				delete(w.installation.Load.Lines, usage.Memory)
				w.sources[0].batch.Nodes[0].Readings = w.sources[0].batch.Nodes[0].Readings[:1]
			},
			want: []string{"ok MetricsServer: Responded in 1ms with 3 nodes and 6 pods."},
		},
		"nodes and pods cannot be listed": {
			change: func(w *fixture) { w.installation.Unlisted = "it may not list pods." },
			want:   []string{"problem: It could not be checked: it may not list pods."},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, metricsserver.Name)
			if tc.change != nil {
				tc.change(w)
			}
			if w.installation.Unlisted == "" {
				w.ask()
			}
			if diff := cmp.Diff(tc.want, found(w.installation, doctor.CheckSources)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMatching(t *testing.T) {
	cases := map[string]struct {
		types  []string
		change func(w *fixture)
		want   []string
		fix    string
	}{
		"everything matches": {
			types: []string{prometheus.Name},
			want:  []string{"ok Prometheus: Usage reported for all 3 ready nodes."},
		},
		"series with an unknown node name": {
			types: []string{prometheus.Name},
			change: func(w *fixture) {
				w.sources[0].batch.Nodes = w.sources[0].batch.Nodes[:2]
				w.sources[0].batch.Problems.Add(usage.UnmatchedNode, `instance="10.0.0.9:9100"`)
			},
			want: []string{`problem Prometheus: 1 of 3 ready nodes have no sample: n2; 1 series belong to no node: instance="10.0.0.9:9100".`},
			fix:  "nodeLabel: node",
		},
		"another source has the node": {
			types: []string{prometheus.Name, metricsserver.Name},
			change: func(w *fixture) {
				w.sources[0].batch.Nodes = w.sources[0].batch.Nodes[:2]
			},
			want: []string{
				"warning Prometheus: 1 of 3 ready nodes have no sample: n2.",
				"ok MetricsServer: Usage reported for all 3 ready nodes.",
			},
			fix: "page of targets",
		},
		"machines beyond the cluster": {
			types:  []string{prometheus.Name},
			change: func(w *fixture) { w.sources[0].batch.Problems.Add(usage.UnmatchedNode, `instance="db1:9100"`) },
			want: []string{
				`warning Prometheus: Usage reported for 3 of 3 ready nodes, and 1 sample for nodes that this cluster does not have: instance="db1:9100".`,
			},
		},
		"series of several clusters, and of a pod's page": {
			types: []string{prometheus.Name},
			change: func(w *fixture) {
				w.sources[0].batch.Problems.Add(usage.SeveralClusters, `cpu avg_5m of nodes: cluster="eu" and "us"`)
				w.sources[0].batch.Problems.Add(usage.Foreign, `cpu avg_5m of node "n1" from pod shop/web, which is not on it`)
			},
			want: []string{
				`problem Prometheus: It returned series of several clusters or servers: cpu avg_5m of nodes: cluster="eu" and "us".`,
				`warning Prometheus: 1 sample rejected, because they were not scraped from the node itself or from the pod's kubelet: ` +
					`cpu avg_5m of node "n1" from pod shop/web, which is not on it.`,
				"ok Prometheus: Usage reported for all 3 ready nodes.",
			},
		},
		"a node that is not ready is not missed": {
			types: []string{kubelet.Name},
			change: func(w *fixture) {
				w.nodes.Nodes[2].Node.Ready = false
				w.sources[0].batch.Nodes = w.sources[0].batch.Nodes[:2]
			},
			want: []string{"ok Kubelet: Usage reported for all 2 ready nodes."},
		},
		"names of more than ten nodes are cut": {
			types: []string{nodemetrics.Name},
			change: func(w *fixture) {
				for i := range 12 {
					w.node(fmt.Sprintf("x%02d", i))
				}
			},
			want: []string{
				"problem NodeMetrics: 12 of 15 ready nodes have no sample: x00, x01, x02, x03, x04, x05, x06, x07, x08, x09 and 2 more.",
				"warning NodeMetrics: Usage reported for only 6 of 30 running pods: pods without usage are not moved, and a one-shot run waits longer.",
			},
		},
		"pods named by other labels": {
			types: []string{prometheus.Name},
			change: func(w *fixture) {
				for i := range w.sources[0].batch.Pods {
					w.sources[0].batch.Pods[i].Namespace = "monitoring"
				}
			},
			want: []string{
				"warning Prometheus: 6 of 6 samples of pods belong to no running pod: pod monitoring/n0-0; pod monitoring/n0-1; pod monitoring/n1-0; pod monitoring/n1-1; pod monitoring/n2-0.",
				"warning Prometheus: Usage reported for only 0 of 6 running pods: pods without usage are not moved, and a one-shot run waits longer.",
				"ok Prometheus: Usage reported for all 3 ready nodes.",
			},
			fix: "namespaceLabel: namespace",
		},
		"nobody measures pods": {
			types:  []string{annotations.Name, nodemetrics.Name},
			change: func(w *fixture) { w.sources[0].batch.Pods, w.sources[1].batch.Pods = nil, nil },
			want: []string{
				"warning Annotations: No source reports the usage of pods: it is estimated from their requests, and no pod is moved by real usage.",
				"ok Annotations: Usage reported for all 3 ready nodes.",
				"ok NodeMetrics: Usage reported for all 3 ready nodes.",
			},
			fix: "- type: MetricsServer",
		},
		"two servers scrape one exporter": {
			types: []string{prometheus.Name},
			change: func(w *fixture) {
				w.sources[0].batch.Nodes = append(w.sources[0].batch.Nodes, w.sources[0].batch.Nodes[0])
			},
			want: []string{
				"warning Prometheus: 1 sample came twice or more: node n0.",
				"ok Prometheus: Usage reported for all 3 ready nodes.",
			},
			fix: "max by (instance)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, tc.types...)
			if tc.change != nil {
				tc.change(w)
			}
			p := w.ask().installation
			if diff := cmp.Diff(tc.want, found(p, doctor.CheckMatching)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckMatching); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}

func TestCoverage(t *testing.T) {
	value := func(w *fixture, node int, value float64) { w.sources[0].batch.Nodes[node].Readings[0].Value = value }
	cases := map[string]struct {
		change func(w *fixture)
		want   []string
		fix    string
	}{
		"one reading is enough to see that all is well": {
			want: []string{"ok: 3 of 3 ready nodes have fresh, plausible usage; 80% needed."},
		},
		"a virtual node, and one that the policy does not select": {
			change: func(w *fixture) {
				w.node("n3").Labels["type"] = "virtual-kubelet"
				w.node("n4").Unselected = true
			},
			want: []string{"ok: 3 of 3 ready nodes have fresh, plausible usage; 80% needed."},
		},
		"the source is down": {
			change: func(w *fixture) { w.sources[0].err = errors.New("down") },
			want: []string{
				"problem UsageSourceUnavailable: Nothing would be evicted: 0 of 3 ready nodes have fresh, plausible usage; 80% needed (NoUsageSample: 3, n0, n1, n2).",
			},
			fix: "see sources and matching",
		},
		"an empty answer": {
			change: func(w *fixture) { w.sources[0].batch.Nodes = nil },
			want: []string{
				"problem NoUsageData: Nothing would be evicted: 0 of 3 ready nodes have fresh, plausible usage; 80% needed (NoUsageSample: 3, n0, n1, n2).",
			},
		},
		"a clock eight hours ahead": {
			change: func(w *fixture) { w.sources[0].batch = w.batch(-8 * time.Hour); w.sources[0].batch.Pods = nil },
			want: []string{
				"problem NoUsageData: Nothing would be evicted: 0 of 3 ready nodes have fresh, plausible usage; 80% needed (UsageFromTheFuture: 3, n0, n1, n2).",
				"problem MetricsServer: 3 samples rejected: from the future: node n0; node n1; node n2.",
			},
			fix: "NTP",
		},
		"one stale node of three is too many": {
			change: func(w *fixture) {
				stale := w.batch(10 * time.Minute)
				w.sources[0].batch.Nodes[1] = stale.Nodes[1]
			},
			want: []string{
				"problem UsageCoverageTooLow: Nothing would be evicted: 2 of 3 ready nodes have fresh, plausible usage; 80% needed (UsageStale: 1, n1).",
				"problem MetricsServer: 1 sample rejected: too old: node n1.",
			},
			fix: "maxAge: 3m",
		},
		"less than the bar": {
			change: func(w *fixture) { w.installation.Load.Usage.MinCoveragePercent = 50; value(w, 0, -5) },
			want: []string{
				"warning: 2 of 3 ready nodes have fresh, plausible usage; 50% needed (UsageAbsurd: 1, n0).",
				"warning MetricsServer: 1 sample rejected: negative, not a number, or far more than the node has: node n0.",
			},
			fix: "KiB for bytes",
		},
		"a fraction for a percentage": {
			change: func(w *fixture) {
				for i := range 3 {
					value(w, i, 40)
				}
			},
			want: []string{
				"problem NoUsageData: Nothing would be evicted: 0 of 3 ready nodes have fresh, plausible usage; 80% needed (UsageContradictory: 3, n0, n1, n2).",
				"problem MetricsServer: 3 samples rejected: contradicted by other usage: node n0 uses far less than its pods; node n1 uses far less than its pods; node n2 uses far less than its pods.",
			},
			fix: "a fraction (0.65)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, metricsserver.Name)
			if tc.change != nil {
				tc.change(w)
			}
			p := w.ask().installation
			if diff := cmp.Diff(tc.want, found(p, doctor.CheckCoverage)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckCoverage); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}

// Crane's annotations carry a misleading time zone, which doctor reports.
func TestFutureAnnotations(t *testing.T) {
	w := newFixture(t, annotations.Name)
	w.sources[0].batch.Nodes = nil
	w.sources[0].batch.Problems.Add(usage.Future, "n0 cpu_usage_avg_5m")
	if got := fixesOf(w.ask().installation, doctor.CheckCoverage); !strings.Contains(got, "timezone: Asia/Shanghai") {
		t.Errorf("got %q", got)
	}
}
