package prometheus

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

func window(t *testing.T, name string) usage.Window {
	t.Helper()
	w, err := usage.ParseWindow(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The cases show the PromQL that follows from a policy.
func TestExpressions(t *testing.T) {
	const (
		contended = `(quantile without (id, image, name, namespace, pod, container) (0.66, irate(container_pressure_cpu_waiting_seconds_total{container!="",container!="POD",pod!=""}[2m]) * 100` +
			` and on (namespace, pod, container) (irate(container_cpu_usage_seconds_total{container!="",container!="POD",pod!=""}[2m]) > 0.05` +
			` or irate(container_pressure_cpu_waiting_seconds_total{container!="",container!="POD",pod!=""}[2m]) > 0.05)` +
			` unless on (namespace, pod, container) irate(container_cpu_cfs_throttled_periods_total{container!="",container!="POD",pod!=""}[2m])` +
			` / irate(container_cpu_cfs_periods_total{container!="",container!="POD",pod!=""}[2m]) > 0.1)` +
			` or 0 * sum without (id, image, name, namespace, pod, container) (container_pressure_cpu_waiting_seconds_total{container!="",container!="POD",pod!=""}))` +
			` and sum without (id, image, name, namespace, pod, container) (container_pressure_cpu_waiting_seconds_total{container!="",container!="POD",pod!=""}) > 0`
		cores = `sum without (cpu, mode) (irate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[2m]))`
		times = "timestamp(node_memory_MemAvailable_bytes)"

		workingSet = "node_memory_AnonPages_bytes + node_memory_Cached_bytes + node_memory_Buffers_bytes" +
			" + node_memory_SwapCached_bytes - node_memory_Inactive_file_bytes" +
			" or node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes"

		labelled = "0 * topk without (id, image, name, namespace, pod, container) " +
			`(1, container_pressure_cpu_waiting_seconds_total{container!="",container!="POD",pod!=""})` +
			" + ignoring (id, image, name, namespace, pod, container) group_left () "
	)
	type pair struct{ expression, stamp string }
	cases := map[string]struct {
		metric usage.Metric
		window string
		change func(*settings)
		want   pair
	}{
		"cpu now":                    {usage.CPU, "last", nil, pair{cores, times}},
		"five minutes":               {usage.CPU, "avg_5m", nil, pair{"avg_over_time((" + cores + ")[5m:30s])", times}},
		"an hour":                    {usage.CPU, "avg_1h", nil, pair{"avg_over_time((" + cores + ")[1h:1m])", times}},
		"a percentile":               {usage.CPU, "p95_90m", nil, pair{"quantile_over_time(0.95, (" + cores + ")[90m:5m])", times}},
		"a low percentile":           {usage.CPU, "p5_10m", nil, pair{"quantile_over_time(0.05, (" + cores + ")[10m:30s])", times}},
		"the highest within a day":   {usage.CPU, "max_avg_1d", nil, pair{"max_over_time((avg_over_time((" + cores + ")[5m:1m]))[24h:5m])", times}},
		"memory in the unit of pods": {usage.Memory, "last", nil, pair{workingSet, times}},
		"memory over five minutes":   {usage.Memory, "avg_5m", nil, pair{"avg_over_time((" + workingSet + ")[5m:30s])", times}},
		"memory by one's own expression": {
			usage.Memory, "avg_5m", override(usage.Memory, Query{Expr: "node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes"}),
			pair{
				"avg_over_time((node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)[5m:30s])",
				"timestamp(node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)",
			},
		},
		"pressure": {
			usage.IOPressure, "last", nil, pair{"irate(node_pressure_io_waiting_seconds_total[2m]) * 100", times},
		},
		"a shorter range": {
			usage.CPUPressure, "last", func(c *settings) { c.RateWindow.Duration = 45 * time.Second },
			pair{"irate(node_pressure_cpu_waiting_seconds_total[45s]) * 100", times},
		},
		"contention, measured when the node is": {
			usage.CPUContention, "avg_5m", nil, pair{labelled + "(avg_over_time((" + contended + ")[5m:30s]))", times},
		},
		"contention is the kubelets' under either name": {
			usage.CPUContention, "last", func(c *settings) { c.NodeMetrics = Kubelet }, pair{labelled + "(" + contended + ")", "timestamp(node_memory_working_set_bytes)"},
		},
		"the kubelet's cpu": {
			usage.CPU, "last", func(c *settings) { c.NodeMetrics = Kubelet },
			pair{"irate(node_cpu_usage_seconds_total[2m])", "timestamp(node_memory_working_set_bytes)"},
		},
		"the kubelet's memory": {
			usage.Memory, "avg_5m", func(c *settings) { c.NodeMetrics = Kubelet },
			pair{"avg_over_time((node_memory_working_set_bytes)[5m:30s])", "timestamp(node_memory_working_set_bytes)"},
		},
		"CPU that is stolen": {
			usage.CPUStolen, "max_avg_1h", nil, // its own window is the only one that is queried
			pair{
				`avg_over_time((sum without (cpu, mode) (irate(node_cpu_seconds_total{mode="steal"}[2m])))[5m:30s])`,
				"timestamp(node_memory_MemAvailable_bytes)",
			},
		},
		"a custom expression": {
			usage.CPU, "avg_5m", override(usage.CPU, Query{Expr: "my:cpu"}),
			pair{"avg_over_time((my:cpu)[5m:30s])", "timestamp(my:cpu)"},
		},
		"and a recording rule for one window": {
			usage.CPU, "avg_5m", override(usage.CPU, Query{Windows: map[usage.Window]string{usage.Avg5m: `my:cpu:avg5m{a="b"}`}}),
			pair{`my:cpu:avg5m{a="b"}`, `timestamp(my:cpu:avg5m{a="b"})`},
		},
		"or an expression for it": {
			usage.CPU, "avg_5m", override(usage.CPU, Query{Windows: map[usage.Window]string{usage.Avg5m: `rate(x[5m])`}}),
			pair{`rate(x[5m])`, ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := configFor("http://localhost:9090")
			config.Metrics, config.Windows = []usage.Metric{tc.metric}, []usage.Window{window(t, tc.window)}
			if tc.change != nil {
				tc.change(&config)
			}
			query := newSource(t, config).nodeQueries[0]
			if diff := cmp.Diff(tc.want, pair{query.expression, query.stamp}, cmp.AllowUnexported(pair{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Stolen CPU is queried if CPU is queried from node-exporter, with a single query.
func TestStolenCPUIsQueried(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*settings)
		want   int
	}{
		"node-exporter":      {func(*settings) {}, 1},
		"kubelets":           {func(c *settings) { c.NodeMetrics = Kubelet }, 0},
		"a custom CPU query": {override(usage.CPU, Query{Expr: "my:cpu"}), 0},
		"memory alone":       {func(c *settings) { c.Metrics = []usage.Metric{usage.Memory} }, 0},
	} {
		config := configFor("http://localhost:9090")
		config.Metrics, config.Windows = []usage.Metric{usage.CPU, usage.Memory}, []usage.Window{usage.Last, usage.Avg5m}
		tc.change(&config)
		config.Metrics = append(config.Metrics, config.besides(config.Metrics)...)
		got := 0
		for _, query := range newSource(t, config).nodeQueries {
			if query.metric == usage.CPUStolen {
				got++
				if query.unit != source.Cores || query.window != usage.Avg5m {
					t.Errorf("%s: %s in %s", name, &query, query.unit)
				}
			}
		}
		if got != tc.want {
			t.Errorf("%s: %d queries, want %d", name, got, tc.want)
		}
	}
}

func override(metric usage.Metric, query Query) func(*settings) {
	return func(c *settings) { c.Queries.Nodes = map[usage.Metric]Query{metric: query} }
}

func TestPodExpressions(t *testing.T) {
	config := configFor("http://localhost:9090")
	config.NamespaceLabel, config.PodLabel, config.Windows = "exported_namespace", "exported_pod", []usage.Window{usage.Last}
	config.Queries.Pods = map[usage.Metric]Query{usage.CPU: {
		Expr: "my:pods", Unit: source.Milli, Windows: map[usage.Window]string{usage.Last: "my:pods:now"},
	}}
	var got []string
	for _, query := range newSource(t, config).podQueries {
		got = append(got, query.expression)
	}
	const by = "exported_namespace, exported_pod, instance, namespace, pod, kubernetes_namespace, kubernetes_pod_name, " +
		"cluster, cluster_name, cluster_id, k8s_cluster_name, clusterName, k8s_cluster, kubernetes_cluster, kube_cluster_name"
	const memory = `sum by (` + by + `) (max by (` + by + `, container) ` +
		`(container_memory_working_set_bytes{container!="",container!="POD",exported_pod!=""}))`
	want := []string{"avg_over_time((my:pods)[5m:1m])", "avg_over_time((" + memory + ")[5m:1m])", "my:pods:now", memory}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Errors in the settings name the field.
func TestInvalidSettings(t *testing.T) {
	unit := func(unit source.Unit) map[usage.Metric]Query {
		return map[usage.Metric]Query{usage.CPU: {Expr: "x", Unit: unit}}
	}
	cases := map[string]struct {
		change func(*Config)
		want   string
	}{
		"an unknown preset":  {func(c *Config) { c.NodeMetrics = "Telegraf" }, `x.nodeMetrics: Unsupported value: "Telegraf"`},
		"a range of nothing": {func(c *Config) { c.RateWindow.Duration = -1 }, "x.rateWindow: Invalid value"},
		"a bad label":        {func(c *Config) { c.NodeLabel = "a-b" }, `x.nodeLabel: Invalid value: "a-b"`},
		"a bad pod label":    {func(c *Config) { c.PodLabel = `p"` }, "x.podLabel: Invalid value"},
		"no pod label":       {func(c *Config) { c.PodLabel = "" }, "x.podLabel: Invalid value"},
		"no scheme":          {func(c *Config) { c.Address = "prometheus:9090" }, "x.address: Invalid value"},
		"a password":         {func(c *Config) { c.Address = "http://u:secret@host" }, "x.address: Invalid value"},
		"a token":            {func(c *Config) { c.Address = "http://host/p?token=secret" }, `x.address: Invalid value: "http://host/p?..."`},
		"both":               {func(c *Config) { c.Address = "http://u:secret?secret@host?token=x@secret" }, `x.address: Invalid value: "..."`},
		"a secret fragment":  {func(c *Config) { c.Address = "http://host#secret" }, "x.address: Invalid value"},
		"a fragment":         {func(c *Config) { c.Address = "http://host#a" }, "x.address: Invalid value"},
		"a token and a login": {
			func(c *Config) {
				c.BearerTokenFile, c.BasicAuth = "f", source.BasicAuth{Username: "ali", PasswordFile: "f"}
			}, "x.basicAuth: Forbidden: bearerTokenFile is already set",
		},
		"a token in a file and in a Secret": {
			func(c *Config) {
				c.BearerTokenFile, c.BearerTokenSecret = "f", source.SecretKey{Namespace: "ns", Name: "n", Key: "k"}
			}, "x.bearerTokenSecret: Forbidden: bearerTokenFile is already set",
		},
		"bytes of cpu":     {func(c *Config) { c.Queries.Nodes = unit(source.Bytes) }, `x.queries.nodes[cpu].unit: Unsupported value: "bytes"`},
		"percent of a pod": {func(c *Config) { c.Queries.Pods = unit(source.Percent) }, `x.queries.pods[cpu].unit: Unsupported value: "percent"`},
		"an unknown metric": {
			func(c *Config) { c.Queries.Nodes = map[usage.Metric]Query{"disk": {Expr: "x"}} }, `x.queries.nodes[disk]: Unsupported value: "disk"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := configFor("http://localhost:9090").Config
			tc.change(&config)
			errs := config.Validate(field.NewPath("x"), nil)
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tc.want) || strings.Contains(errs[0].Error(), "secret") {
				t.Errorf("got %v, want %q", errs, tc.want)
			}
		})
	}
}

// Settings that lack something the process needs are rejected.
func TestInvalidNeeds(t *testing.T) {
	cases := map[string]struct {
		change func(*settings)
		want   string
	}{
		"no windows":                        {func(c *settings) { c.Windows = nil }, "windows and metrics must not be empty"},
		"no metrics":                        {func(c *settings) { c.Metrics = nil }, "windows and metrics must not be empty"},
		"an unknown metric":                 {func(c *settings) { c.Metrics = []usage.Metric{"disk"} }, `queries["disk"]: no expression for the window avg_5m`},
		"a pressure that kubelets have not": {func(c *settings) { c.NodeMetrics, c.Metrics = Kubelet, []usage.Metric{usage.IOPressure} }, `queries["io.pressure"]: no expression`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := configFor("http://localhost:9090")
			tc.change(&config)
			if _, err := sourceOf(config); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	env := access.Env{REST: &rest.Config{}, Now: epoch}
	if _, err := new(Config).New(&env); err == nil || !strings.Contains(err.Error(), "prometheus.address: must be set") {
		t.Errorf("got %v without an address", err)
	}
}

func TestNodesAreMatched(t *testing.T) {
	snapshot := clusterOf(3)
	snapshot.Nodes[1].Node.InternalIP = "fd00::2"
	snapshot.Nodes[2].Node.Hostname = "n1" // another node's name, which takes precedence
	cases := map[string]struct {
		labels []string
		label  string
		want   int
	}{
		"by name":                          {[]string{"node", "n2"}, "", 1},
		"by address and port":              {[]string{"instance", "10.0.0.1:9100"}, "", 0},
		"by address":                       {[]string{"instance", "10.0.0.1"}, "", 0},
		"by host name and port":            {[]string{"instance", "n1.example.com:9100"}, "", 0},
		"by IPv6 address and port":         {[]string{"instance", "[fd00::2]:9100"}, "", 1},
		"by IPv6 address":                  {[]string{"instance", "fd00::2"}, "", 1},
		"a name goes before a host name":   {[]string{"hostname", "n1"}, "", 0},
		"node goes before instance":        {[]string{"instance", "n1", "node", "n2"}, "", 1},
		"a label that matches no node":     {[]string{"node", "metal-7", "instance", "n3:9100"}, "", -1},
		"what a page reports about itself": {[]string{"instance", "10.1.0.5:8080", "host", "n1", "exported_node", "n1"}, "", -1},
		"against what the scrape reports":  {[]string{"exported_instance", "n1"}, "", -1},
		"the label that was set":           {[]string{"node", "n1", "machine", "n2"}, "machine", 1},
		"and no other":                     {[]string{"node", "n1"}, "machine", -1},
		"nobody":                           {[]string{"instance", "10.0.0.9:9100"}, "", -1},
		"an open bracket":                  {[]string{"instance", "[fd00::2"}, "", -1},
		"nothing but a port":               {[]string{"instance", ":9100"}, "", -1},
		"no labels":                        {nil, "", -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := series{}
			for i := 0; i < len(tc.labels); i += 2 {
				s.text = append(s.text, tc.labels[i]+tc.labels[i+1]...)
				end := len(s.text)
				start := end - len(tc.labels[i]) - len(tc.labels[i+1])
				s.labels = append(s.labels, span{start, start + len(tc.labels[i]), end})
			}
			got, ok := (&Config{NodeLabel: tc.label}).newNodeIndex(snapshot).find(&s)
			if !ok {
				got = -1
			}
			if got != tc.want {
				t.Errorf("got node %d, want %d", got, tc.want)
			}
		})
	}
}

// Nodes that share one address are not identified by it.
func TestSharedAddressNamesNobody(t *testing.T) {
	snapshot := clusterOf(3)
	for _, node := range snapshot.Nodes {
		node.Node.InternalIP = "10.0.0.1"
	}
	answers := healthy()
	maps.Copy(answers, map[string]string{nodeCPU: vectorOf(of("1", "instance", "10.0.0.1:9100"))})
	batch := sample(t, newSource(t, configFor(newFake(t, answers).URL)), snapshot)
	if len(batch.Nodes) != 0 || batch.Problems[usage.UnmatchedNode].Count == 0 {
		t.Errorf("got %+v, %+v", batch.Nodes, batch.Problems)
	}
}

// The process's own token is sent over TLS only, because it can evict pods.
func TestOwnTokenStaysOffPlainHTTP(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("may-evict"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ address, own, want string }{
		{"http://prometheus", "may-evict", "is only sent over https"},
		{"HTTP://prometheus", "may-evict", "is only sent over https"},
		{"http://prometheus", "another", ""},
		{"https://prometheus", "may-evict", ""},
	} {
		config := configFor(tc.address)
		config.BearerTokenFile, config.REST = path, &rest.Config{BearerToken: tc.own}
		_, err := config.New(&config.Env)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: error %v", tc, err)
		}
	}
}
