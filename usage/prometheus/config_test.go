package prometheus

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/usage"
)

func window(t *testing.T, name string) usage.Window {
	t.Helper()
	w, err := usage.ParseWindow(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// What a policy leads to in PromQL.
func TestExpressions(t *testing.T) {
	const (
		cores = `sum without (cpu, mode) (irate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[2m]))`
		times = "timestamp(node_memory_MemAvailable_bytes)"
	)
	type pair struct{ expression, stamp string }
	cases := map[string]struct {
		metric usage.Metric
		window string
		change func(*Config)
		want   pair
	}{
		"cpu now":              {usage.CPU, "last", nil, pair{cores, times}},
		"five minutes":         {usage.CPU, "avg_5m", nil, pair{"avg_over_time((" + cores + ")[5m:30s])", times}},
		"an hour":              {usage.CPU, "avg_1h", nil, pair{"avg_over_time((" + cores + ")[1h:1m])", times}},
		"a percentile":         {usage.CPU, "p95_90m", nil, pair{"quantile_over_time(0.95, (" + cores + ")[90m:5m])", times}},
		"a low percentile":     {usage.CPU, "p5_10m", nil, pair{"quantile_over_time(0.05, (" + cores + ")[10m:30s])", times}},
		"the highest of a day": {usage.CPU, "max_avg_1d", nil, pair{"max_over_time((avg_over_time((" + cores + ")[5m:1m]))[24h:5m])", times}},
		"memory": {
			usage.Memory, "last", nil, pair{"node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes", times},
		},
		"pressure": {
			usage.IOPressure, "last", nil, pair{"irate(node_pressure_io_waiting_seconds_total[2m]) * 100", times},
		},
		"a shorter range": {
			usage.CPUPressure, "last", func(c *Config) { c.RateWindow = 45 * time.Second },
			pair{"irate(node_pressure_cpu_waiting_seconds_total[45s]) * 100", times},
		},
		"one cluster of several": {
			usage.Memory, "last", func(c *Config) { c.Matchers = `cluster="a", zone!~"x|y"` },
			pair{
				`node_memory_MemTotal_bytes{cluster="a", zone!~"x|y"} - node_memory_MemAvailable_bytes{cluster="a", zone!~"x|y"}`,
				`timestamp(node_memory_MemAvailable_bytes{cluster="a", zone!~"x|y"})`,
			},
		},
		"the kubelet's cpu": {
			usage.CPU, "last", func(c *Config) { c.Preset = Kubelet },
			pair{"irate(node_cpu_usage_seconds_total[2m])", "timestamp(node_memory_working_set_bytes)"},
		},
		"the kubelet's memory": {
			usage.Memory, "avg_5m", func(c *Config) { c.Preset = Kubelet },
			pair{"avg_over_time((node_memory_working_set_bytes)[5m:30s])", "timestamp(node_memory_working_set_bytes)"},
		},
		"an expression of one's own": {
			usage.CPU, "avg_5m", override(usage.CPU, Query{Expression: "my:cpu"}),
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

func override(metric usage.Metric, query Query) func(*Config) {
	return func(c *Config) { c.Queries = map[usage.Metric]Query{metric: query} }
}

func TestPodExpressions(t *testing.T) {
	config := configFor("http://localhost:9090")
	config.NamespaceLabel, config.PodLabel, config.Windows = "exported_namespace", "exported_pod", []usage.Window{usage.Last}
	config.PodQueries = map[usage.Metric]Query{usage.CPU: {
		Expression: "my:pods", Unit: Milli, Windows: map[usage.Window]string{usage.Last: "my:pods:now"},
	}}
	var got []string
	for _, query := range newSource(t, config).podQueries {
		got = append(got, query.expression)
	}
	const memory = `sum by (exported_namespace, exported_pod) (max by (exported_namespace, exported_pod, container) ` +
		`(container_memory_working_set_bytes{container!="",container!="POD",exported_pod!=""}))`
	want := []string{"avg_over_time((my:pods)[5m:1m])", "avg_over_time((" + memory + ")[5m:1m])", "my:pods:now", memory}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidConfigs(t *testing.T) {
	cases := map[string]struct {
		change func(*Config)
		want   string
	}{
		"no client":          {func(c *Config) { c.Client = nil }, "Client and Now must be set"},
		"no timeout":         {func(c *Config) { c.Timeout = 0 }, "timeout and queriesPerSecond"},
		"no rate":            {func(c *Config) { c.QueriesPerSecond = 0 }, "timeout and queriesPerSecond"},
		"no windows":         {func(c *Config) { c.Windows = nil }, "windows and metrics must not be empty"},
		"an unknown preset":  {func(c *Config) { c.Preset = "Telegraf" }, `preset "Telegraf"`},
		"a range of nothing": {func(c *Config) { c.RateWindow = -1 }, "rateWindow"},
		"a bad label":        {func(c *Config) { c.NodeLabel = "a-b" }, `nodeLabel "a-b"`},
		"a bad pod label":    {func(c *Config) { c.PodLabel = `p"` }, "podLabel"},
		"bad matchers":       {func(c *Config) { c.Matchers = `a="b"} or vector(1` }, "matchers"},
		"half a matcher":     {func(c *Config) { c.Matchers = `a=b` }, "matchers"},
		"no scheme":          {func(c *Config) { c.Address = "prometheus:9090" }, "must begin with http"},
		"no address":         {func(c *Config) { c.Address = "" }, "must begin with http"},
		"a password":         {func(c *Config) { c.Address = "http://u:secret@host" }, "must not hold a user"},
		"an unknown metric":  {func(c *Config) { c.Metrics = []usage.Metric{"disk"} }, `queries["disk"]: no expression for the window avg_5m`},
		"a pressure that kubelets have not": {
			func(c *Config) { c.Preset, c.Metrics = Kubelet, []usage.Metric{usage.IOPressure} }, `queries["io.pressure"]: no expression`,
		},
		"bytes of cpu": {override(usage.CPU, Query{Unit: Bytes}), `queries["cpu"]: unit "bytes" is not one of cpu`},
		"percent of a pod": {
			func(c *Config) { c.PodQueries = map[usage.Metric]Query{usage.CPU: {Unit: Percent}} }, `podQueries["cpu"]: unit "percent"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := configFor("http://localhost:9090")
			tc.change(&config)
			_, err := New(config)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestNodesAreMatched(t *testing.T) {
	snapshot := clusterOf(3)
	snapshot.Nodes[1].Node.InternalIP = "fd00::2"
	snapshot.Nodes[2].Node.Hostname = "n1" // of another's name, which counts more
	cases := map[string]struct {
		labels []string
		label  string
		want   int
	}{
		"by name":                        {[]string{"node", "n2"}, "", 1},
		"by address and port":            {[]string{"instance", "10.0.0.1:9100"}, "", 0},
		"by address":                     {[]string{"instance", "10.0.0.1"}, "", 0},
		"by host name and port":          {[]string{"instance", "n1.example.com:9100"}, "", 0},
		"by IPv6 address and port":       {[]string{"instance", "[fd00::2]:9100"}, "", 1},
		"by IPv6 address":                {[]string{"instance", "fd00::2"}, "", 1},
		"a name goes before a host name": {[]string{"hostname", "n1"}, "", 0},
		"node goes before instance":      {[]string{"instance", "n1", "node", "n2"}, "", 1},
		"a label that names nobody":      {[]string{"node", "metal-7", "instance", "n3:9100"}, "", 2},
		"the label that was set":         {[]string{"node", "n1", "machine", "n2"}, "machine", 1},
		"and no other":                   {[]string{"node", "n1"}, "machine", -1},
		"nobody":                         {[]string{"instance", "10.0.0.9:9100"}, "", -1},
		"an open bracket":                {[]string{"instance", "[fd00::2"}, "", -1},
		"nothing but a port":             {[]string{"instance", ":9100"}, "", -1},
		"no labels":                      {nil, "", -1},
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
			got, ok := newNodeIndex(snapshot, tc.label).find(&s)
			if !ok {
				got = -1
			}
			if got != tc.want {
				t.Errorf("got node %d, want %d", got, tc.want)
			}
		})
	}
}

// Nodes behind one address are not told apart by it.
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
