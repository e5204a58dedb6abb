package policy

import (
	"math"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
)

// A LoadPolicy built by code can hold values that no file can. Validate rejects these as well.
func TestValidateRefusesWhatOnlyCodeCanWrite(t *testing.T) {
	cases := map[string]func(*LoadPolicy){
		"everything zero":         func(p *LoadPolicy) { *p = LoadPolicy{} },
		"coverage NaN":            func(p *LoadPolicy) { p.Usage.MinCoveragePercent = math.NaN() },
		"queries infinite":        func(p *LoadPolicy) { p.Usage.QueriesPerSecond = math.Inf(1) },
		"gap NaN":                 func(p *LoadPolicy) { p.MinGapPercent = math.NaN() },
		"evict line NaN":          func(p *LoadPolicy) { setCPU(p, levels(1, 2, math.NaN(), 2)) },
		"evict line infinite":     func(p *LoadPolicy) { setCPU(p, levels(1, 2, math.Inf(1), 2)) },
		"low line minus infinite": func(p *LoadPolicy) { setCPU(p, levels(math.Inf(-1), 2, 9, 2)) },
		"estimate NaN":            func(p *LoadPolicy) { p.Scoring.Estimate.CPUPercentOfRequest = math.NaN() },
		"damping NaN":             func(p *LoadPolicy) { p.Scoring.DampPercent = math.NaN() },
		"gain NaN":                func(p *LoadPolicy) { p.Eviction.MinGainPercent = math.NaN() },
		"gain infinite":           func(p *LoadPolicy) { p.Eviction.MinGainPercent = math.Inf(1) },
		"refusals NaN":            func(p *LoadPolicy) { p.Eviction.Breaker.MaxRefusedPercent = math.NaN() },
		"nodes not ready NaN":     func(p *LoadPolicy) { p.Eviction.Breaker.MaxNotReadyPercent = math.NaN() },
		"a breaker of zeros":      func(p *LoadPolicy) { p.Eviction.Breaker = Breaker{} },
		"a budget that overflows": func(p *LoadPolicy) { p.Eviction.MaxMovesPerHour = intstr.FromInt32(math.MaxInt32) },
		"a fraction of a second":  func(p *LoadPolicy) { p.Eviction.ForecastPeriod = duration(time.Hour + time.Millisecond) },
		"the longest cooldown":    func(p *LoadPolicy) { p.Eviction.Cooldown.Max = duration(math.MaxInt64) },
		"the longest of periods": func(p *LoadPolicy) {
			p.Eviction.Windows = []Period{{Schedule: "@daily", Duration: duration(math.MaxInt64)}}
		},
		"a period of zeros":          func(p *LoadPolicy) { p.Eviction.Blackouts = make([]Period, 1) },
		"too many periods":           func(p *LoadPolicy) { p.Eviction.Blackouts = make([]Period, 1_000_000) },
		"too many hot values":        func(p *LoadPolicy) { p.Scoring.HotValue = make([]HotValue, 1_000_000) },
		"a hot value that overflows": func(p *LoadPolicy) { p.Scoring.HotValue = []HotValue{{duration(time.Minute), math.MaxInt}} },
		"weights that overflow":      func(p *LoadPolicy) { p.Scoring.Weights[v1.ResourceCPU] = math.MaxInt64 },
		"samples that overflow":      func(p *LoadPolicy) { p.Hot.ConsecutiveSamples = math.MaxInt },
		"a level left out":           func(p *LoadPolicy) { setCPU(p, Levels{Low: new(1.0)}) },
		"a pool without lines":       func(p *LoadPolicy) { p.NodePools = []NodePool{pool("a", nil)} },
		"a pool without a selector": func(p *LoadPolicy) {
			p.NodePools = []NodePool{{Name: "a", Lines: Default(known).Lines}}
		},
		"a pool with a line NaN": func(p *LoadPolicy) {
			p.NodePools = []NodePool{pool("a", Default(known).Lines)}
			*p.NodePools[0].Lines[usage.CPU].Evict = math.NaN()
		},
		"too many pools": func(p *LoadPolicy) {
			for i := range maxPools + 1 {
				p.NodePools = append(p.NodePools, pool(strconv.Itoa(i), p.Lines))
			}
		},
		"a source without its block": func(p *LoadPolicy) { p.Usage.Sources = []Source{{Type: "Prometheus"}} },
		"a source of zeros": func(p *LoadPolicy) {
			p.Usage.Sources = []Source{{Type: "Kubelet", Config: new(kubelet.Config)}}
		},
		"a window without a kind":   func(p *LoadPolicy) { p.Hot.Windows = append(p.Hot.Windows, usage.Window{Kind: 99}) },
		"a window without a length": func(p *LoadPolicy) { p.Hot.Windows = append(p.Hot.Windows, usage.Window{Kind: usage.KindAvg}) },
		"a written window's name":   func(p *LoadPolicy) { p.NodeSync.Annotations.Windows = []usage.Window{{Kind: 99}} },
		"a period left out":         func(p *LoadPolicy) { p.NodeSync.Annotations.Periods = nil },
		"the machine's local zone":  func(p *LoadPolicy) { p.NodeSync.Annotations.Timezone = "Local" },
		"the longest of durations":  func(p *LoadPolicy) { p.Usage.MaxAge = duration(math.MaxInt64) },
		"the shortest of durations": func(p *LoadPolicy) {
			p.Usage.SampleInterval = duration(time.Duration(math.MinInt64))
		},
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			p := Default(known)
			breakIt(&p)
			if errs := Validate(&p, known); len(errs) == 0 {
				t.Errorf("Validate accepted %+v", p)
			}
		})
	}
}

func setCPU(p *LoadPolicy, l Levels) { p.Lines[usage.CPU] = MetricLines{Levels: l} }

func pool(name string, lines Lines) NodePool {
	return NodePool{
		Name:     name,
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}},
		Lines:    lines,
	}
}
