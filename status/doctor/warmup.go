package doctor

import (
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// warmUp is how long usage may be missing after the start of a source, a node or a pod, because sources measure at
// intervals of up to a minute.
const warmUp = 90 * time.Second

// young reports whether something started so recently that its usage may not have been
// measured yet.
func (r *Readings) young(since time.Time) bool { return !since.IsZero() && r.At.Sub(since) < warmUp }

// starting reports whether a source has only just started, because all nodes of the
// cluster are young or the pods that serve the source are. For these pods, only the
// creation time counts, so that a source whose containers keep crashing does not stay in
// this state indefinitely. If the source returned an error, it must be an error that a
// starting server returns.
func (p *Installation) starting(i int) bool {
	r := p.Readings
	if err := r.Sources[i].Err; err != nil && !isUnready(err) {
		return false
	}
	ready := r.readyNodes()
	if len(ready) > 0 && !slices.ContainsFunc(ready, func(k int) bool { return !r.young(r.Snapshot.Nodes[k].Node.ReadySince) }) {
		return true
	}
	name := p.Sources[i].Config.Describe().Pods
	serves := func(pod *cluster.Pod) bool { return strings.HasPrefix(pod.Name, name) && r.young(pod.Created) }
	return name != "" && slices.ContainsFunc(r.Snapshot.Nodes, func(n *cluster.NodePods) bool { return slices.ContainsFunc(n.Pods, serves) })
}

// anyStarting reports whether any source has only just started.
func (p *Installation) anyStarting() bool {
	for i := range p.Sources {
		if p.starting(i) {
			return true
		}
	}
	return false
}

// unready lists fragments of errors that a server, or a proxy in front of it, returns
// while the server starts.
var unready = []string{"currently unable to handle", "503", "serviceunavailable", "no endpoints", "connection refused", "not available yet", "eof"}

// isUnready reports whether an error comes from a server that is starting.
func isUnready(err error) bool {
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(unready, func(part string) bool { return strings.Contains(text, part) })
}
