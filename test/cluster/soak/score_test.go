package soak

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestScore(t *testing.T) {
	s := NewScore(ScoreConfig{
		Nodes: []string{"a", "b"}, Node: Amounts{CPUMilli: 1000, MemoryBytes: 1000},
		Lines: Lines{CPUPercent: 65, MemoryPercent: 80}, Every: time.Minute,
	})
	cool := map[string]Amounts{"a": {400, 100}, "b": {200, 100}}
	hot := map[string]Amounts{"a": {800, 100}, "b": {200, 900}}
	at := start
	// The first sample starts the clock. Three cool minutes and two hot ones follow. By the
	// five-minute means, node a is at (3 × 40 + 2 × 80) / 5 = 56 %, node b at (3 × 10 + 2 × 90) / 5
	// = 42 % of memory, and neither is hot.
	for range 4 {
		s.Sample(cool, at)
		at = at.Add(time.Minute)
	}
	for range 2 {
		if now := s.Sample(hot, at); now.HotNodes != 2 || now.SustainedNodes != 0 || now.PeakPercent != 80 {
			t.Errorf("now %+v, want 2 hot nodes, none of them for long", now)
		}
		at = at.Add(time.Minute)
	}
	want := Totals{
		NodeMinutes: 10, HotNodeMinutes: 4, PeakPercent: 80, LongestGapSeconds: 60,
		// three minutes at 30 ± 10 and two at 50 ± 30
		MeanPercent: (3*30 + 2*50) / 5., DeviationPercent: (3*10 + 2*30) / 5.,
		// memory: three minutes at ± 0 and two at ± 40
		MemoryDeviationPercent: 2 * 40 / 5.,
	}
	if diff := cmp.Diff(want, s.Totals(), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	// After two more minutes, the window holds four hot ones and one cool: (40 + 4 × 80) / 5 = 72
	// %.
	s.Sample(hot, at)
	if now := s.Sample(hot, at.Add(time.Minute)); now.SustainedNodes != 1 {
		t.Errorf("%d nodes are hot by their means, want node a; b is at 74 %% of memory", now.SustainedNodes)
	}
}

func TestScoreSurvivesAClockThatStandsStill(t *testing.T) {
	s := NewScore(ScoreConfig{Nodes: []string{"a"}, Node: Amounts{CPUMilli: 1000, MemoryBytes: 1000}, Every: time.Hour})
	s.Sample(nil, start)
	s.Sample(nil, start)
	s.Sample(nil, start.Add(-time.Minute))
	if totals := s.Totals(); totals.NodeMinutes != 0 || math.IsNaN(totals.MeanPercent) {
		t.Errorf("totals %+v, want none", totals)
	}
}

func TestTrend(t *testing.T) {
	ramp := func(n int, from, by int64) []int64 {
		samples := make([]int64, n)
		for i := range samples {
			samples[i] = from + int64(i)*by
		}
		return samples
	}
	for name, tc := range map[string]struct {
		samples []int64
		want    Flat
	}{
		"nothing measured":            {nil, TooShort},
		"a few samples":               {ramp(15, 100, 100), TooShort},
		"a constant":                  {ramp(16, 100, 0), IsFlat},
		"a leak":                      {ramp(40, 100, 10), Grew},
		"a slow one within the slack": {ramp(40, 1000, 1), IsFlat},
		"much to begin with and then for ever less": {ramp(40, 1000, -10), IsFlat},
		"start-up is no growth":                     {append(ramp(10, 100, 50), ramp(30, 600, 0)...), IsFlat},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewTrend(tc.samples, 10).Verdict; got != tc.want {
				t.Errorf("verdict %q, want %q", got, tc.want)
			}
		})
	}
}
