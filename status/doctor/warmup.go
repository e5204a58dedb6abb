package doctor

import (
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// warmUp is how long after the start of a source, a node or a pod its usage may
// be missing: sources measure up to a minute apart.
const warmUp = 90 * time.Second

// young reports whether something began so recently that its usage may still be
// on its way.
func (r *Readings) young(since time.Time) bool { return !since.IsZero() && r.At.Sub(since) < warmUp }

// starting reports whether a source has only just begun: with a cluster whose
// nodes are all young, or with the pods that serve it. Their creation counts, so
// that one whose containers crash again and again does not start for ever. An
// error must be one that goes by itself.
func (p *Patient) starting(i int) bool {
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

// anyStarting reports whether any source has only just begun.
func (p *Patient) anyStarting() bool {
	for i := range p.Sources {
		if p.starting(i) {
			return true
		}
	}
	return false
}

// unready are texts of errors with which servers answer while they start, or
// what is in front of them.
var unready = []string{"currently unable to handle", "503", "serviceunavailable", "no endpoints", "connection refused", "not available yet", "eof"}

// isUnready reports whether an error is that of a server that starts.
func isUnready(err error) bool {
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(unready, func(part string) bool { return strings.Contains(text, part) })
}
