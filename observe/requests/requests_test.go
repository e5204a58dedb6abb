package requests

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

const gib = 1 << 30

// steady returns the Levels of a pod that used the given amounts in turn, for a day.
func steady(milliCores ...int64) forecast.Levels {
	var l forecast.Levels
	for i := range 288 {
		l.Add(uint32(300*(i+1)), milliCores[i%len(milliCores)])
	}
	return l
}

// replicas returns n pods on a node that all ask for and use the same.
func replicas(n, node int, requested, used int64) []Replica {
	all := make([]Replica, n)
	for i := range all {
		all[i] = Replica{Node: node, Requests: cluster.Amounts{requested, gib}, UsedMilliCores: used, Levels: steady(used)}
	}
	return all
}

// machine returns a node with 8 cores and an evict line of 5.2, that has been hot for an hour if it uses more.
func machine(name string, used, requested int64) Node {
	n := Node{Name: name, Allocatable: cluster.Amounts{8000, 32 * gib}, Requested: cluster.Amounts{requested, 10 * gib}, UsedMilliCores: used, LineMilliCores: 5200, Open: true}
	if n.Hot = used > 5200; n.Hot {
		n.HotFor = time.Hour
	}
	return n
}

// verdicts returns what is reported of each owner, by name.
func verdicts(r *Report) map[string]Verdict {
	all := map[string]Verdict{}
	for i := range r.Owners {
		all[r.Owners[i].Name] = r.Owners[i].Verdict
	}
	return all
}

func TestVerdicts(t *testing.T) {
	hot, cool := machine("hot", 7200, 2000), machine("cool", 2000, 2000)
	uneven := append(replicas(1, 0, 500, 4000), replicas(3, 1, 500, 100)...)
	spiky := replicas(2, 0, 500, 200)
	for i := range spiky {
		spiky[i].UsedMilliCores = 1500
	}
	daily := replicas(2, 0, 500, 0)
	for i := range daily {
		daily[i].UsedMilliCores, daily[i].Levels = 1500, steady(100, 1500, 1500)
	}
	cases := map[string]struct {
		replicas []Replica
		want     Verdict
	}{
		"uses what it asks for":                   {replicas(4, 0, 700, 700), ""},
		"uses a little more":                      {replicas(4, 0, 700, 800), Bursts},
		"uses a little more where nothing is hot": {replicas(4, 1, 700, 800), ""},
		"asks for much less":                      {replicas(4, 0, 100, 700), TooLow},
		"asks for much less, nothing is hot":      {replicas(4, 1, 100, 700), TooLow},
		"asks for nothing":                        {replicas(4, 0, 0, 700), TooLow},
		"asks for nothing and uses next to none":  {replicas(4, 1, 0, 10), ""},
		"asks for much more":                      {replicas(4, 0, 2000, 700), ""},
		"usually uses less":                       {spiky, Bursts},
		"uses more most of the day":               {daily, TooLow},
		"one leads and three follow":              {uneven, Uneven},
		"is not measured":                         {nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report := Judge(&Cluster{Nodes: []Node{hot, cool}, Owners: []Owner{{Name: "web", Replicas: tc.replicas}}})
			if got := verdicts(&report)["web"]; got != tc.want {
				t.Errorf("verdict %q, want %q: %+v", got, tc.want, report.Owners)
			}
		})
	}
}

