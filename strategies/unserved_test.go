package strategies

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// short returns a pod with these values in milli-cores.
func short(used, request, limit, peak int64) Pod {
	return Pod{
		Pod:   &cluster.Pod{Requests: cluster.Amounts{request}, Limits: cluster.Amounts{limit}},
		Usage: cluster.Amounts{used, 1 << 30}, PeakMilliCores: peak,
	}
}

func TestUnserved(t *testing.T) {
	most := short(1000, 500, 0, 0) // gets two for each that it requests
	for name, tc := range map[string]struct {
		pod  Pod
		want int64
	}{
		"wants what it recently used":            {short(500, 250, 0, 900), 400},
		"a little short of the most":             {short(495, 250, 0, 900), 405},
		"gets what it requests":                  {short(400, 250, 0, 900), 0},
		"never used more":                        {short(500, 250, 0, 300), 0},
		"up to its limit":                        {short(500, 250, 600, 900), 100},
		"held back by its limit, not by others":  {short(550, 250, 600, 900), 0},
		"without a request, any pod comes first": {short(10, 0, 0, 900), 890},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []Pod{most, tc.pod}
			if sum := EstimateUnserved(pods); sum != tc.want || pods[1].Unserved != tc.want || pods[0].Unserved != 0 {
				t.Errorf("%d, and %d in all, are wanted in addition, want %d", pods[1].Unserved, sum, tc.want)
			}
			if want := (cluster.Amounts{tc.pod.Usage[cluster.CPU] + tc.want, 1 << 30}); pods[1].Wanted() != want {
				t.Errorf("%v are wanted, want %v", pods[1].Wanted(), want)
			}
		})
	}
	if EstimateUnserved(nil) != 0 {
		t.Error("no pod wants more")
	}
}

// For any measurements, unserved demand is never negative, and no pod is assumed to want more than
// its limit or its peak. The pod that gets the most relative to its request wants more if it
// recently used more.
func TestUnservedIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	figure := func() int64 { return []int64{0, 1, r.Int64N(100), r.Int64N(100_000), 1 << 32}[r.IntN(5)] }
	for range 20_000 {
		pods, most := make([]Pod, 1+r.IntN(8)), 0.0
		for i := range pods {
			pods[i] = short(figure(), figure(), figure(), figure())
			if request := pods[i].Requests[cluster.CPU]; request > 0 {
				most = max(most, float64(pods[i].Usage[cluster.CPU])/float64(request))
			}
		}
		sum := EstimateUnserved(pods)
		for i := range pods {
			p := &pods[i]
			used, limit := p.Usage[cluster.CPU], p.Limits[cluster.CPU]
			if sum -= p.Unserved; p.Unserved < 0 || p.Unserved > p.PeakMilliCores || limit > 0 && p.Unserved > 0 && used+p.Unserved > limit {
				t.Fatalf("one that uses %d of at most %d, and %d lately, is thought to want %d in addition", used, limit, p.PeakMilliCores, p.Unserved)
			}
			if first := float64(used) >= most*float64(max(p.Requests[cluster.CPU], leastRequest)); first && limit == 0 && used < p.PeakMilliCores && p.Unserved == 0 {
				t.Fatalf("one that uses %d, more for its request than any, and %d lately, is thought to want no more", used, p.PeakMilliCores)
			}
		}
		if sum != 0 {
			t.Fatalf("the sum is off by %d", sum)
		}
	}
}

func BenchmarkEstimateUnserved(b *testing.B) {
	pods := slices.Repeat([]Pod{short(500, 250, 0, 900), short(20, 250, 0, 90)}, 50)
	b.ReportAllocs()
	for b.Loop() {
		EstimateUnserved(pods)
	}
}
