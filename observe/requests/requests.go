// Package requests names the owners whose CPU requests mislead kube-scheduler.
// kube-scheduler places pods by what they request. A pod that uses more is more load than
// kube-scheduler knew of, and where several such pods meet, a node becomes hot. For each
// owner, the package compares requests with usage, determines which part of the heat of
// hot nodes is due to its pods, and advises a request.
//
// It judges CPU only.
package requests

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// Cluster is what is judged.
type Cluster struct {
	Nodes  []Node
	Owners []Owner
}

// Node is a node and what its pods request.
type Node struct {
	Name                   string
	Allocatable, Requested cluster.Amounts
	// UsedMilliCores is the measured usage, and LineMilliCores the evict line;
	// MaxInt64 if there is none.
	UsedMilliCores, LineMilliCores int64
	// Hot reports whether the node is hot by CPU, and HotFor for how long it has been.
	Hot    bool
	HotFor time.Duration
	// Open reports whether the node accepts pods.
	Open bool
}

// Owner is a workload with its measured pods.
type Owner struct {
	Namespace, Kind, Name string
	Replicas              []Replica
	// Unmeasured is the number of further pods, whose usage is not known.
	Unmeasured int
	// Evictions is how many of its pods were evicted to relieve nodes.
	Evictions int
}

// Replica is one measured pod.
type Replica struct {
	Pod string
	// Node is the index of its node in Cluster.Nodes.
	Node             int
	Requests, Limits cluster.Amounts
	// UsedMilliCores is the five-minute mean, and Levels what the pod used before.
	UsedMilliCores int64
	Levels         forecast.Levels
}

// The rules by which owners are judged.
const (
	// tolerated is how much more than its request an owner's average pod may use. Nobody
	// knows usage exactly in advance, and the averages are known to within 6 %.
	tolerated = 1.25
	// leastShort is the difference between usage and request, in milli-cores per pod,
	// below which a request is never called too low.
	leastShort = 20
	// mostMisplaced is the share of an owner's usage that even the best single request
	// may attribute to the wrong pods. On three recorded days of PlanetLab, whose
	// replicas have nothing in common, nearly all owners of ten are above it.
	mostMisplaced = 1.0 / 3
)

