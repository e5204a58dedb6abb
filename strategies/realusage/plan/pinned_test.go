package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Pods of a tenant that must not be moved may alone exceed the evict line of 65 %. Their neighbours
// on the node are then moved, if that removes half of the excess and the heat lasts.
func TestNeighboursOfPinnedPodsAreRelieved(t *testing.T) {
	tenant := func(used int64) strategies.Pod {
		return pod("tenant", cluster.Amounts{used, 10}, refused(reasons.EvictionDeclined))
	}
	neighbours := func(n int, used int64) []strategies.Pod { return pods(n, "web", cluster.Amounts{used, 10}) }
	for name, tc := range map[string]struct {
		nodes    []Node
		expected map[string]forecast.Expected
		minutes  float64
		want     []string // names of the pods that are moved
		stays    reasons.Reason
	}{
		"a tenant at 69 %": {
			nodes:   []Node{cool("c", cluster.Amounts{100, 100}), hot("h", cluster.Amounts{0, 0}, append(neighbours(2, 100), tenant(690))...)},
			minutes: 10, want: []string{"web0", "web1"}, stays: reasons.HotThroughImmovable,
		},
		"less than half could leave": {
			nodes:   []Node{cool("c", cluster.Amounts{100, 100}), hot("h", cluster.Amounts{0, 0}, append(neighbours(1, 50), tenant(800))...)},
			minutes: 10, stays: reasons.HotThroughImmovable,
		},
		"the mean lags behind rising usage, and less than half could leave": {
			nodes:   []Node{cool("c", cluster.Amounts{100, 100}), rising(750, hot("h", cluster.Amounts{0, 0}, append(neighbours(2, 15), tenant(640))...))},
			minutes: 10, stays: reasons.HotThroughImmovable,
		},
		"the mean lags behind rising usage, and half could leave": {
			nodes:   []Node{cool("c", cluster.Amounts{100, 100}), rising(750, hot("h", cluster.Amounts{0, 0}, append(neighbours(2, 40), tenant(600))...))},
			minutes: 10, want: []string{"web0"}, stays: reasons.HotThroughImmovable,
		},
		"moves at any worth are for nodes that can be cooled": {
			nodes: []Node{cool("c", cluster.Amounts{100, 100}), hot("h", cluster.Amounts{0, 0}, append(neighbours(2, 100), tenant(690))...)},
			stays: reasons.HotThroughImmovable,
		},
		"more disruption than it is worth": {
			nodes:   []Node{cool("c", cluster.Amounts{100, 100}), hot("h", cluster.Amounts{0, 0}, append(neighbours(2, 100), tenant(690))...)},
			minutes: 300, stays: reasons.HotThroughImmovable,
		},
		"a peak of the tenant's": {
			nodes:    []Node{cool("c", cluster.Amounts{100, 100}), hot("h", cluster.Amounts{0, 0}, append(neighbours(2, 100), tenant(690))...)},
			expected: map[string]forecast.Expected{"tenant": was(20, 690, 5)}, minutes: 10, stays: reasons.HotThroughImmovable,
		},
		"a tenant that can be moved in a minute": {
			nodes: []Node{
				cool("c", cluster.Amounts{100, 100}),
				hot("h", cluster.Amounts{0, 0}, append(neighbours(2, 100), pod("tenant", cluster.Amounts{690, 10}, refused(reasons.PodStarting)))...),
			},
			minutes: 10, stays: reasons.HotThroughImmovable,
		},
		"one fits nowhere": {
			nodes: []Node{
				cool("c", cluster.Amounts{400, 100}),
				hot("h", cluster.Amounts{0, 0}, pod("big", cluster.Amounts{210, 10}), pod("small", cluster.Amounts{190, 10}), tenant(690)),
			},
			minutes: 10, stays: reasons.HotThroughImmovable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: asOf(shipped().on(tc.nodes), tc.expected), Placement: anywhere{}, MinHotMinutesSaved: tc.minutes}
			got := New(in)
			var moved []string
			for _, m := range got.Moves {
				moved = append(moved, m.Name)
				for _, d := range got.Declined {
					if d.Name == m.Name {
						t.Errorf("%s is moved and declined for %s", m.Name, d.Reason)
					}
				}
			}
			if diff := cmp.Diff(tc.want, moved); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			report := got.Nodes[len(got.Nodes)-1]
			if report.Reason != tc.stays || !strings.Contains(report.Pinned, "tenant: ") {
				t.Errorf("the node stays hot for %q: %s", report.Reason, report.Pinned)
			}
		})
	}
}

