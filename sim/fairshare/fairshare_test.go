package fairshare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// whole returns claims for the whole time.
func whole(demandsAndWeights ...float64) (claims []Claim) {
	for pair := range slices.Chunk(demandsAndWeights, 2) {
		claims = append(claims, Claim{Demand: pair[0], Weight: pair[1], Ran: 1})
	}
	return claims
}

func TestLevel(t *testing.T) {
	for name, tc := range map[string]struct {
		claims []Claim
		of     float64
		want   float64
	}{
		"all are served":                       {whole(300, 1, 700, 1), 1000, math.Inf(1)},
		"no pods":                              {nil, 1000, math.Inf(1)},
		"alike":                                {whole(900, 1, 900, 1), 1000, 500},
		"who asks for little gets it":          {whole(100, 1, 900, 1, 900, 1), 1000, 450},
		"by weight":                            {whole(900, 1, 900, 3), 1000, 250},
		"little for a high weight":             {whole(100, 9, 2000, 1), 1000, 900},
		"who came in the middle takes half":    {[]Claim{{900, 1, 1}, {900, 1, 0.5}}, 900, 600},
		"who did not run takes nothing":        {[]Claim{{900, 1, 1}, {900, 1, 0}}, 600, 600},
		"nothing is left beside the system":    {whole(900, 1), -50, 0},
		"who wants nothing is no reason to be": {whole(0, 1, 900, 1), 600, 600},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Level(tc.claims, tc.of); math.Abs(got-tc.want) > 1e-9 && got != tc.want {
				t.Errorf("a level of %v, want %v", got, tc.want)
			}
		})
	}
}

// All CPU of a full node is distributed, and a node that can serve all demand serves it.
func TestLevelGivesAllAway(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		claims, asked := make([]Claim, 1+r.IntN(30)), 0.0
		for i := range claims {
			claims[i] = Claim{Demand: math.Floor(r.ExpFloat64() * 500), Weight: float64(2 + r.IntN(4000)), Ran: min(2*r.Float64(), 1)}
			asked += claims[i].Demand * claims[i].Ran
		}
		of := 4 * r.Float64() * 500 * float64(len(claims)) / 3
		level, served := Level(claims, of), 0.0
		for _, c := range claims {
			served += min(c.Demand, level*c.Weight) * c.Ran
		}
		if want := min(of, asked); math.IsNaN(level) || math.Abs(served-want) > 1e-6*(1+want) {
			t.Fatalf("%v of %v is served for a demand of %v, at a level of %v", served, of, asked, level)
		}
	}
}

func BenchmarkLevel(b *testing.B) {
	claims, shuffled := whole(slices.Repeat([]float64{900, 1, 100, 2, 50, 1, 2000, 4}, 8)...), make([]Claim, 32)
	b.ReportAllocs()
	for b.Loop() {
		copy(shuffled, claims)
		Level(shuffled, 4000)
	}
}
