package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/nodemetrics"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
)

func TestLoadLaysTheDocumentOverTheDefaults(t *testing.T) {
	cases := map[string]struct {
		text string
		want func(*LoadPolicy)
	}{
		"nothing given": {
			want: func(*LoadPolicy) {},
		},
		"an explicit zero is not a default": {
			text: "eviction: {maxInFlightPercentOfOwner: 0, ownerSettle: 0s}\nscoring: {dampPercent: 0, estimate: {defaultCPU: 0}}",
			want: func(p *LoadPolicy) {
				p.Eviction.MaxInFlightPercentOfOwner = 0
				p.Eviction.OwnerSettle = duration(0)
				p.Scoring.DampPercent = 0
				p.Scoring.Estimate.DefaultCPU = resource.MustParse("0")
			},
		},
		"blank sections count as absent": {
			text: "usage:\n  timeout:\n  sources:\nlines:\nnodePools:\nhot:\n  windows:\nscoring:\n  weights:\n  estimate:\n    defaultCPU:\neviction:\n  schedulerNames:\nnodesync:\n  annotations:\n    windows:\n    periods:",
			want: func(*LoadPolicy) {},
		},
		"one level of one resource keeps that resource's other levels and drops the other resource": {
			text: "lines: {cpu: {low: 0}}",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{usage.CPU: {Levels: levels(0, 60, 65, 60)}}
			},
		},
		"a resource without levels has its defaults": {
			text: "lines: {memory: {}}",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{usage.Memory: {Levels: levels(60, 75, 80, 75)}}
			},
		},
		"a resource, a weight and a period that are null count as absent": {
			text: "lines: {cpu: {low: 0, evict: null}, memory: null}\nscoring: {weights: {cpu: 2, memory: ~}}\n" +
				"nodesync: {annotations: {windows: [p95_1h], periods: {avg_5m: null}}}",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{usage.CPU: {Levels: levels(0, 60, 65, 60)}}
				p.Scoring.Weights = map[v1.ResourceName]int64{v1.ResourceCPU: 2}
				a := &p.NodeSync.Annotations
				a.Windows, a.Periods[mustWindow("p95_1h")] = []usage.Window{mustWindow("p95_1h")}, duration(15*time.Minute)
			},
		},
		"lists and weights are replaced as a whole": {
			text: "hot: {windows: [last]}\nscoring: {weights: {cpu: 2}}\neviction: {schedulerNames: [a, b]}",
			want: func(p *LoadPolicy) {
				p.Hot.Windows = []usage.Window{usage.Last}
				p.Scoring.Weights = map[v1.ResourceName]int64{v1.ResourceCPU: 2}
				p.Eviction.SchedulerNames = []string{"a", "b"}
			},
		},
		"empty lists whose default is empty": {
			text: "scoring: {hotValue: []}\neviction: {windows: [], blackouts: []}",
			want: func(*LoadPolicy) {},
		},
		"parts of a breaker and of a cooldown leave the rest of them": {
			text: "eviction: {breaker: {maxErrors: 9}, cooldown: {base: 0s}, maxMovesPerHour: 0}",
			want: func(p *LoadPolicy) {
				p.Eviction.Breaker.MaxErrors = 9
				p.Eviction.Cooldown.Base = duration(0)
				p.Eviction.MaxMovesPerHour = intstr.FromInt32(0)
			},
		},
		"times and hot values": {
			text: "scoring: {hotValue: [{timeRange: 5m, count: 5}]}\neviction: {windows: [{schedule: '@daily', duration: 8h}], blackouts: [{schedule: 0 0 1 1 *, duration: 24h, timeZone: Asia/Shanghai}]}",
			want: func(p *LoadPolicy) {
				p.Scoring.HotValue = []HotValue{{TimeRange: duration(5 * time.Minute), Count: 5}}
				p.Eviction.Windows = []Period{{Schedule: "@daily", Duration: duration(8 * time.Hour)}}
				p.Eviction.Blackouts = []Period{{Schedule: "0 0 1 1 *", Duration: duration(24 * time.Hour), TimeZone: "Asia/Shanghai"}}
			},
		},
		"a signal has only the levels that are set": {
			text: "usage: {sources: [{type: Kubelet}]}\nlines: {cpu: {}, cpu.pressure: {reject: 40}, memory.available: {evict: 20}}",
			want: func(p *LoadPolicy) {
				p.Usage.Sources = []Source{NewSource("Kubelet", known)}
				p.Lines = Lines{
					usage.CPU:         p.Lines[usage.CPU],
					usage.CPUPressure: {Levels: Levels{Reject: new(40.0)}},
					MemoryAvailable:   {Levels: Levels{Evict: new(20.0)}},
				}
			},
		},
		"with deviation, omitted levels are distances, too": {
			text: "lines: {cpu: {deviation: true, evict: 20}}",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{usage.CPU: {Levels: levels(10, 10, 20, 10), Deviation: true}}
			},
		},
		"the windows of a metric": {
			text: "lines: {cpu: {windows: {max_avg_1h: {reject: 75, evict: 75}}}}",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{usage.CPU: {
					Levels:  levels(45, 60, 65, 60),
					Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Reject: new(75.0), Evict: new(75.0)}},
				}}
			},
		},
		"a pool's lines lie over the policy's, level by level, and reach no other pool": {
			text: "lines: {cpu: {low: 40, windows: {max_avg_1h: {evict: 75}}}}\n" +
				"nodePools:\n- {name: a, selector: {matchLabels: {pool: a}}, lines: {cpu: {evict: 70, windows: {max_avg_1h: {leave: 50}}}, memory: {evict: 90}}}\n" +
				"- {name: b, selector: {matchLabels: {pool: b}}}\n",
			want: func(p *LoadPolicy) {
				base := Lines{usage.CPU: {Levels: levels(40, 60, 65, 60), Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Evict: new(75.0)}}}}
				p.Lines = base
				p.NodePools = []NodePool{
					pool("a", Lines{
						usage.CPU: {
							Levels:  levels(40, 60, 70, 60),
							Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Evict: new(75.0), Leave: new(50.0)}},
						},
						usage.Memory: {Levels: levels(60, 75, 90, 75)},
					}),
					pool("b", base),
				}
			},
		},
		"a pool that switches between levels and distances starts from the defaults": {
			text: "lines: {cpu: {low: 40, windows: {max_avg_1h: {evict: 75}}}, memory: {deviation: true, evict: 20}}\n" +
				"nodePools: [{name: a, selector: {matchLabels: {pool: a}}, lines: {cpu: {deviation: true, low: 5}, memory: {deviation: false, low: 50}}}]",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{
					usage.CPU:    {Levels: levels(40, 60, 65, 60), Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Evict: new(75.0)}}},
					usage.Memory: {Levels: levels(10, 10, 20, 10), Deviation: true},
				}
				p.NodePools = []NodePool{pool("a", Lines{
					usage.CPU:    {Levels: levels(5, 10, 15, 10), Deviation: true},
					usage.Memory: {Levels: levels(50, 75, 80, 75)},
				})}
			},
		},
		"every source has the defaults of its type": {
			text: "usage: {sources: [{type: Prometheus}, {type: Kubelet, kubelet: }, {type: NodeMetrics, nodeMetrics: {port: 1}}, {type: Annotations, annotations: {periods: {avg_5m: 1m, p95_1h: 2m}}}, {type: MetricsServer, maxAge: 2m}]}",
			want: func(p *LoadPolicy) {
				p.Usage.Sources = nil
				for _, kind := range known.Names() {
					p.Usage.Sources = append(p.Usage.Sources, NewSource(kind, known))
				}
				p.Usage.Sources[2].Config.(*nodemetrics.Config).Port = 1
				periods := p.Usage.Sources[3].Config.(*annotations.Config).Periods
				periods[usage.Avg5m] = duration(time.Minute)
				periods[mustWindow("p95_1h")] = duration(2 * time.Minute)
				p.Usage.Sources[4].MaxAge = duration(2 * time.Minute)
			},
		},
		"queries stay unchanged": {
			text: "usage: {sources: [{type: Prometheus, prometheus: {queries: {nodes: {cpu: {expr: a}, memory: {expr: b, unit: percent}, io.pressure: {expr: c}}, pods: {memory: {windows: {avg_5m: d}}}}}}]}",
			want: func(p *LoadPolicy) {
				source := NewSource("Prometheus", known)
				source.Config.(*prometheus.Config).Queries = prometheus.Queries{
					Nodes: map[usage.Metric]prometheus.Query{
						usage.CPU:        {Expr: "a"},
						usage.Memory:     {Unit: "percent", Expr: "b"},
						usage.IOPressure: {Expr: "c"},
					},
					Pods: map[usage.Metric]prometheus.Query{
						usage.Memory: {Windows: map[usage.Window]string{usage.Avg5m: "d"}},
					},
				}
				p.Usage.Sources = []Source{source}
			},
		},
		"what nodesync writes": {
			text: "nodesync: {annotations: {enabled: true, windows: [p95_1h, avg_5m], periods: {avg_5m: 1m}}, label: {enabled: true, value: hot}, taint: {key: a/b}, rejectTaint: {enabled: true, key: a/c}}",
			want: func(p *LoadPolicy) {
				a := &p.NodeSync.Annotations
				a.Enabled, a.Windows = true, []usage.Window{mustWindow("p95_1h"), usage.Avg5m}
				a.Periods[usage.Avg5m] = duration(time.Minute)
				a.Periods[mustWindow("p95_1h")] = duration(15 * time.Minute)
				p.NodeSync.Label = NodeSyncLabel{Enabled: true, Key: "status", Value: "hot"}
				p.NodeSync.Taint.Key = "a/b"
				p.NodeSync.RejectTaint = NodeSyncTaint{Enabled: true, Key: "a/c", Value: "true"}
			},
		},
		"aliases are followed": {
			text: "lines: {cpu: &same {low: 10, reject: 20, evict: 30, leave: 20}, memory: *same}",
			want: func(p *LoadPolicy) {
				same := MetricLines{Levels: levels(10, 20, 30, 20)}
				p.Lines = Lines{usage.CPU: same, usage.Memory: same}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Load("policy.yaml", []byte(loadPolicyHeader+tc.text), known)
			if err != nil {
				t.Fatal(err)
			}
			want := Default(known)
			tc.want(&want)
			if diff := cmp.Diff(want, got.Load); diff != "" {
				t.Errorf("LoadPolicy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultIsValidAndNotShared(t *testing.T) {
	first := Default(known)
	if errs := Validate(&first, known); len(errs) > 0 {
		t.Fatalf("Validate(Default(known)) = %v", errs)
	}
	*first.Lines[usage.CPU].Evict = 0
	first.NodeSync.Annotations.Periods[usage.Avg5m] = duration(0)
	first.Eviction.SchedulerNames[0] = "changed"
	second := Default(known)
	if errs := Validate(&second, known); len(errs) > 0 || second.Eviction.SchedulerNames[0] != v1.DefaultSchedulerName {
		t.Error("a change to one copy of the defaults shows in the next")
	}
}

// mustWindow parses a window's name. For an invalid name, it returns a window that no policy has.
func mustWindow(name string) usage.Window {
	var w usage.Window
	if err := w.UnmarshalText([]byte(name)); err != nil {
		return usage.Window{Kind: 99}
	}
	return w
}
