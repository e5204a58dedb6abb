package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// measurePods reads the usage of pods and adds it up for each owner.
func (r *reading) measurePods(view *View) {
	total := 0
	for _, node := range view.Snapshot.Nodes {
		total += len(node.Pods)
	}
	all, sampled := make([]PodUsage, total), make([]bool, total)
	r.newest = make([]newest, len(view.Snapshot.Nodes))
	r.owners = make([]measuredOf, len(r.store.owners.list))
	for i, node := range view.Snapshot.Nodes {
		view.Nodes[i].Pods = cut(&all, len(node.Pods))
		r.newest[i].sampled = cut(&sampled, len(node.Pods))
		for j, pod := range node.Pods {
			ps := r.store.series(pod, &r.next)
			if ps == nil {
				continue
			}
			if !ps.newest.fresh(r.second) {
				view.Nodes[i].Pods[j].Pattern, view.Nodes[i].Pods[j].Lasts = r.recurs(pod, ps)
				if ns := r.store.nodes[node.Node.Name]; ns != nil && ps.newest.fresh(ns.arrived) {
					r.newest[i].expired = r.newest[i].expired.Plus(r.store.assumed(pod, ps))
				}
				continue
			}
			usage := r.pod(pod, ps)
			view.Nodes[i].Pods[j] = usage
			r.newest[i].add(j, pod, ps, usage.Used)
			if usage.Measured && ps.owner != noOwner {
				r.owners[ps.owner].add(usage.Used)
			}
		}
	}
}

// recurs returns the recurring part of a pod's usage, if any, and whether the
// pod is expected to exist a period later.
func (r *reading) recurs(pod *cluster.Pod, ps *podSeries) (of forecast.PodPattern, lasts bool) {
	clock, workload := r.store.config.Recurs, r.store.owners.list[ps.owner].workload
	if clock.Period == 0 {
		return of, false
	}
	if pattern := workload.pattern(); pattern.Recurs() {
		of = forecast.PodPattern{Pattern: pattern, Deviation: ps.deviation, Limit: pod.Limits[cluster.CPU]}
	}
	return of, workload.lasts(pod, clock, r.now)
}

func (r *reading) pod(pod *cluster.Pod, ps *podSeries) PodUsage {
	var usage PodUsage
	usage.Used, usage.Span, _ = ps.mean(r.since)
	usage.Used, usage.Span, usage.Starting = r.store.settle(pod, ps, r.now, r.since, usage.Used, usage.Span)
	usage.Span = min(usage.Span, r.now.Sub(pod.Started))
	usage.Measured = !usage.Starting && usage.Span >= r.store.config.MinWindow
	switch config := &r.store.config; {
	case usage.Measured:
	case usage.Starting:
		from, needed := r.store.settledFrom(pod, r.now, ps.used.newestAt, ps.newest.second), config.SampleInterval+config.MinWindow
		if ps.given.second != 0 {
			needed = Avg5m.Over // a source's mean must not reach back into the startup
		}
		usage.MeasuredIn = max(r.store.time(from).Add(needed).Sub(r.now), config.SampleInterval)
	default:
		usage.MeasuredIn = max(config.MinWindow-usage.Span, config.SampleInterval)
	}
	usage.Expected, usage.PeakMilliCores = ps.trend.Expect(), ps.peak.MilliCores()
	if usage.Pattern, usage.Lasts = r.recurs(pod, ps); usage.Pattern.Recurs() {
		clock := r.store.config.Recurs
		usage.Expected = usage.Pattern.Foresee(usage.Expected, r.store.owners.list[ps.owner].workload.aheadAt(clock, r.now), clock, r.now)
	}
	return usage
}

// measuredIn returns how long it takes until a pod without any sample is
// measured; 0 if a sample should have arrived by now, or if its containers have
// not started.
func (r *reading) measuredIn(pod *cluster.Pod) time.Duration {
	config := &r.store.config
	start := pod.NewestStart(r.now, config.Startup)
	if pod.Started.IsZero() || r.now.Sub(start) > config.Startup+config.MaxAge {
		return 0
	}
	return start.Add(config.Startup + config.SampleInterval + config.MinWindow).Sub(r.now)
}

// estimate returns the assumed usage of a pod that has not been measured long
// enough: the usage of the measured pod that it replaces, otherwise its
// siblings' usage, otherwise the configured Estimate.
func (r *reading) estimate(pod *cluster.Pod, siblings *Siblings) cluster.Amounts {
	if amounts, ok := r.expected[pod.UID]; ok {
		return amounts
	}
	asked := r.store.config.Estimate.Of(pod)
	amounts, ok := siblings.Of(kinOf(pod), pod.Limits)
	switch next := 0; {
	case !ok:
		return asked
	case r.now.Sub(pod.NewestStart(r.now, r.store.config.Startup)) > runsWithin && r.store.series(pod, &next).unseen():
		for k := range amounts {
			amounts[k] = min(amounts[k], asked[k])
		}
	}
	return amounts
}

// runsWithin is how long a pod that was never sampled is expected to start running and
// then to use as much as its siblings. Without this bound, a pod that never runs would
// fill its node indefinitely, no matter how little it requests.
const runsWithin = 30 * time.Minute

// unseen reports whether a pod has never been sampled.
func (p *podSeries) unseen() bool { return p == nil || p.newest.measured == 0 }
