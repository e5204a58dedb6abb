package usage

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// View is what is known of a cluster's usage at one moment. It is immutable and parallel to the Snapshot it was read
// against: Nodes[i] belongs to Snapshot.Nodes[i] and Nodes[i].Pods[j] to its Pods[j].
type View struct {
	At       time.Time
	Snapshot *cluster.Snapshot
	Nodes    []NodeUsage
	// Siblings is the mean measured usage per owner UID, the estimate for a pod of that owner not measured itself.
	Siblings map[string]cluster.Amounts
}

// NodeUsage is one node's reading.
type NodeUsage struct {
	// Unknown is why the node's usage is not known; empty when it is. Unknown is never zero: the amounts below mean
	// nothing then.
	Unknown Unknown
	Source  string
	// Sampled is when the newest sample arrived, Age how long ago that is; Span how long the samples of the window reach back.
	Sampled   time.Time
	Age, Span time.Duration
	// Measured is the node as a whole, as measured, departed pods included.
	Measured WindowAmounts
	// System is what belongs to no pod: the median over the window, because around a pod's start and end single samples
	// attribute its usage to nobody.
	System cluster.Amounts
	// Current is System plus the measured usage of the pods that stay: the evidence for calling a node hot.
	Current WindowAmounts
	// Predicted is System plus all pods on the node, terminating ones included, with estimates for those not measured
	// long enough: what placing one more pod has to reckon with.
	Predicted WindowAmounts
	Pods      []PodUsage
}

// Known says whether the node's usage may be relied on.
func (n *NodeUsage) Known() bool { return n.Unknown == "" }

// Unknown is a typed reason for knowing nothing.
type Unknown string

// The reasons for a node to be unknown.
const (
	NoSample    Unknown = "NoUsageSample"
	StaleSample Unknown = "UsageStale"
	ShortWindow Unknown = "WindowTooShort"
	// NoAllocatable: the node does not say how much it has, so nothing can be said in percent of it.
	NoAllocatable Unknown = "AllocatableUnknown"
)

// PodUsage is one pod's reading.
type PodUsage struct {
	// Measured is false where Used is an estimate.
	Measured bool
	Span     time.Duration
	Used     WindowAmounts
}

// View reads the store against a snapshot. expected holds, by pod UID, usage known from elsewhere (a replacement uses
// what the pod it replaces was measured at); it may be nil.
func (s *Store) View(snapshot *cluster.Snapshot, now time.Time, expected map[string]cluster.Amounts) *View {
	r := reading{
		store:    s,
		now:      now,
		since:    s.second(now.Add(-WindowLength)),
		fresh:    s.second(now.Add(-s.config.MaxAge)),
		expected: expected,
	}
	view := &View{At: now, Snapshot: snapshot, Nodes: make([]NodeUsage, len(snapshot.Nodes))}
	r.measurePods(view)
	view.Siblings = r.siblings(view)
	for i := range view.Nodes {
		r.finishNode(view, i)
	}
	return view
}

// reading is one View in the making.
type reading struct {
	store        *Store
	now          time.Time
	since, fresh uint32
	expected     map[string]cluster.Amounts
}

func (r *reading) measurePods(view *View) {
	total := 0
	for _, node := range view.Snapshot.Nodes {
		total += len(node.Pods)
	}
	all := make([]PodUsage, total)
	for i, node := range view.Snapshot.Nodes {
		view.Nodes[i].Pods, all = all[:len(node.Pods):len(node.Pods)], all[len(node.Pods):]
		for j, pod := range node.Pods {
			view.Nodes[i].Pods[j] = r.pod(pod)
		}
	}
}

func (r *reading) pod(pod *cluster.Pod) PodUsage {
	ps := r.store.pods[podKey{pod.Namespace, pod.Name}]
	if ps == nil || ps.uid != pod.UID {
		return PodUsage{}
	}
	newest, ok := ps.used.newest()
	if !ok || newest.second < r.fresh {
		return PodUsage{}
	}
	windows, span, ok := ps.used.windows(r.since)
	return PodUsage{Measured: ok && span >= r.store.config.MinWindow, Span: span, Used: windows}
}

// siblings averages the measured pods of each owner.
func (r *reading) siblings(view *View) map[string]cluster.Amounts {
	type sum struct {
		used cluster.Amounts
		n    int64
	}
	sums := map[string]sum{}
	for i, node := range view.Snapshot.Nodes {
		for j, pod := range node.Pods {
			if usage := &view.Nodes[i].Pods[j]; usage.Measured && pod.Owner.UID != "" {
				s := sums[pod.Owner.UID]
				sums[pod.Owner.UID] = sum{s.used.Plus(usage.Used[Avg5m]), s.n + 1}
			}
		}
	}
	means := make(map[string]cluster.Amounts, len(sums))
	for uid, s := range sums {
		var mean cluster.Amounts
		for k := range mean {
			mean[k] = s.used[k] / s.n
		}
		means[uid] = mean
	}
	return means
}

func (r *reading) finishNode(view *View, i int) {
	node, usage := view.Snapshot.Nodes[i], &view.Nodes[i]
	usage.Source = r.store.source
	usage.Unknown = r.node(&node.Node, usage)
	usage.Current = Every(usage.System)
	usage.Predicted = Every(usage.System)
	for j, pod := range node.Pods {
		p := &usage.Pods[j]
		if !pod.Terminating {
			usage.Current = usage.Current.Plus(p.Used) // nothing where nothing was measured
		}
		if !p.Measured {
			p.Used = r.estimate(pod, view.Siblings, p.Used)
		}
		usage.Predicted = usage.Predicted.Plus(p.Used)
	}
}

func (r *reading) node(node *cluster.Node, usage *NodeUsage) Unknown {
	ns := r.store.nodes[node.Name]
	if ns == nil {
		return NoSample
	}
	newest, ok := ns.used.newest()
	if !ok {
		return NoSample
	}
	usage.Sampled = r.store.epoch.Add(time.Duration(newest.second) * time.Second)
	usage.Age = r.now.Sub(usage.Sampled).Truncate(time.Second)
	usage.System = ns.system.median(r.since)
	usage.Measured, usage.Span, _ = ns.used.windows(r.since)
	switch {
	case slices.Min(node.Allocatable[:]) <= 0:
		return NoAllocatable
	case newest.second < r.fresh:
		return StaleSample
	case usage.Span < r.store.config.MinWindow:
		return ShortWindow
	}
	return ""
}

// estimate stands in for a pod not measured long enough: what it is expected to use as the replacement of a measured
// pod, else its siblings' mean, else its requests with the stated factors; never less than what was already seen of it.
func (r *reading) estimate(pod *cluster.Pod, siblings map[string]cluster.Amounts, seen WindowAmounts) WindowAmounts {
	amounts, ok := r.expected[pod.UID]
	if !ok {
		amounts, ok = siblings[pod.Owner.UID]
	}
	if !ok {
		amounts = r.store.config.Estimate.Of(pod)
	}
	estimate := Every(amounts)
	for w := range estimate {
		for k := range amounts {
			estimate[w][k] = max(amounts[k], seen[w][k])
		}
	}
	return estimate
}
