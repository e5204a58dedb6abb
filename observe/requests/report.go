package requests

import (
	"cmp"
	"slices"
)

// Report is the result of Judge. All amounts are CPU in milli-cores.
type Report struct {
	// Nodes are the hot nodes.
	Nodes []HotNode `json:"nodes"`
	// Owners are those that do not ask for what they use, the most costly first.
	Owners []Finding `json:"owners"`
	// Pods counts all pods, and Unmeasured those whose usage is not known.
	Pods       int `json:"pods"`
	Unmeasured int `json:"unmeasured"`
}

// HotNode is a node that is hot by CPU.
type HotNode struct {
	Name                  string `json:"name"`
	UsedMilliCores        int64  `json:"usedMilliCores"`
	RequestedMilliCores   int64  `json:"requestedMilliCores"`
	AllocatableMilliCores int64  `json:"allocatableMilliCores"`
	// LineMilliCores is the evict line.
	LineMilliCores int64 `json:"evictMilliCores"`
	// HotMinutes is how long the node has been hot.
	HotMinutes float64 `json:"hotMinutes"`
	// UntoldMilliCores is what its pods use beyond their requests, and ExplainedPercent
	// the part of the usage above the evict line that this explains.
	UntoldMilliCores int64   `json:"untoldMilliCores"`
	ExplainedPercent float64 `json:"explainedPercent"`
	// Owners are those with the largest shares, the largest first.
	Owners []Share `json:"owners"`
}

// Share is an owner's share of the heat of a node.
type Share struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Pods      int    `json:"pods"`
	// UntoldMilliCores is what its pods there use beyond their requests, and HeatPercent
	// their part of the usage above the evict line.
	UntoldMilliCores int64   `json:"untoldMilliCores"`
	HeatPercent      float64 `json:"heatPercent"`

	of *Owner
}

// mostShares bounds the owners that are listed for a node.
const mostShares = 10

func (n *HotNode) sort() {
	slices.SortStableFunc(n.Owners, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.UntoldMilliCores, a.UntoldMilliCores), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	n.Owners = slices.Clip(n.Owners[:min(len(n.Owners), mostShares)])
}

// Verdict is what is wrong with the requests of an owner.
type Verdict string

const (
	// TooLow means that the average pod uses more than it asks for.
	TooLow Verdict = "TooLow"
	// Uneven means that the pods differ too much for any single request.
	Uneven Verdict = "Uneven"
	// Bursts means that requests are right on average, but pods on hot nodes use more now.
	Bursts Verdict = "Bursts"
)

// Verdicts lists every Verdict.
func Verdicts() []Verdict { return []Verdict{TooLow, Uneven, Bursts} }

// Finding is what is known of an owner that does not ask for what it uses. Amounts are
// per pod unless stated otherwise.
type Finding struct {
	Namespace string  `json:"namespace"`
	Kind      string  `json:"kind"`
	Name      string  `json:"name"`
	Verdict   Verdict `json:"verdict"`
	// Pods counts its pods, and Measured those whose usage is known.
	Pods     int `json:"pods"`
	Measured int `json:"measured"`
	// ExamplePod is one of the measured pods.
	ExamplePod string `json:"examplePod"`
	// RequestMilliCores is what the average pod requests. The next four are what pods use.
	RequestMilliCores int64 `json:"requestMilliCores"`
	MeanMilliCores    int64 `json:"meanMilliCores"`
	P50MilliCores     int64 `json:"p50MilliCores"`
	P95MilliCores     int64 `json:"p95MilliCores"`
	PeakMilliCores    int64 `json:"peakMilliCores"`
	// LowestMilliCores and HighestMilliCores are the means of the pods that use least and
	// most. MisplacedPercent is the part of all usage that even the best single request
	// attributes to the wrong pods.
	LowestMilliCores  int64   `json:"lowestMilliCores"`
	HighestMilliCores int64   `json:"highestMilliCores"`
	MisplacedPercent  float64 `json:"misplacedPercent"`
	// MinutesKnown is for how long the average pod was measured.
	MinutesKnown int `json:"minutesKnown"`
	// HotNodes are the hot nodes on which it has pods. HeatMilliCores is its part of the
	// usage above their evict lines, HeatPercent the same in percent, and HotMinutes that
	// part of the time for which they have been hot.
	HotNodes       []string `json:"hotNodes,omitempty"`
	HeatMilliCores float64  `json:"heatMilliCores"`
	HeatPercent    float64  `json:"heatPercent"`
	HotMinutes     float64  `json:"hotMinutes"`
	// Evictions is how many of its pods were evicted to relieve nodes.
	Evictions int `json:"evictions"`
	// Advice is absent if no request helps, or if none higher is allowed.
	Advice *Advice `json:"advice,omitempty"`
}

// short returns what the average pod uses beyond its request.
func (f *Finding) short() int64 { return f.MeanMilliCores - f.RequestMilliCores }

// bursts returns 1 for an owner whose requests are right on average, otherwise 0.
func (f *Finding) bursts() int {
	if f.Verdict == Bursts {
		return 1
	}
	return 0
}

// leastKnownMinutes is how long pods must have been measured until a percentile means
// anything.
const leastKnownMinutes = 60

// Provisional reports whether too little is known for advice that lasts.
func (f *Finding) Provisional() bool { return f.MinutesKnown < leastKnownMinutes }
