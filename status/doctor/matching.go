package doctor

import (
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

func examineMatching(p *Installation, n *notes) {
	if p.Readings == nil {
		return
	}
	anywhere := map[string]bool{}
	for i := range p.Readings.Sources {
		for k := range p.Readings.Sources[i].Batch.Nodes {
			anywhere[p.Readings.Sources[i].Batch.Nodes[k].Name] = true
		}
	}
	for i := range p.Readings.Sources {
		if p.Readings.Sources[i].Err == nil {
			p.matchNodes(n, i, anywhere)
			p.matchPods(n, i)
			p.duplicates(n, i)
			p.origins(n, i)
		}
	}
}

// matchNodes finds ready nodes without a sample, and series that belong to no
// node.
func (p *Installation) matchNodes(n *notes, i int, anywhere map[string]bool) {
	reading, name := &p.Readings.Sources[i], p.sourceName(i)
	has := make(map[string]bool, len(reading.Batch.Nodes))
	for k := range reading.Batch.Nodes {
		has[reading.Batch.Nodes[k].Name] = true
	}
	ready := p.Readings.readyNodes()
	nodes := reasons.Count(len(ready), "ready node")
	coming, without := p.Readings.unreported(ready, has, p.starting(i))
	level := Warning
	if slices.ContainsFunc(without, func(node string) bool { return !anywhere[node] }) {
		level = Problem
	}
	if len(coming) > 0 {
		n.warning(name, "%d of %s have no sample yet: they or the source started less than %v ago: %s.", len(coming), nodes, warmUp, list(coming))
	}
	stray := reading.Problems[usage.UnmatchedNode]
	strays := strings.Join(stray.Examples, "; ")
	switch {
	case len(without) == 0 && stray.Count == 0 && len(coming) > 0:
	case len(without) == 0 && stray.Count == 0:
		n.ok(name, "Usage reported for all %s.", nodes)
	case len(without) == 0:
		n.warning(name, "Usage reported for %d of %s, and %s for nodes that this cluster does not have: %s.", len(ready)-len(coming), nodes, reasons.Count(stray.Count, "sample"), strays).
			fix("Harmless if these are other machines. If the server has data of several clusters, make sure that only this cluster's series are queried.")
	case stray.Count == 0:
		n.add(level, name, "%d of %s have no sample: %s.", len(without), nodes, list(without)).fix(fixUnmatched(&p.Sources[i], source.Unmatched))
	default:
		n.add(level, name, "%d of %s have no sample: %s; %d series belong to no node: %s.", len(without), nodes, list(without), stray.Count, strays).
			fix(fixUnmatched(&p.Sources[i], source.Stray))
	}
}

// unreported returns the ready nodes without a sample, in two lists: those whose sample may still come, and the others.
func (r *Readings) unreported(ready []int, has map[string]bool, starting bool) (coming, without []string) {
	for _, k := range ready {
		switch node := &r.Snapshot.Nodes[k].Node; {
		case has[node.Name]:
		case starting || r.young(node.ReadySince):
			coming = append(coming, node.Name)
		default:
			without = append(without, node.Name)
		}
	}
	return coming, without
}

// fixUnmatched explains how to fix nodes without a sample. Unmatched samples may belong to them.
func fixUnmatched(s *policy.Source, topic source.Topic) string {
	return advice(s, topic, advice(s, source.Unmatched, "These nodes do not answer: see their findings under coverage."))
}

// mostUnmatchedPercent is the maximum share of series that may belong to recently deleted
// pods.
const mostUnmatchedPercent = 20

// matchPods finds series that belong to no pod, and running pods without a series.
func (p *Installation) matchPods(n *notes, i int) {
	reading, name := &p.Readings.Sources[i], p.sourceName(i)
	stray := reading.Problems[usage.UnmatchedPod]
	if len(reading.Batch.Pods) == 0 && stray.Count == 0 {
		p.noPods(n, i)
		return
	}
	running, measured := p.podsWith(reading)
	remedy := advice(&p.Sources[i], source.Pods, "This is normal for pods that have just started or ended; otherwise see the source's log.")
	if total := stray.Count + measured; 100*stray.Count > mostUnmatchedPercent*total {
		n.warning(name, "%d of %d samples of pods belong to no running pod: %s.", stray.Count, total, strings.Join(stray.Examples, "; ")).fix(remedy)
	}
	if float64(measured)*100 < p.Load.Usage.MinCoveragePercent*float64(running) {
		n.warning(name, "Usage reported for only %d of %s: pods without usage are not moved, and a one-shot run waits longer.",
			measured, reasons.Count(running, "running pod")).fix(remedy)
	}
}

// noPods reports sources that have only nodes. This is a problem only if no other source
// has pods.
func (p *Installation) noPods(n *notes, i int) {
	running, _ := p.podsWith(&p.Readings.Sources[i])
	measures := func(r Reading) bool { return len(r.Batch.Pods) > 0 }
	if i > 0 || running == 0 || p.starting(i) || slices.ContainsFunc(p.Readings.Sources, measures) {
		return // report only the first of several such sources
	}
	second := "MetricsServer"
	if p.sourceName(i) == second {
		second = "Kubelet"
	}
	n.warning(p.sourceName(i), "No source reports the usage of pods: it is estimated from their requests, and no pod is moved by real usage.").
		fix("Add a source that measures pods after it: MetricsServer, Kubelet or Prometheus.\nusage:\n  sources:\n    - type: " +
			p.sourceName(i) + "\n    - type: " + second)
}

// podsWith counts the running pods, and those that a source has measured. Pods that have
// just started count only if the source has them.
func (p *Installation) podsWith(reading *Reading) (running, measured int) {
	type key struct{ namespace, name string }
	has := make(map[key]bool, len(reading.Batch.Pods))
	for i := range reading.Batch.Pods {
		has[key{reading.Batch.Pods[i].Namespace, reading.Batch.Pods[i].Name}] = true
	}
	for _, node := range p.Readings.Snapshot.Nodes {
		if !node.Node.Member() {
			continue
		}
		for _, pod := range node.Pods {
			switch reported := has[key{pod.Namespace, pod.Name}]; {
			case pod.Started.IsZero():
			case reported:
				running, measured = running+1, measured+1
			case !p.Readings.young(pod.Started):
				running++
			}
		}
	}
	return running, measured
}

// origins finds series of several clusters, and series that are not from a node's exporter
// or kubelet.
func (p *Installation) origins(n *notes, i int) {
	problems := p.Readings.Sources[i].Problems
	if several := problems[usage.SeveralClusters]; several.Count > 0 {
		n.problem(p.sourceName(i), "It returned series of several clusters or servers: %s.", strings.Join(several.Examples, "; ")).
			fix(advice(&p.Sources[i], source.SeveralClusters, "Let it return only this cluster's series."))
	}
	if foreign := problems[usage.Foreign]; foreign.Count > 0 {
		n.warning(p.sourceName(i), "%s rejected, because they were not scraped from the node itself or from the pod's kubelet: %s.",
			reasons.Count(foreign.Count, "sample"), strings.Join(foreign.Examples, "; ")).
			fix(advice(&p.Sources[i], source.Foreign, "Find out which endpoint exposes them."))
	}
}

// duplicates finds nodes and pods that have several samples.
func (p *Installation) duplicates(n *notes, i int) {
	if twice := p.Readings.Sources[i].Problems[usage.Duplicate]; twice.Count > 0 {
		n.warning(p.sourceName(i), "%s came twice or more: %s.", reasons.Count(twice.Count, "sample"), strings.Join(twice.Examples, "; ")).
			fix(advice(&p.Sources[i], source.Duplicates, "See which two report the same node or pod."))
	}
}