// Judge returns what is known of the requests of each owner that does not ask for what it
// uses, the most costly first, and of each hot node. Owners whose requests are right on
// average come last.
func Judge(c *Cluster) Report {
	heats := make([]heat, len(c.Nodes))
	report := Report{Nodes: c.heat(heats), Owners: []Finding{}}
	for i := range c.Owners {
		owner := &c.Owners[i]
		report.Pods += len(owner.Replicas) + owner.Unmeasured
		report.Unmeasured += owner.Unmeasured
		if len(owner.Replicas) == 0 {
			continue
		}
		f := c.find(owner, heats)
		report.share(c, owner, heats)
		if f.Verdict != "" {
			report.Owners = append(report.Owners, f)
		}
	}
	slices.SortStableFunc(report.Owners, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.bursts(), b.bursts()), cmp.Compare(b.HotMinutes, a.HotMinutes), cmp.Compare(b.HeatMilliCores, a.HeatMilliCores), cmp.Compare(b.Evictions, a.Evictions),
			cmp.Compare(b.short(), a.short()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	for i := range report.Nodes {
		report.Nodes[i].sort()
	}
	return report
}

// untold returns what a pod uses beyond its request, in milli-cores.
func (r *Replica) untold() int64 { return max(r.UsedMilliCores-r.Requests[cluster.CPU], 0) }

// heat is how the heat of a hot node is divided; zero for a node that is not hot.
type heat struct {
	// perUntold is the part of the node's excess for which a pod accounts per milli-core
	// that it uses beyond its request. It is 1 if requests told kube-scheduler about the
	// rest of the excess. If pods use more beyond their requests than the node is above
	// its line, it is less, so that each accounts for its share.
	perUntold float64
	// at is the node's index among the hot nodes.
	at int
}

// heat returns the hot nodes, and sets how the heat of each is divided.
func (c *Cluster) heat(heats []heat) []HotNode {
	untold := make([]int64, len(c.Nodes))
	for i := range c.Owners {
		for j := range c.Owners[i].Replicas {
			r := &c.Owners[i].Replicas[j]
			untold[r.Node] += r.untold()
		}
	}
	hot := []HotNode{}
	for i := range c.Nodes {
		node := &c.Nodes[i]
		if !node.Hot {
			continue
		}
		excess := node.excess()
		if untold[i] > 0 {
			heats[i] = heat{perUntold: min(1, float64(excess)/float64(untold[i])), at: len(hot)}
		}
		hot = append(hot, HotNode{
			Name: node.Name, UsedMilliCores: node.UsedMilliCores, RequestedMilliCores: node.Requested[cluster.CPU],
			AllocatableMilliCores: node.Allocatable[cluster.CPU], LineMilliCores: node.LineMilliCores, HotMinutes: minutes(node.HotFor),
			UntoldMilliCores: untold[i], ExplainedPercent: percent(min(float64(untold[i])/float64(excess), 1)), Owners: []Share{},
		})
	}
	return hot
}

// excess is how far a hot node is above its evict line, in milli-cores. A hot node may
// have just come below it.
func (n *Node) excess() int64 { return max(n.UsedMilliCores-n.LineMilliCores, 1) }

func minutes(d time.Duration) float64 { return math.Round(10*d.Minutes()) / 10 }

func percent(share float64) float64 { return math.Round(1000*share) / 10 }

// find judges one owner.
func (c *Cluster) find(owner *Owner, heats []heat) Finding {
	f := Finding{
		Namespace: owner.Namespace, Kind: owner.Kind, Name: owner.Name, Pods: len(owner.Replicas) + owner.Unmeasured, Measured: len(owner.Replicas),
		ExamplePod: owner.Replicas[0].Pod, Evictions: owner.Evictions,
	}
	f.compare(owner.Replicas)
	excess := 0.0 // of the nodes on which it has pods
	seen := map[int]bool{}
	for i := range owner.Replicas {
		r := &owner.Replicas[i]
		node := &c.Nodes[r.Node]
		if !node.Hot {
			continue
		}
		caused := heats[r.Node].perUntold * float64(r.untold())
		f.HeatMilliCores += caused
		f.HotMinutes += node.HotFor.Minutes() * caused / float64(node.excess())
		if !seen[r.Node] {
			seen[r.Node] = true
			f.HotNodes = append(f.HotNodes, node.Name)
			excess += float64(node.excess())
		}
	}
	if excess > 0 {
		f.HeatPercent = percent(f.HeatMilliCores / excess)
	}
	f.HeatMilliCores, f.HotMinutes = math.Round(f.HeatMilliCores), math.Round(10*f.HotMinutes)/10
	switch wrong := f.short() >= leastShort && float64(f.MeanMilliCores) > tolerated*float64(f.RequestMilliCores); {
	case !wrong && f.HeatMilliCores == 0:
	case f.MisplacedPercent > 100*mostMisplaced:
		f.Verdict = Uneven
	case wrong:
		f.Verdict = TooLow
		f.Advice = c.advise(owner, f.P95MilliCores)
	default:
		f.Verdict = Bursts
	}
	return f
}

// compare sets what the replicas ask for and use.
func (f *Finding) compare(replicas []Replica) {
	var pool forecast.Pool
	means, requested := make([]int64, len(replicas)), int64(0)
	for i := range replicas {
		r := &replicas[i]
		levels := r.Levels
		if levels == (forecast.Levels{}) { // the pod was observed for less than five minutes
			levels.Add(0, r.UsedMilliCores)
		}
		var own forecast.Pool
		own.Add(&levels)
		pool.Add(&levels)
		means[i] = own.Mean()
		requested += r.Requests[cluster.CPU]
	}
	slices.Sort(means)
	n := int64(len(replicas))
	f.RequestMilliCores, f.MeanMilliCores = requested/n, pool.Mean()
	f.P50MilliCores, f.P95MilliCores, f.PeakMilliCores = pool.At(50), pool.At(95), pool.At(100)
	f.LowestMilliCores, f.HighestMilliCores = means[0], means[n-1]
	f.MinutesKnown = int(pool.Count() / n * 5)
	f.MisplacedPercent = percent(misplaced(means))
}

// misplaced returns the share of the pods' total usage by which usage differs from the
// best single request. That is the median, because no other value has a smaller sum of
// differences. means must be sorted.
func misplaced(means []int64) float64 {
	best, off, sum := means[len(means)/2], int64(0), int64(0)
	for _, mean := range means {
		off += max(mean-best, best-mean)
		sum += mean
	}
	return float64(off) / float64(max(sum, 1))
}

// share adds the owner's shares of the heat of nodes.
func (r *Report) share(c *Cluster, owner *Owner, heats []heat) {
	for i := range owner.Replicas {
		replica := &owner.Replicas[i]
		of := heats[replica.Node]
		if of.perUntold == 0 || replica.untold() == 0 {
			continue
		}
		hot := &r.Nodes[of.at]
		last := len(hot.Owners) - 1
		if last < 0 || hot.Owners[last].of != owner {
			hot.Owners = append(hot.Owners, Share{of: owner, Namespace: owner.Namespace, Kind: owner.Kind, Name: owner.Name})
			last++
		}
		s := &hot.Owners[last]
		s.Pods++
		s.UntoldMilliCores += replica.untold()
		s.HeatPercent = percent(of.perUntold * float64(s.UntoldMilliCores) / float64(c.Nodes[replica.Node].excess()))
	}
}