// A node that moves can cool gets its destinations first, however hot the others are.
func TestPinnedNodesComeLast(t *testing.T) {
	in := Input{
		Nodes: asOf(shipped().on([]Node{
			cool("c", cluster.Amounts{400, 100}),
			hot("h-1", cluster.Amounts{0, 0}, append(pods(2, "near", cluster.Amounts{95, 10}), pod("tenant", cluster.Amounts{800, 10}, refused(reasons.EvictionDeclined)))...),
			hot("h-2", cluster.Amounts{500, 0}, pod("web", cluster.Amounts{180, 10})),
		}), nil),
		Placement: anywhere{}, MinHotMinutesSaved: 10,
	}
	got := New(in)
	if len(got.Moves) != 1 || got.Moves[0].Name != "web" {
		t.Errorf("planned %v", described(got))
	}
}

// Neighbours of pinned pods are relieved of memory as well. Memory does not fluctuate, so it is
// enough if half of the excess can leave. CPU usage that is also too high does not justify moves,
// because it is unknown whether it lasts.
func TestNeighboursOfPinnedMemoryAreRelieved(t *testing.T) {
	tenant := func(used cluster.Amounts) strategies.Pod {
		return pod("tenant", used, refused(reasons.EvictionDeclined))
	}
	web := func(used cluster.Amounts) []strategies.Pod { return pods(2, "web", used) }
	for name, tc := range map[string]struct {
		tenant, other cluster.Amounts
		web           cluster.Amounts
		minutes       float64
		want          []string // names of the pods that are moved
		pinned        string
	}{
		"a tenant at 69 %": {
			tenant: cluster.Amounts{10, 690}, web: cluster.Amounts{10, 100}, minutes: 10, want: []string{"web0", "web1"},
			pinned: "pods that are not moved use 69.0% of its memory, those of namespace ns 69.0% (tenant: EvictionDeclined)",
		},
		"exactly half can leave": {
			tenant: cluster.Amounts{10, 690}, web: cluster.Amounts{10, 20}, minutes: 10, want: []string{"web0", "web1"},
			pinned: "pods that are not moved use 69.0% of its memory",
		},
		"less than half could leave": {
			tenant: cluster.Amounts{10, 800}, web: cluster.Amounts{10, 50}, minutes: 10, pinned: "use 80.0% of its memory",
		},
		"moves at any worth are for nodes that can be cooled": {
			tenant: cluster.Amounts{10, 690}, web: cluster.Amounts{10, 100}, pinned: "use 69.0% of its memory",
		},
		"hot by CPU too, of which little can leave": {
			tenant: cluster.Amounts{900, 690}, web: cluster.Amounts{10, 100}, minutes: 10, want: []string{"web0", "web1"}, pinned: "use 90.0% of its cpu",
		},
		"hot by CPU too, of which more can leave": {
			tenant: cluster.Amounts{690, 900}, web: cluster.Amounts{100, 10}, minutes: 10, pinned: "use 90.0% of its memory",
		},
		"hot by memory that could leave, and by CPU that cannot": {
			tenant: cluster.Amounts{900, 10}, other: cluster.Amounts{10, 500}, web: cluster.Amounts{10, 100}, minutes: 10, want: []string{"web0"},
			pinned: "use 90.0% of its cpu",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Nodes: asOf(shipped().on([]Node{
					cool("c", cluster.Amounts{100, 100}), hot("h", tc.other, append(web(tc.web), tenant(tc.tenant))...),
				}), nil),
				Placement: anywhere{}, MinHotMinutesSaved: tc.minutes,
			}
			in.Nodes[1].ByCPU, in.Nodes[1].OverOther = false, true
			got := New(in)
			var moved []string
			for _, m := range got.Moves {
				moved = append(moved, m.Name)
			}
			if diff := cmp.Diff(tc.want, moved); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			report := got.Nodes[1]
			if report.Reason != reasons.HotThroughImmovable || !strings.Contains(report.Pinned, tc.pinned) {
				t.Errorf("the node stays hot for %q: %s", report.Reason, report.Pinned)
			}
		})
	}
}

func TestWhoPinsANode(t *testing.T) {
	no := refused(reasons.EvictionDeclined)
	n := shipped().on([]Node{hot("h", cluster.Amounts{50, 0},
		pod("free", cluster.Amounts{500, 10}), pod("x", cluster.Amounts{300, 10}, no),
		pod("y", cluster.Amounts{200, 10}, no), pod("z", cluster.Amounts{150, 10}, no),
	)})[0]
	for i, namespace := range []string{"a", "b", "a", "a"} {
		record := *n.Pods[i].Pod
		record.Namespace = namespace
		n.Pods[i].Pod = &record
	}
	want := "pods that are not moved use 65.0% of its cpu, those of namespace a 35.0% (y: EvictionDeclined)"
	if got := n.pinnedBy(n.Need.AtLeastZero()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (&Node{Allocatable: cluster.Amounts{1000, 1000}}).pinnedBy(cluster.Amounts{100, 0}); got != "" {
		t.Errorf("a node without pods: %s", got)
	}
}
