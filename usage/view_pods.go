package usage

import "github.com/evenkeel/evenkeel/cluster"

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
			if ps == nil || !ps.newest.fresh(r.second) {
				continue
			}
			usage := r.pod(pod, ps)
			view.Nodes[i].Pods[j] = usage
			r.newest[i].add(j, pod, ps)
			if usage.Measured && ps.owner != noOwner {
				r.owners[ps.owner].add(usage.Used)
			}
		}
	}
}

func (r *reading) pod(pod *cluster.Pod, ps *podSeries) PodUsage {
	var usage PodUsage
	usage.Used, usage.Span, _ = ps.mean(r.since)
	usage.Span = min(usage.Span, r.now.Sub(pod.Started))
	usage.Measured = usage.Span >= r.store.config.MinWindow
	return usage
}

// estimate returns the assumed usage of a pod not measured long enough: what is
// expected of it as a replacement of a measured pod, else its siblings' usage,
// else the configured Estimate; never less than what was already measured of
// it.
func (r *reading) estimate(pod *cluster.Pod, siblings *Siblings, seen cluster.Amounts) cluster.Amounts {
	amounts, ok := r.expected[pod.UID]
	if !ok {
		amounts, ok = siblings.Of(kinOf(pod), pod.Limits)
	}
	if !ok {
		amounts = r.store.config.Estimate.Of(pod)
	}
	for k := range amounts {
		amounts[k] = max(amounts[k], seen[k])
	}
	return amounts
}
