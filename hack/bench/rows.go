package main

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// Packages with benchmarks.
const (
	steering     = "scorer/answer"
	observing    = "observe/observer"
	purePlanning = "strategies/realusage/plan"
	planning     = "strategies/realusage"
	replaying    = "sim/commands"
	memory       = "hack/footprint"
	throughput   = "test/cluster/cmd/throughput"
)

// rows holds the rows of the table. Goals are the project's own; docs/benchmarks.md lists
// them and explains each figure.
var rows = join(
	extenderRows("filter", 5000, 6), extenderRows("filter", 500, 3.5),
	extenderRows("prioritize", 5000, 6), extenderRows("prioritize", 500, 3.5),
	wholeNodesRows(), planRows(), observationRows(), replayRows(), memoryRows(), throughputRows(),
)

func join(groups ...[]row) (all []row) {
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

// extenderRows compares one verb with a handler that only decodes and answers, and with
// the machine's floor.
func extenderRows(verb string, names int, faster float64) []row {
	at := func(handler, unit string) measure.Series {
		return measure.Series{Package: steering, Name: fmt.Sprintf("Loopback/%s/names=%d/%s", verb, names, handler), Unit: unit}
	}
	label := fmt.Sprintf("extender %s, %d names", verb, names)
	return []row{
		{label: label + ", p50", figure: at("evenkeel", "p50-ns"), besideLabel: "decoding only", beside: at("plain", "p50-ns"), goal: goal{speedup, faster}},
		{label: label + ", p99 of p50", figure: at("evenkeel", "p99/p50"), besideLabel: "bare sockets", beside: at("socket", "p99/p50"), goal: goal{value, 2.5}},
		{label: label + ", allocations", figure: at("evenkeel", "server-allocs/op"), besideLabel: "decoding only", beside: at("plain", "server-allocs/op"), goal: goal{value, 50}},
	}
}

func wholeNodesRows() (all []row) {
	for _, verb := range []string{"filter", "prioritize"} {
		at := func(handler string) measure.Series {
			return measure.Series{Package: steering, Name: "WholeNodes/" + verb + "/nodes=500/" + handler, Unit: "p50-ns"}
		}
		all = append(all, row{
			label: "extender " + verb + ", 500 whole nodes, p50", figure: at("evenkeel"), besideLabel: "decoding only", beside: at("plain"), goal: goal{speedup, 10},
		})
	}
	return all
}

func planRows() []row {
	at := func(kind string, nodes int, way string) measure.Series {
		return measure.Series{Package: planning, Name: fmt.Sprintf("Plan/%s/nodes=%d/%s", kind, nodes, way), Unit: "ns/op"}
	}
	all := []row{
		{
			label: "plan, 5,000 nodes", figure: at("plain", 5000, "evenkeel"),
			besideLabel: "upstream LowNodeUtilization", beside: at("plain", 5000, "upstream"), goal: goal{speedup, 10},
		},
		{
			label: "plan with the snapshot's upkeep, 5,000 nodes", figure: at("plain", 5000, "incremental"),
			besideLabel: "upstream LowNodeUtilization", beside: at("plain", 5000, "upstream"), goal: goal{speedup, 10},
		},
		{
			label: "plan, growth from 100 to 5,000 nodes", figure: at("plain", 5000, "evenkeel"),
			besideLabel: "50 times that of 100", beside: at("plain", 100, "evenkeel"), times: 50, goal: goal{growth, 1.5},
		},
		{label: "plan, spread and anti-affinity, 5,000 nodes", figure: at("mixed", 5000, "evenkeel"), goal: goal{value, 5e9}},
		{label: "plan, filters and scores, 15,000 nodes", figure: at("demanding", 15000, "evenkeel"), goal: goal{value, 0.5e9}},
		{label: "plan with the snapshot's upkeep, filters and scores, 15,000 nodes", figure: at("demanding", 15000, "incremental"), goal: goal{of: informational}},
	}
	goals := map[string]goal{"room": {value, 20e6}} // for all 3,500 moves; crowded fleets take more attempts
	for _, room := range []string{"room", "crowded", "full"} {
		all = append(all, row{
			label: "plan, pure part, " + room + ", 5,000 nodes", figure: measure.Series{Package: purePlanning, Name: "Plan/" + room + "/nodes=5000", Unit: "ns/op"}, goal: goals[room],
		})
	}
	return all
}

func observationRows() []row {
	at := func(nodes int) measure.Series {
		return measure.Series{Package: observing, Name: fmt.Sprintf("Sample/nodes=%d", nodes), Unit: "ns/op"}
	}
	return []row{{
		label: "observation, 5,000 nodes", figure: at(5000), besideLabel: "50 times that of 100", beside: at(100), times: 50, goal: goal{of: informational},
	}}
}

// replayRows returns the rows that show what the defaults achieve in replays.
func replayRows() (all []row) {
	add := func(label, name, unit string, atMost float64) {
		all = append(all, row{label: label, figure: measure.Series{Package: replaying, Name: name, Unit: unit}, goal: goal{value, atMost}})
	}
	for _, pods := range []string{"plain", "old", "stateful"} {
		name, label := "DenseNodes/"+pods, "dense nodes, "+pods+" pods, "
		add(label+"cool after", name, "minutes", 30)
		add(label+"evictions", name, "of-fewest", 1.1)
		add(label+"evictions beside upstream", name, "of-upstream's", 1)
	}
	for _, usage := range []string{"steady", "waves", "noise"} {
		name, label := "FewNodes/"+usage, "few nodes, "+usage+", "
		add(label+"pods that come back", name, "came-back", 0)
		add(label+"evictions", name, "evictions/pod/day", 0.2)
	}
	add("few nodes, steady, evictions after the first day", "FewNodes/steady", "after-a-day", 0)
	add("spikes on 2 nodes, evictions", "Spikes/2_nodes", "evictions/pod/day", 0)
	add("spikes on 5 nodes, evictions", "Spikes/5_nodes", "evictions/pod/day", 0.01)
	add("daily bursts, hot time beside nobody", "Bursts/daily-bursts", "of-alone", 0.1)
	add("daily bursts, hot time beside no foresight", "Bursts/daily-bursts", "of-lasting", 0.5)
	add("daily bursts, evictions", "Bursts/daily-bursts", "evictions/pod/day", 0.05)
	add("random bursts, hot time beside 1.1 times that without foresight", "Bursts/random-bursts", "points-more", 0.05)
	add("random bursts, evictions beside no foresight", "Bursts/random-bursts", "evictions/pod/day-more", 0.005)
	for _, day := range []string{"20110303", "20110306", "20110325"} {
		name, label := "RecordedDays/"+day, "recorded day "+day+", "
		add(label+"deviation", name, "deviation", 10)
		add(label+"hot time", name, "%hot", 3)
		add(label+"evictions", name, "evictions/pod/day", 0.2)
	}
	return all
}

func memoryRows() (all []row) {
	at := func(process string) measure.Series {
		return measure.Series{Package: memory, Name: "Footprint/" + process, Unit: "peak-MiB"}
	}
	for _, command := range []struct {
		name string
		mib  float64
	}{{"extender", 300}, {"serve", 1024}} {
		for _, source := range []string{"MetricsServer", "Prometheus"} {
			all = append(all, row{
				label: strings.Join([]string{"peak memory, " + command.name, source}, ", "), figure: at(command.name + "/" + source),
				besideLabel: "client-go informers", beside: at("client-go-informers"), goal: goal{value, command.mib},
			})
		}
	}
	return all
}

func throughputRows() (all []row) {
	at := func(variant string) measure.Series {
		return measure.Series{Package: throughput, Name: "Throughput/nodes=1000/" + variant, Unit: "pods/s"}
	}
	labels := map[string]string{
		"evenkeel": "extender", "tls": "extender, mutual TLS", "evenkeel-prioritize": "prioritize alone", "managed": "pods left out", "plugin": "compiled in", "admission": "steered by the API server", "neutral": "decoding only",
	}
	besideLabels := map[string]string{
		"none": "no extender", "plain": "plain HTTP", "stock": "stock scheduler", "alone": "without Evenkeel", "echo": "copying names", "echo-prioritize": "copying names",
		"neutral": "decoding only", "neutral-prioritize": "decoding only",
	}
	shown := append(measure.SchedulerGoals(), measure.Comparison{Of: "evenkeel", Beside: "none"}, measure.Comparison{Of: "neutral", Beside: "none"})
	for _, c := range shown {
		r := row{label: "kube-scheduler, 1,000 nodes, " + labels[c.Of], figure: at(c.Of), besideLabel: besideLabels[c.Beside], beside: at(c.Beside)}
		if c.AtLeast > 0 {
			r.goal = goal{share, c.AtLeast}
		}
		all = append(all, r)
	}
	return all
}
