package doctor

import (
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/reasons"
)

func examineSources(p *Installation, n *notes) {
	if p.Readings == nil {
		n.problem("", "It could not be checked: %s", p.Unlisted).fix("Fix the findings on permissions, then run doctor again.")
		return
	}
	for i := range p.Readings.Sources {
		p.examineSource(n, i)
	}
}

func (p *Installation) examineSource(n *notes, i int) {
	reading, name := &p.Readings.Sources[i], p.sourceName(i)
	nodes, pods := len(reading.Batch.Nodes), len(reading.Batch.Pods)
	switch {
	case reading.Err != nil && p.starting(i):
		n.warning(name, "It is starting and gives no reading yet: %v", reading.Err)
	case reading.Err != nil:
		n.problem(name, "It gave no reading: %v", reading.Err).fix(fixSource(&p.Sources[i], reading.Err))
	case nodes == 0 && p.starting(i):
		n.warning(name, "It is starting: it responded in %s but has returned no nodes yet.", rounded(reading.Took))
	case nodes == 0:
		n.problem(name, "Responded in %s but returned no nodes.", rounded(reading.Took)).
			fix(advice(&p.Sources[i], source.Empty, "No ready node returned usage. See the findings under coverage."))
	case p.complete(n, i):
		n.ok(name, "Responded in %s with %s and %s.", rounded(reading.Took), reasons.Count(nodes, "node"), reasons.Count(pods, "pod"))
	}
}

// complete reports whether a source has the needed resources for all its nodes, and notes the missing ones.
func (p *Installation) complete(n *notes, i int) bool {
	reading, complete := &p.Readings.Sources[i], true
	for _, metric := range p.needed() {
		with := nodesWith(&reading.Batch, metric)
		if with == len(reading.Batch.Nodes) {
			continue
		}
		level := Warning
		if with == 0 {
			level = Problem
		}
		complete = false
		remedy := advice(&p.Sources[i], source.Lacking, "Put a source that has it first, or remove METRIC from lines.")
		n.add(level, p.sourceName(i), "It returned %s, but only %[3]d of them with %[2]s. Nodes without it are unknown.", reasons.Count(len(reading.Batch.Nodes), "node"), metric, with).
			fix(strings.ReplaceAll(remedy, "METRIC", string(metric)))
	}
	return complete
}

// rounded formats the duration of a request.
func rounded(d time.Duration) string {
	return max(d.Round(time.Millisecond), time.Millisecond).String()
}
