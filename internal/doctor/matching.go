package doctor

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

func examineMatching(p *Patient) []Finding {
	if p.Readings == nil {
		return nil
	}
	anywhere := map[string]bool{}
	for i := range p.Readings.Sources {
		for k := range p.Readings.Sources[i].Batch.Nodes {
			anywhere[p.Readings.Sources[i].Batch.Nodes[k].Name] = true
		}
	}
	var findings []Finding
	for i := range p.Readings.Sources {
		if p.Readings.Sources[i].Err == nil {
			findings = append(findings, p.matchNodes(i, anywhere)...)
			findings = append(findings, p.matchPods(i)...)
			findings = append(findings, p.duplicates(i)...)
		}
	}
	return findings
}

// matchNodes finds ready nodes that a source has nothing of, and series that
// are of no node.
func (p *Patient) matchNodes(i int, anywhere map[string]bool) []Finding {
	reading, name := &p.Readings.Sources[i], p.sourceName(i)
	has := make(map[string]bool, len(reading.Batch.Nodes))
	for k := range reading.Batch.Nodes {
		has[reading.Batch.Nodes[k].Name] = true
	}
	ready := p.Readings.readyNodes()
	var without []string
	level := Warning
	for _, k := range ready {
		node := p.Readings.Snapshot.Nodes[k].Node.Name
		if has[node] {
			continue
		}
		without = append(without, node)
		if !anywhere[node] {
			level = Problem
		}
	}
	stray := reading.Problems[usage.UnmatchedNode]
	switch {
	case len(without) == 0 && stray.Count == 0:
		return []Finding{fine(CheckMatching, name, "All %s have a sample.", count(len(ready), "ready node"))}
	case len(without) == 0:
		return []Finding{{
			Check: CheckMatching, Level: Warning, Subject: name,
			Says: fmt.Sprintf("All %s have a sample, and %s of nodes that this cluster does not have: %s.",
				count(len(ready), "ready node"), count(stray.Count, "sample"), strings.Join(stray.Examples, "; ")),
			Mend: "Harmless if these are other machines. If the server has several clusters, see to it that only this one's series are asked for.",
		}}
	}
	says := fmt.Sprintf("%d of %s have no sample: %s", len(without), count(len(ready), "ready node"), list(without))
	if stray.Count > 0 {
		says += fmt.Sprintf("; %d series belong to no node: %s", stray.Count, strings.Join(stray.Examples, "; "))
	}
	return []Finding{{Check: CheckMatching, Level: level, Subject: name, Says: says + ".", Mend: mendUnmatched(&p.Sources[i], stray.Count > 0)}}
}

// mendUnmatched is for nodes without a sample. Stray samples may be theirs.
func mendUnmatched(s *policy.Source, stray bool) string {
	topic := source.Unmatched
	if stray {
		topic = source.Stray
	}
	return advice(s, topic, advice(s, source.Unmatched, "These nodes do not answer: see what is said of them under coverage."))
}

// mostUnmatchedPercent is the share of series of pods that may be of pods which
// have just gone.
const mostUnmatchedPercent = 20

// matchPods finds series that are of no pod, and running pods that have none.
func (p *Patient) matchPods(i int) []Finding {
	reading, name := &p.Readings.Sources[i], p.sourceName(i)
	stray := reading.Problems[usage.UnmatchedPod]
	if len(reading.Batch.Pods) == 0 && stray.Count == 0 {
		return p.noPods(i)
	}
	running, measured := p.podsWith(reading)
	var findings []Finding
	if total := stray.Count + measured; 100*stray.Count > mostUnmatchedPercent*total {
		findings = append(findings, Finding{
			Check: CheckMatching, Level: Warning, Subject: name,
			Says: fmt.Sprintf("%d of %d samples of pods belong to no running pod: %s.", stray.Count, total, strings.Join(stray.Examples, "; ")),
			Mend: advice(&p.Sources[i], source.Pods, "Pods that have just started or ended are normal; else see the source's log."),
		})
	}
	if float64(measured)*100 < p.Load.Usage.MinCoveragePercent*float64(running) {
		findings = append(findings, Finding{
			Check: CheckMatching, Level: Warning, Subject: name,
			Says: fmt.Sprintf("Only %d of %s have a sample: a pod that is not measured is not moved, and a one-shot run waits longer.",
				measured, count(running, "running pod")),
			Mend: advice(&p.Sources[i], source.Pods, "Pods that have just started or ended are normal; else see the source's log."),
		})
	}
	return findings
}

// noPods is for sources that have nodes only. That is in their nature, unless
// they are all there is.
func (p *Patient) noPods(i int) []Finding {
	if running, _ := p.podsWith(&p.Readings.Sources[i]); running == 0 {
		return nil
	}
	for k := range p.Readings.Sources {
		if len(p.Readings.Sources[k].Batch.Pods) > 0 {
			return nil
		}
	}
	if i > 0 {
		return nil // said of the first
	}
	return []Finding{{
		Check: CheckMatching, Level: Warning, Subject: p.sourceName(i),
		Says: "No source tells what pods use: their usage is estimated from their requests, and none is moved by what it really uses.",
		Mend: "Add a source that measures pods behind it: MetricsServer, Kubelet or Prometheus.\nusage:\n  sources:\n    - type: " +
			p.sourceName(i) + "\n    - type: MetricsServer",
	}}
}

// podsWith counts the running pods, and those of them that a source has.
func (p *Patient) podsWith(reading *Reading) (running, measured int) {
	type key struct{ namespace, name string }
	has := make(map[key]bool, len(reading.Batch.Pods))
	for i := range reading.Batch.Pods {
		has[key{reading.Batch.Pods[i].Namespace, reading.Batch.Pods[i].Name}] = true
	}
	for _, node := range p.Readings.Snapshot.Nodes {
		for _, pod := range node.Pods {
			if pod.Started.IsZero() {
				continue
			}
			running++
			if has[key{pod.Namespace, pod.Name}] {
				measured++
			}
		}
	}
	return running, measured
}

// duplicates finds things of which there are several samples.
func (p *Patient) duplicates(i int) []Finding {
	twice := p.Readings.Sources[i].Problems[usage.Duplicate]
	if twice.Count == 0 {
		return nil
	}
	return []Finding{{
		Check: CheckMatching, Level: Warning, Subject: p.sourceName(i),
		Says: fmt.Sprintf("%s came twice or more: %s.", count(twice.Count, "sample"), strings.Join(twice.Examples, "; ")),
		Mend: advice(&p.Sources[i], source.Duplicates, "See which two report the same node or pod."),
	}}
}
