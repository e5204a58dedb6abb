package measure

import "testing"

func TestMetric(t *testing.T) {
	const page = `# HELP evenkeel_nodes Nodes by state.
evenkeel_nodes{state="hot"} 12
evenkeel_nodes{policy="a",state="hot"} 3 1700000000
evenkeel_nodes{state="cool"} 100
evenkeel_nodes_more{state="hot"} 7
evenkeel_nodes{state="hot"} text
evenkeel_nodes{state="hot"
evenkeel_nodes{state="hot"} 
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 1.5
process_cpu_seconds_total_more 7
broken
go_goroutines text
`
	cases := map[string]struct {
		name, label string
		want        float64
		found       bool
	}{
		"those with a label":        {"evenkeel_nodes", `state="hot"`, 15, true},
		"all of them":               {"evenkeel_nodes", "", 115, true},
		"without labels":            {"process_cpu_seconds_total", "", 1.5, true},
		"none has the label":        {"evenkeel_nodes", `state="warm"`, 0, false},
		"none has labels":           {"process_cpu_seconds_total", "cpu", 0, false},
		"not a number":              {"go_goroutines", "", 0, false},
		"a name and nothing behind": {"broken", "", 0, false},
		"missing":                   {"evenkeel_pods", "", 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, found := Metric(page, tc.name, tc.label); got != tc.want || found != tc.found {
				t.Errorf("got %v, %t; want %v, %t", got, found, tc.want, tc.found)
			}
		})
	}
	if _, found := Metric("", "go_goroutines", ""); found {
		t.Error("an empty page has a metric")
	}
}
