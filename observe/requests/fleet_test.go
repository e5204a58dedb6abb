package requests

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// A fleet has 100 owners with 2 to 12 pods each, placed by their requests. Five owners lie:
// they ask for a tenth to six tenths of what they use. The others are honest, but no two are alike. They ask for
// anything between 0.9 and 2.5 times their mean usage. Their usage follows the day, has bursts of three times the
// mean, differs between pods, and is noisy.
type fleet struct {
	cluster Cluster
	liars   map[string]bool
}

const (
	fleetNodes  = 40
	fleetOwners = 100
	fleetLiars  = 5
	daySamples  = 288
)

// load is the usage of an owner's pods over a day, relative to its mean.
type load struct {
	wave, noise, phase, bursts float64
}

func (l *load) at(rng *rand.Rand, sample int) float64 {
	v := 1 + l.wave*math.Sin(2*math.Pi*(float64(sample)/daySamples+l.phase)) + l.noise*rng.NormFloat64()
	if rng.Float64() < l.bursts {
		v += 2
	}
	return max(v, 0.02)
}

func newFleet(seed uint64) *fleet {
	rng := rand.New(rand.NewPCG(seed, 44))
	f := &fleet{liars: map[string]bool{}}
	for i := range fleetNodes {
		f.cluster.Nodes = append(f.cluster.Nodes, Node{
			Name: fmt.Sprint("n", i), Allocatable: cluster.Amounts{8000, 64 * gib}, LineMilliCores: 5200, Open: true,
		})
	}
	for i := range fleetOwners {
		f.add(rng, fmt.Sprint("owner-", i), i%(fleetOwners/fleetLiars) == 7)
	}
	for i := range f.cluster.Nodes {
		node := &f.cluster.Nodes[i]
		if node.Hot = node.UsedMilliCores > node.LineMilliCores; node.Hot {
			node.HotFor = time.Duration(1+rng.IntN(120)) * time.Minute
		}
	}
	return f
}

// add adds an owner and places its pods.
func (f *fleet) add(rng *rand.Rand, name string, lies bool) {
	owner := Owner{Namespace: "shop", Kind: "Deployment", Name: name}
	mean := 60 * math.Exp2(3*rng.Float64()) // 60 to 480 milli-cores
	asks := 0.9 + 1.6*rng.Float64()
	if lies {
		f.liars[name] = true
		mean = 300 + 500*rng.Float64()
		asks = 0.1 + 0.5*rng.Float64()
	}
	l := load{wave: 0.6 * rng.Float64(), noise: 0.3 * rng.Float64(), phase: rng.Float64(), bursts: 0.05 * rng.Float64()}
	request := cluster.Amounts{int64(asks * mean), gib / 4}
	for range 2 + rng.IntN(11) {
		r := Replica{Pod: fmt.Sprint(name, "-", len(owner.Replicas)), Node: f.place(rng), Requests: request}
		own := mean * (0.85 + 0.3*rng.Float64())
		for s := range daySamples {
			r.UsedMilliCores = int64(own * l.at(rng, s))
			r.Levels.Add(uint32(300*(s+1)), r.UsedMilliCores)
		}
		node := &f.cluster.Nodes[r.Node]
		node.Requested = node.Requested.Plus(request)
		node.UsedMilliCores += r.UsedMilliCores
		owner.Replicas = append(owner.Replicas, r)
	}
	f.cluster.Owners = append(f.cluster.Owners, owner)
}

// place returns the node with the fewest requests among ten, as kube-scheduler samples nodes in a large cluster.
func (f *fleet) place(rng *rand.Rand) int {
	best := rng.IntN(fleetNodes)
	for range 9 {
		if i := rng.IntN(fleetNodes); f.cluster.Nodes[i].Requested[cluster.CPU] < f.cluster.Nodes[best].Requested[cluster.CPU] {
			best = i
		}
	}
	return best
}

// In a fleet of 100 owners, the five that lie are the five that cost the most, and they are the ones to be told so.
func TestLiarsAmongManyOwners(t *testing.T) {
	named, liars, first, hot := 0, 0, 0, 0
	right := 0
	for seed := range uint64(10) {
		f := newFleet(seed)
		report := Judge(&f.cluster)
		hot += len(report.Nodes)
		for i := range report.Owners {
			finding := &report.Owners[i]
			if i < fleetLiars && f.liars[finding.Name] {
				first++
			}
			if finding.Verdict == TooLow {
				named++
				if f.liars[finding.Name] {
					right++
				} else {
					t.Logf("seed %d: %s asks for %d and uses %d", seed, finding.Name, finding.RequestMilliCores, finding.MeanMilliCores)
				}
			}
		}
		liars += len(f.liars)
	}
	precision, recall, ranked := float64(right)/float64(max(named, 1)), float64(right)/float64(liars), float64(first)/float64(liars)
	t.Logf("%d hot nodes, %d liars: precision %.2f, recall %.2f; %.2f of the five that cost the most lie", hot, liars, precision, recall, ranked)
	if precision < 0.9 || recall < 0.9 || ranked < 0.9 || hot == 0 {
		t.Errorf("precision %.2f, recall %.2f, ranked %.2f, want at least 0.9; %d hot nodes", precision, recall, ranked, hot)
	}
}

// Making every request what was advised tells kube-scheduler about the load: the pods that lied ask for no less than
// they use on average.
func TestAdviceIsTrue(t *testing.T) {
	f := newFleet(3)
	report := Judge(&f.cluster)
	advised := map[string]int64{}
	for i := range report.Owners {
		if advice := report.Owners[i].Advice; advice != nil {
			advised[report.Owners[i].Name] = advice.RequestMilliCores
		}
	}
	for i := range f.cluster.Owners {
		owner := &f.cluster.Owners[i]
		for j := range owner.Replicas {
			if to := advised[owner.Name]; to > 0 {
				owner.Replicas[j].Requests[cluster.CPU] = to
			}
		}
	}
	again := Judge(&f.cluster)
	for i := range again.Owners {
		if again.Owners[i].Verdict == TooLow {
			t.Errorf("%s would still ask for too little: %+v", again.Owners[i].Name, again.Owners[i])
		}
	}
	if len(advised) == 0 {
		t.Error("nothing was advised")
	}
}

// levels makes Levels of a series of five-minute means.
func levels(series []float64) (l forecast.Levels) {
	for i, v := range series {
		l.Add(uint32(300*(i+1)), int64(math.Round(v)))
	}
	return l
}
