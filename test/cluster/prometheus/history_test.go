package prometheus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// The history of a counter leads to its current value at the true rate. A gauge has always had its
// current value. Names that are not scraped have no history.
func TestHistoryLeadsToThePresent(t *testing.T) {
	const text = `# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 100
node_memory_working_set_bytes 5e+09
node_cpu_seconds_total{cpu="0",mode="user"} 100
node_cpu_seconds_total{cpu="0",mode="steal"} 100
container_cpu_usage_seconds_total{container="main",namespace="shop",pod="p"} 10
`
	node := cluster.NodeTruth{
		Name: "n", InternalIP: "127.1.0.1", Used: cluster.Amounts{CPUMilli: 2000},
		Pods: []cluster.PodTruth{{Namespace: "shop", Name: "p", Containers: []string{"main", "side"}, Used: cluster.Amounts{CPUMilli: 1000}}},
	}
	s := &Server{config: Config{NodeLabel: true}}
	families := map[string][]past{}
	s.addPast(families, node, text)
	for _, all := range families {
		for i := range all {
			all[i].at = time.Unix(1000, 0)
		}
	}
	// In 30 s, the node uses 60 core-seconds and each of the pod's two containers 15.
	const labels = `instance="127.1.0.1:9100",job="nodes",node="n"`
	want := `# TYPE container_cpu_usage_seconds counter
container_cpu_usage_seconds_total{` + labels + `,container="main",namespace="shop",pod="p"} -5 970.000
container_cpu_usage_seconds_total{` + labels + `,container="main",namespace="shop",pod="p"} 10 1000.000
# TYPE node_cpu_usage_seconds counter
node_cpu_usage_seconds_total{` + labels + `} 40 970.000
node_cpu_usage_seconds_total{` + labels + `} 100 1000.000
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes{` + labels + `} 5e+09 970.000
node_memory_working_set_bytes{` + labels + `} 5e+09 1000.000
# EOF
`
	if diff := cmp.Diff(want, string(openMetrics(families, 30*time.Second))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// The stolen CPU of a node grows at a separate rate.
func TestHistoryOfStolenCPU(t *testing.T) {
	node := cluster.NodeTruth{Name: "n", InternalIP: "127.1.0.1", Used: cluster.Amounts{CPUMilli: 1600}, StolenMilli: 6400}
	s := &Server{config: Config{NodeExporter: true}}
	families := map[string][]past{}
	s.addPast(families, node, `node_cpu_seconds_total{cpu="0",mode="steal"} 640
node_cpu_seconds_total{cpu="0",mode="user"} 160
`)
	var rates []float64
	for _, series := range families["node_cpu_seconds_total"] {
		rates = append(rates, series.perSecond)
	}
	if diff := cmp.Diff([]float64{6.4, 1.6}, rates); diff != "" {
		t.Errorf("cores (-want +got):\n%s", diff)
	}
}

func TestInstanceLabels(t *testing.T) {
	node := cluster.NodeTruth{Name: "n", InternalIP: "127.1.0.1"}
	tests := map[string]struct {
		config Config
		want   map[string]string
	}{
		"by address unless told otherwise": {want: map[string]string{"instance": "127.1.0.1:9100"}},
		"by IP":                            {config: Config{Instance: ByIP}, want: map[string]string{"instance": "127.1.0.1"}},
		"by name, with a node label": {
			config: Config{Instance: ByName, NodeLabel: true}, want: map[string]string{"instance": "n", "node": "n"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, (&Server{config: tc.config}).labels(node)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}
