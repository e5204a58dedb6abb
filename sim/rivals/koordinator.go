package rivals

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Values for koord-descheduler in Koordinator's chart, and defaults of its
// MigrationController.
const (
	LookInterval      = 10 * time.Second // deschedulingInterval
	migratingPerNode  = 2
	jobTTL            = 5 * time.Minute
	workloadLimitSpan = 5 * time.Minute // objectLimiters.workload.duration
)

// lowThresholds and KoordinatorHigh, the high thresholds, are in percent.
var (
	lowThresholds   = cluster.Percents{cluster.CPU: 45, cluster.Memory: 55}
	KoordinatorHigh = cluster.Percents{cluster.CPU: 75, cluster.Memory: 80}
)

// unjudged is a threshold in percent that no node reaches.
const unjudged = 100_000

// Koordinator implements LowNodeLoad with the MigrationController. A pod to be evicted
// waits as a job until space is reserved on another node.
type Koordinator struct {
	// High is the usage in percent above which a node is a source; +Inf for a resource that
	// is not judged.
	High cluster.Percents

	detectors map[string]*detector
	jobs      []Job
	// limited holds, by owner, the time before which no further pod may be evicted.
	limited map[int]time.Time
}

// Job is a PodMigrationJob whose pod has not been evicted yet.
type Job struct {
	Pod     Pod
	Node    string
	created time.Time
}

// NewKoordinator returns a Koordinator without any state.
func NewKoordinator() *Koordinator {
	return &Koordinator{High: KoordinatorHigh, detectors: map[string]*detector{}, limited: map[int]time.Time{}}
}

// loaded is a node with the usage that LowNodeLoad calculates for it.
type loaded struct {
	*Node
	used, low, high, requested cluster.Amounts
}

// Look creates jobs for pods on nodes that were above a high threshold in enough
// consecutive looks, as long as the low nodes together have space. owners returns an
// owner by its number.
func (k *Koordinator) Look(now time.Time, nodes []Node, owners func(int) Owner) {
	low, high := classify(nodes, k.High)
	abnormal := slices.DeleteFunc(high, func(n *loaded) bool { return !k.detector(n.Name).over(now) })
	if len(abnormal) == 0 || len(low) == 0 || len(low) == len(nodes) {
		return
	}
	var room cluster.Amounts
	for _, n := range low {
		k.detector(n.Name).reset()
		room = room.Plus(n.high.Minus(n.used))
	}
	slices.SortStableFunc(abnormal, func(a, b *loaded) int { return cmp.Compare(fullness(b), fullness(a)) })
	for _, source := range abnormal {
		for _, pod := range victims(source, low) {
			if !source.used.Exceeds(source.high) {
				k.detector(source.Name).reset()
				break
			}
			if slices.Min(room[:]) <= 0 {
				break
			}
			if k.admits(pod, source.Name, owners(pod.Owner), now) {
				k.jobs = append(k.jobs, Job{Pod: *pod, Node: source.Name, created: now})
				room, source.used = room.Minus(pod.Used), source.used.Minus(pod.Used)
			}
		}
	}
}

func (k *Koordinator) detector(node string) *detector {
	if k.detectors[node] == nil {
		k.detectors[node] = &detector{}
	}
	return k.detectors[node]
}

// classify finds the nodes below all low thresholds, and the nodes above any high
// threshold. A node's usage is that of the system and of its current pods.
func classify(nodes []Node, highThresholds cluster.Percents) (low, high []*loaded) {
	for i := range nodes {
		n := &loaded{Node: &nodes[i], used: nodes[i].System}
		for k := range nodes[i].Pods {
			n.used = n.used.Plus(nodes[i].Pods[k].Used)
			n.requested = n.requested.Plus(nodes[i].Pods[k].Requests)
		}
		for r, capacity := range n.Capacity {
			low, high := min(lowThresholds[r], highThresholds[r]), highThresholds[r]
			if math.IsInf(high, 1) {
				low, high = unjudged, unjudged
			}
			n.low[r], n.high[r] = int64(low/100*float64(capacity)), int64(high/100*float64(capacity))
		}
		switch {
		case !n.used.Exceeds(n.low):
			low = append(low, n)
		case n.used.Exceeds(n.high):
			high = append(high, n)
		}
	}
	return low, high
}

