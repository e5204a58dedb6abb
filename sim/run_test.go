package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"

	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/contest"
	"github.com/evenkeel/evenkeel/sim/trace"
)

// skew returns a trace of groups that are idle or busy for a whole day, so that nodes differ and
// remain different.
func skew(series, steps int) *trace.Trace {
	t := &trace.Trace{Name: "skew"}
	for i := range series {
		values := make([]float32, steps)
		for k := range values {
			values[k] = float32(10 + 80*(i%5/4) + k%3)
		}
		t.IDs, t.Series = append(t.IDs, "s"), append(t.Series, values)
	}
	return t
}

func config(t *testing.T, variants ...sim.Variant) sim.Config {
	t.Helper()
	fleet, err := sim.NewFleet(sim.DefaultShape(), skew(200, 48), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sim.Config{
		Fleet: fleet, Variants: variants, WarmUp: 6, Every: sim.DefaultEvery, Lag: sim.DefaultLag, Gap: sim.DefaultGap,
		HotLinePercent: 55, ExtenderWeight: sim.DefaultExtenderWeight, MaxUnavailablePercent: sim.DefaultMaxUnavailable, Seed: 3,
		KeepUsage: true,
	}
}

var upstream = &nodeutilization.LowNodeUtilizationArgs{
	Thresholds:         api.ResourceThresholds{"cpu": 45, "memory": 45},
	TargetThresholds:   api.ResourceThresholds{"cpu": 55, "memory": 55},
	MetricsUtilization: &nodeutilization.MetricsUtilization{Source: api.KubernetesMetrics},
}

// Two runs of the same Config have equal results, and all variants start with the same usage.
func TestRunCanBeRepeated(t *testing.T) {
	variants := []sim.Variant{{Name: "none"}, {Name: "oracle", Oracle: true}, {Name: "upstream", Upstream: upstream}}
	once, err := sim.Run(t.Context(), config(t, variants...))
	if err != nil {
		t.Fatal(err)
	}
	again, err := sim.Run(t.Context(), config(t, variants...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, again); diff != "" {
		t.Errorf("twice the same (-once +again):\n%s", diff)
	}
	for i := range once {
		if diff := cmp.Diff(once[0].Usage[0], once[i].Usage[0]); diff != "" {
			t.Errorf("%s begins on other nodes (-none +it):\n%s", once[i].Variant, diff)
		}
	}
}

// Whatever moves the replicas, their demand is always on some node or lost in a restart.
func TestDemandIsKept(t *testing.T) {
	c := config(t, append(challengers(), sim.Variant{Name: "none"}, sim.Variant{Name: "upstream", Upstream: upstream}, sim.Variant{Name: "oracle", Oracle: true})...)
	results, err := sim.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for step := range c.Fleet.Steps {
		want := 0.0
		for i := range c.Fleet.Replicas {
			want += c.Fleet.Replicas[i].Demand(step).PercentOf(c.Fleet.Capacity)[0]
		}
		for _, r := range results {
			got := 0.0
			for _, percent := range r.Usage[step] {
				got += percent
			}
			restarts := 0.0
			if r.Variant != "oracle" { // a moved pod is away for a part of this step and the next one
				for _, n := range r.EvictionsAt[max(0, step-1) : step+1] {
					restarts += float64(n)
				}
			}
			// No replica demands more than 100 % of 1000m, and a restart costs a tenth of a step.
			lost := restarts * 0.1 * 100 * 1000 / float64(c.Fleet.Capacity[0])
			if got > want+0.01 || got < want-lost-0.01 {
				t.Errorf("%s, step %d: nodes have %.2f %%, the replicas demand %.2f %%, restarts cost at most %.2f", r.Variant, step, got, want, lost)
			}
		}
	}
}

// An oracle evens out what kube-scheduler alone leaves uneven.
func TestOracleBounds(t *testing.T) {
	results, err := sim.Run(t.Context(), config(t, sim.Variant{Name: "none"}, sim.Variant{Name: "oracle", Oracle: true}))
	if err != nil {
		t.Fatal(err)
	}
	none, oracle := results[0], results[1]
	if none.HotPercent == 0 || none.CPUDeviation < 3 {
		t.Fatalf("nothing to even out: %.1f %% hot, deviation %.1f", none.HotPercent, none.CPUDeviation)
	}
	if oracle.HotPercent > none.HotPercent/4 || *oracle.CPUDeviationHour > *none.CPUDeviationHour/3 {
		t.Errorf("the oracle leaves %.1f %% hot and an hourly deviation of %.2f, without it %.1f %% and %.2f",
			oracle.HotPercent, *oracle.CPUDeviationHour, none.HotPercent, *none.CPUDeviationHour)
	}
}

// challengers are the variants that represent other projects.
func challengers() []sim.Variant {
	return []sim.Variant{
		{Name: "openshift", Rival: contest.OpenShift}, {Name: "koordinator", Rival: contest.Koordinator},
		{Name: "trimaran", Rival: contest.Trimaran, Upstream: upstream}, {Name: "trimaran-risk", Rival: contest.TrimaranRisk, Upstream: upstream},
	}
}

// The rivals start with the same usage as all other variants, evict, leave less hot than doing
// nothing does, and stay within their limits. Their results are reproducible.
func TestRivals(t *testing.T) {
	steep, shape := skew(200, 48), sim.DefaultShape()
	shape.MeanCPUPercent = 60 // so that some nodes are above Koordinator's 75%, and some below its 45%
	for _, series := range steep.Series {
		for k := range series {
			series[k] = 1.2*series[k] - 10
		}
	}
	fleet, err := sim.NewFleet(shape, steep, nil)
	if err != nil {
		t.Fatal(err)
	}
	play := func() map[string]sim.Result {
		c := config(t, append(challengers(), sim.Variant{Name: "none"}, sim.Variant{Name: "upstream", Upstream: upstream})...)
		c.Fleet, c.HotLinePercent = fleet, sim.DefaultHotLine
		results, err := sim.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]sim.Result{}
		for i := range results {
			named[results[i].Variant] = results[i]
		}
		return named
	}
	once := play()
	if diff := cmp.Diff(once, play()); diff != "" {
		t.Errorf("twice the same (-once +again):\n%s", diff)
	}
	none := once["none"]
	for _, rival := range challengers() {
		r := once[rival.Name]
		if diff := cmp.Diff(none.Usage[0], r.Usage[0]); diff != "" {
			t.Errorf("%s begins on other nodes (-none +it):\n%s", rival.Name, diff)
		}
		if r.Evictions == 0 || r.HotPercent >= none.HotPercent || r.CPUDeviation >= none.CPUDeviation {
			t.Errorf("%s leaves %.2f%% hot and a deviation of %.2f with %d evictions, nobody %.2f%% and %.2f",
				rival.Name, r.HotPercent, r.CPUDeviation, r.Evictions, none.HotPercent, none.CPUDeviation)
		}
	}
	if most := slices.Max(once["openshift"].EvictionsAt); most > 5 {
		t.Errorf("openshift evicts %d pods in a cycle, at most five are allowed", most)
	}
	if r := once["koordinator"]; r.OnPlan != r.Evictions || r.Pending > 0 {
		t.Errorf("koordinator evicts %d pods, %d land on their reservations, %d wait", r.Evictions, r.OnPlan, r.Pending)
	}
	for _, name := range []string{"trimaran", "trimaran-risk"} {
		if back, alone := once[name].Boomerangs, once["upstream"].Boomerangs; back > alone/4 {
			t.Errorf("with %s %d pods come back, with kube-scheduler alone %d", name, back, alone)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for name, change := range map[string]func(*sim.Config){
		"no fleet":                 func(c *sim.Config) { c.Fleet = nil },
		"nobody to compare":        func(c *sim.Config) { c.Variants = nil },
		"cycles within a step":     func(c *sim.Config) { c.Every = time.Minute },
		"no time between cycles":   func(c *sim.Config) { c.Every = 0 },
		"a lag beyond the step":    func(c *sim.Config) { c.Lag = sim.Step },
		"a gap of a day":           func(c *sim.Config) { c.Gap = 24 * time.Hour },
		"negative steps":           func(c *sim.Config) { c.Steps = -1 },
		"a negative weight":        func(c *sim.Config) { c.ExtenderWeight = -1 },
		"deploys without end":      func(c *sim.Config) { c.DeploysPerDay = 1e9 },
		"deploys that are none":    func(c *sim.Config) { c.DeploysPerDay = nan() },
		"budgets of more than all": func(c *sim.Config) { c.MaxUnavailablePercent = 101 },
		"a hot line of nothing":    func(c *sim.Config) { c.HotLinePercent = 0 },
		"a hot line that is none":  func(c *sim.Config) { c.HotLinePercent = nan() },
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, sim.Variant{Name: "none"})
			change(&c)
			if results, err := sim.Run(t.Context(), c); err == nil {
				t.Errorf("it ran: %+v", results)
			}
		})
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

// named returns a trace of identical series.
func named(ids ...string) *trace.Trace {
	made := &trace.Trace{IDs: ids}
	for range ids {
		made.Series = append(made.Series, []float32{50, 50})
	}
	return made
}

func TestFleetRefuses(t *testing.T) {
	cpu := skew(20, 4)
	for name, tc := range map[string]struct {
		change      func(*sim.Shape)
		cpu, memory *trace.Trace
	}{
		"no trace":                     {cpu: &trace.Trace{}},
		"memory of other pods":         {cpu: cpu, memory: skew(19, 4)},
		"memory of another time":       {cpu: cpu, memory: skew(20, 5)},
		"memory in another order":      {cpu: named("a", "b"), memory: named("b", "a")},
		"a pod larger than a node":     {cpu: named("a")},
		"a trace that uses nothing":    {cpu: &trace.Trace{Series: [][]float32{{0, 0}, {0, 0}}}},
		"no mean":                      {cpu: cpu, change: func(s *sim.Shape) { s.MeanCPUPercent = 0 }},
		"a mean that is none":          {cpu: cpu, change: func(s *sim.Shape) { s.MeanCPUPercent = nan() }},
		"no pods to a node":            {cpu: cpu, change: func(s *sim.Shape) { s.PodsPerNode = 0 }},
		"nodes without end":            {cpu: cpu, change: func(s *sim.Shape) { s.Nodes = 1_000_000 }},
		"pods without end":             {cpu: cpu, change: func(s *sim.Shape) { s.Pods = 1_000_000_000 }},
		"owners without pods":          {cpu: cpu, change: func(s *sim.Shape) { s.ReplicasPerOwner = 0 }},
		"more requested than there is": {cpu: cpu, change: func(s *sim.Shape) { s.RequestPercent = 101 }},
	} {
		t.Run(name, func(t *testing.T) {
			shape := sim.DefaultShape()
			if tc.change != nil {
				tc.change(&shape)
			}
			if fleet, err := sim.NewFleet(shape, tc.cpu, tc.memory); err == nil {
				t.Errorf("made %+v", fleet)
			}
		})
	}
}
