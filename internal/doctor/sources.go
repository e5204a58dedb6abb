package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

func examineSources(p *Patient) []Finding {
	if p.Readings == nil {
		return []Finding{p.unlisted(CheckSources)}
	}
	var findings []Finding
	for i := range p.Readings.Sources {
		findings = append(findings, p.examineSource(i)...)
	}
	return findings
}

// unlisted is the Finding of a check for which nodes and pods have to be known.
func (p *Patient) unlisted(check Check) Finding {
	return Finding{
		Check: check, Level: Problem, Says: "It could not be checked: " + p.Unlisted,
		Mend: "Mend what the check of permissions says, then ask again.",
	}
}

func (p *Patient) examineSource(i int) []Finding {
	reading, name := &p.Readings.Sources[i], p.sourceName(i)
	nodes, pods := len(reading.Batch.Nodes), len(reading.Batch.Pods)
	switch {
	case reading.Err != nil:
		return []Finding{{
			Check: CheckSources, Level: Problem, Subject: name,
			Says: fmt.Sprintf("It gave no reading: %v", reading.Err), Mend: mendSource(&p.Sources[i], reading.Err),
		}}
	case nodes == 0:
		return []Finding{{
			Check: CheckSources, Level: Problem, Subject: name,
			Says: fmt.Sprintf("It answered within %s and told of no node.", rounded(reading.Took)),
			Mend: advice(&p.Sources[i], source.Empty, "No ready node answered with usage. See what is said of it under coverage."),
		}}
	}
	findings := p.incomplete(i)
	if len(findings) == 0 {
		findings = append(findings, fine(CheckSources, name, "It answered within %s and told of %s and %s.",
			rounded(reading.Took), count(nodes, "node"), count(pods, "pod")))
	}
	return findings
}

// incomplete finds the resources that are judged and that a source does not
// report every node it knows.
func (p *Patient) incomplete(i int) []Finding {
	reading := &p.Readings.Sources[i]
	var findings []Finding
	for _, metric := range p.needed() {
		with := nodesWith(&reading.Batch, metric)
		if with == len(reading.Batch.Nodes) {
			continue
		}
		level := Warning
		if with == 0 {
			level = Problem
		}
		findings = append(findings, Finding{
			Check: CheckSources, Level: level, Subject: p.sourceName(i),
			Says: fmt.Sprintf("It told of %s, but %s of %d only: without it a node is unknown.",
				count(len(reading.Batch.Nodes), "node"), metric, with),
			Mend: strings.ReplaceAll(advice(&p.Sources[i], source.Lacking, "Put a source that has it in front, or take METRIC out of lines."), "METRIC", string(metric)),
		})
	}
	return findings
}

func nodesWith(batch *usage.Batch, metric usage.Metric) int {
	n := 0
	for i := range batch.Nodes {
		if slices.ContainsFunc(batch.Nodes[i].Readings, func(r usage.Reading) bool { return r.Metric == metric }) {
			n++
		}
	}
	return n
}

// rounded writes how long an answer took.
func rounded(d time.Duration) string {
	return max(d.Round(time.Millisecond), time.Millisecond).String()
}