// The heat of a node is divided among the pods that use more than they ask for, as far as they explain it.
func TestHeat(t *testing.T) {
	liar, other := replicas(3, 0, 100, 1100), replicas(1, 0, 500, 1500)
	cases := map[string]struct {
		used    int64
		owners  []Owner
		want    map[string]float64 // percent of the heat
		explain float64
	}{
		"one owner":      {7200, []Owner{{Name: "liar", Replicas: liar}}, map[string]float64{"liar": 100}, 100},
		"two owners":     {7200, []Owner{{Name: "liar", Replicas: liar}, {Name: "other", Replicas: other}}, map[string]float64{"liar": 75, "other": 25}, 100},
		"not all of it":  {9200, []Owner{{Name: "other", Replicas: other}}, map[string]float64{"other": 25}, 25},
		"nobody":         {7200, []Owner{{Name: "honest", Replicas: replicas(6, 0, 1000, 900)}}, map[string]float64{}, 0},
		"below its line": {5000, []Owner{{Name: "liar", Replicas: liar}}, map[string]float64{"liar": 100}, 100},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			node := machine("n1", tc.used, 4000)
			node.Hot, node.HotFor = true, 40*time.Minute
			report := Judge(&Cluster{Nodes: []Node{node}, Owners: tc.owners})
			got := map[string]float64{}
			for _, s := range report.Nodes[0].Owners {
				got[s.Name] = s.HeatPercent
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateApprox(0, 0.1)); diff != "" || report.Nodes[0].ExplainedPercent != tc.explain {
				t.Errorf("explained %v %%, want %v; shares (-want +got):\n%s", report.Nodes[0].ExplainedPercent, tc.explain, diff)
			}
			for _, f := range report.Owners {
				if minutes := 40 * got[f.Name] / 100; math.Abs(f.HotMinutes-minutes) > 0.1 || math.Abs(f.HeatPercent-got[f.Name]) > 0.1 {
					t.Errorf("%s: %v hot minutes, %v %%; want %v, %v %%", f.Name, f.HotMinutes, f.HeatPercent, minutes, got[f.Name])
				}
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	limited := func(all []Replica, limits cluster.Amounts) []Replica {
		for i := range all {
			all[i].Limits = limits
		}
		return all
	}
	full := machine("n1", 7200, 7000)
	free := machine("n2", 2000, 2000)
	closed := free
	closed.Open = false
	both := append(replicas(5, 0, 100, 700), replicas(5, 1, 100, 700)...)
	best := replicas(2, 0, 0, 700)
	for i := range best {
		best[i].Requests = cluster.Amounts{}
	}
	cases := map[string]struct {
		kind     string
		second   Node
		replicas []Replica
		want     *Advice
	}{
		"everything fits":        {"Deployment", free, both, &Advice{RequestMilliCores: 700, QoS: Burstable, NewQoS: Burstable}},
		"one node is closed":     {"Deployment", closed, both, &Advice{RequestMilliCores: 700, QoS: Burstable, NewQoS: Burstable, NotFitting: 8}},
		"bound to their nodes":   {"DaemonSet", closed, replicas(1, 0, 100, 1500), &Advice{RequestMilliCores: 1600, QoS: Burstable, NewQoS: Burstable, NotFitting: 1}},
		"a limit":                {"Deployment", free, limited(replicas(2, 0, 100, 700), cluster.Amounts{600, 4 * gib}), &Advice{RequestMilliCores: 600, QoS: Burstable, NewQoS: Burstable, AtLimit: true}},
		"a limit that is met":    {"Deployment", free, limited(replicas(2, 0, 100, 700), cluster.Amounts{600, gib}), &Advice{RequestMilliCores: 600, QoS: Burstable, NewQoS: Guaranteed, AtLimit: true}},
		"a limit at the request": {"Deployment", free, limited(replicas(2, 0, 100, 700), cluster.Amounts{100, gib}), nil},
		"no requests at all":     {"Deployment", free, best, &Advice{RequestMilliCores: 700, QoS: BestEffort, NewQoS: Burstable}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report := Judge(&Cluster{Nodes: []Node{full, tc.second}, Owners: []Owner{{Kind: tc.kind, Replicas: tc.replicas}}})
			if diff := cmp.Diff(tc.want, report.Owners[0].Advice); diff != "" {
				t.Errorf("advice (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoundUp(t *testing.T) {
	for given, want := range map[int64]int64{-5: 10, 0: 10, 7: 10, 191: 200, 200: 200, 201: 250, 683: 700, 1000: 1000, 1001: 1100, 5001: 5500} {
		if got := roundUp(given); got != want {
			t.Errorf("%d becomes %d, want %d", given, got, want)
		}
	}
}

// A peak of two samples is no peak.
func TestProvisional(t *testing.T) {
	short := replicas(3, 0, 100, 700)
	for i := range short {
		short[i].Levels = forecast.Levels{}
	}
	for name, tc := range map[string]struct {
		replicas []Replica
		want     bool
	}{"a day": {replicas(3, 0, 100, 700), false}, "one reading": {short, true}} {
		report := Judge(&Cluster{Nodes: []Node{machine("n1", 7200, 2000)}, Owners: []Owner{{Replicas: tc.replicas}}})
		if got := report.Owners[0].Provisional(); got != tc.want {
			t.Errorf("%s: provisional %v", name, got)
		}
	}
}