// fullness returns a node's usage in per mille, as the mean over its resources.
func fullness(n *loaded) (score int64) {
	for r, capacity := range n.Capacity {
		if capacity > 0 {
			score += min(n.used[r], capacity) * 1000 / capacity
		}
	}
	return score / int64(len(n.Capacity))
}

// victims returns the pods of a node that fit on a low node (nodeFit), in the order in
// which they are evicted: first those that cover the excess, starting with the closest,
// then the others, starting with the largest. Every pod that fits is charged to its low
// node, whether or not it will be evicted.
func victims(source *loaded, low []*loaded) (pods []*Pod) {
	for k := range source.Pods {
		if pod := &source.Pods[k]; !pod.Fixed && slices.ContainsFunc(low, func(n *loaded) bool { return charge(n, pod) }) {
			pods = append(pods, pod)
		}
	}
	excess := source.used.Minus(source.high)
	slices.SortStableFunc(pods, func(a, b *Pod) int {
		return cmp.Or(cmp.Compare(coverage(b.Used, excess), coverage(a.Used, excess)), b.Bound.Compare(a.Bound))
	})
	return pods
}

// charge adds a pod to a node's usage if the pod fits there and the node stays below its
// high thresholds.
func charge(n *loaded, pod *Pod) bool {
	used := n.used.Plus(pod.Used)
	if n.requested.Plus(pod.Requests).Exceeds(n.Capacity) || used.Exceeds(n.high) {
		return false
	}
	n.used = used
	return true
}

// coverage returns a pod's score: its share of an excess, as the mean over the resources
// with an excess. A score of at least 1 covers the excess, and the closer it is to 1 the
// better.
func coverage(used, excess cluster.Amounts) float64 {
	sum, n := 0.0, 0.0
	for r := range excess {
		if excess[r] <= 0 {
			continue
		}
		ratio := float64(used[r]) / float64(excess[r])
		if ratio >= 1 {
			ratio = 1 + 1/ratio
		}
		sum, n = sum+ratio, n+1
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// admits applies the MigrationController's limits: jobs per node and workload,
// unavailable pods, and the rate per workload.
func (k *Koordinator) admits(pod *Pod, node string, owner Owner, now time.Time) bool {
	here, siblings := 0, 0
	for i := range k.jobs {
		job := &k.jobs[i]
		switch {
		case job.Pod.ID == pod.ID:
			return false
		case job.Pod.Owner == pod.Owner:
			siblings++
		}
		if job.Node == node {
			here++
		}
	}
	limit := MaxMigrating(owner.Wanted)
	switch {
	case owner.Wanted == 1 || owner.Wanted == limit:
		return false
	case here >= migratingPerNode, siblings >= limit, siblings+owner.Missing >= limit:
		return false
	}
	return !k.limited[pod.Owner].After(now)
}

// MaxMigrating returns how many of a workload's pods may migrate, or be unavailable, at
// the same time.
func MaxMigrating(replicas int) int {
	switch {
	case replicas > 10:
		return replicas / 10
	case replicas >= 4:
		return 2
	}
	return 1
}

// Due drops jobs that took too long and returns those that may continue.
func (k *Koordinator) Due(now time.Time) (due []Job) {
	k.jobs = slices.DeleteFunc(k.jobs, func(j Job) bool { return now.Sub(j.created) >= jobTTL })
	for _, job := range k.jobs {
		if !k.limited[job.Pod.Owner].After(now) {
			due = append(due, job)
		}
	}
	return due
}

// Evicted ends a job whose pod was evicted. wanted is the owner's number of replicas,
// which determines how long the owner's next pod must wait.
func (k *Koordinator) Evicted(job Job, wanted int, now time.Time) {
	k.jobs = slices.DeleteFunc(k.jobs, func(j Job) bool { return j.Pod.ID == job.Pod.ID })
	k.limited[job.Pod.Owner] = now.Add(workloadLimitSpan / time.Duration(MaxMigrating(wanted)))
}
