package policy

import (
	"math"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A LoadPolicy built by code can hold what no file can; Validate refuses it too.
func TestValidateRefusesWhatOnlyCodeCanWrite(t *testing.T) {
	cases := map[string]func(*LoadPolicy){
		"everything zero":          func(p *LoadPolicy) { *p = LoadPolicy{} },
		"coverage NaN":             func(p *LoadPolicy) { p.Usage.MinCoveragePercent = math.NaN() },
		"queries infinite":         func(p *LoadPolicy) { p.Usage.QueriesPerSecond = math.Inf(1) },
		"gap NaN":                  func(p *LoadPolicy) { p.MinGapPercent = math.NaN() },
		"evict line NaN":           func(p *LoadPolicy) { setCPU(p, ResourceLines{Low: 1, Reject: 2, Evict: math.NaN(), Leave: 2}) },
		"evict line infinite":      func(p *LoadPolicy) { setCPU(p, ResourceLines{Low: 1, Reject: 2, Evict: math.Inf(1), Leave: 2}) },
		"low line minus infinite":  func(p *LoadPolicy) { setCPU(p, ResourceLines{Low: math.Inf(-1), Reject: 2, Evict: 9, Leave: 2}) },
		"estimate NaN":             func(p *LoadPolicy) { p.Scoring.Estimate.CPUPercentOfRequest = math.NaN() },
		"damping NaN":              func(p *LoadPolicy) { p.Scoring.DampPercent = math.NaN() },
		"weights that overflow":    func(p *LoadPolicy) { p.Scoring.Weights[v1.ResourceCPU] = math.MaxInt64 },
		"samples that overflow":    func(p *LoadPolicy) { p.Hot.ConsecutiveSamples = math.MaxInt },
		"the longest of durations": func(p *LoadPolicy) { p.Usage.MaxAge = duration(math.MaxInt64) },
		"the shortest of durations": func(p *LoadPolicy) {
			p.Usage.SampleInterval = duration(time.Duration(math.MinInt64))
		},
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			p := Default()
			breakIt(&p)
			if errs := Validate(&p); len(errs) == 0 {
				t.Errorf("Validate accepted %+v", p)
			}
		})
	}
}

func setCPU(p *LoadPolicy, lines ResourceLines) { p.Lines[v1.ResourceCPU] = lines }
