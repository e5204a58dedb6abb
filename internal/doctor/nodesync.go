package doctor

import (
	"fmt"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/annotations"
)

func examineNodeSync(p *Patient) []Finding {
	sync := &p.Load.NodeSync
	var findings []Finding
	if p.Mode == ModeNodeSync && !marks(sync) {
		findings = append(findings, Finding{
			Check: CheckNodeSync, Level: Problem, Says: "The policy switches no part of it on, so the process ends at once.",
			Mend: "Switch on what is wanted:\nnodesync:\n  label: {enabled: true}\nTo take back what was written: evenkeel nodesync --remove",
		})
	}
	if sync.Annotations.Enabled {
		findings = append(findings, p.echo()...)
	}
	if !sync.Label.Enabled && p.Readings != nil {
		findings = append(findings, p.leftLabels()...)
	}
	if len(findings) > 0 || !marks(sync) {
		return findings
	}
	return []Finding{fine(CheckNodeSync, "", "What is switched on of it does not contradict the usage sources.")}
}

// marks reports whether any part of nodesync is on.
func marks(sync *policy.NodeSync) bool {
	return sync.Annotations.Enabled || sync.Label.Enabled || sync.Taint.Enabled
}

// echo finds annotations that are read as something else than what is written,
// or that nothing feeds.
func (p *Patient) echo() []Finding {
	written := &p.Load.NodeSync.Annotations
	var findings []Finding
	for i := range p.Sources {
		read, ok := p.Sources[i].Config.(*annotations.Config)
		if !ok {
			continue
		}
		if i == 0 {
			findings = append(findings, Finding{
				Check: CheckNodeSync, Level: Problem, Subject: "annotations",
				Says: "The first usage source reads the annotations that nodesync writes, so that Evenkeel would believe its own echo.",
				Mend: "Put what measures in front:\nusage:\n  sources:\n    - type: MetricsServer\n    - type: Annotations",
			})
		}
		if read.Unit != annotations.Auto && read.Unit != written.Unit {
			findings = append(findings, mismatch(i, "unit", string(written.Unit), string(read.Unit)))
		}
		if read.Timezone != "" && read.Timezone != written.Timezone {
			findings = append(findings, mismatch(i, "timezone", written.Timezone, read.Timezone))
		}
	}
	return findings
}

func mismatch(i int, what, written, read string) Finding {
	return Finding{
		Check: CheckNodeSync, Level: Problem, Subject: "annotations",
		Says: fmt.Sprintf("They are written with %s %q and read with %q.", what, written, read),
		Mend: fmt.Sprintf("Set nodesync.annotations.%s and usage.sources[%d].annotations.%s to the same.", what, i, what),
	}
}

// leftLabels finds nodes that carry the label although it is off.
func (p *Patient) leftLabels() []Finding {
	label := &p.Load.NodeSync.Label
	var nodes []string
	for _, node := range p.Readings.Snapshot.Nodes {
		if value, ok := node.Node.Labels[label.Key]; ok && value == label.Value {
			nodes = append(nodes, node.Node.Name)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	return []Finding{{
		Check: CheckNodeSync, Level: Warning, Subject: "label",
		Says: fmt.Sprintf("%s %s=%s although nodesync.label is off: %s.", carry(len(nodes)), label.Key, label.Value, list(nodes)),
		Mend: "If an earlier run left it: evenkeel nodesync --remove. If another program writes it, nothing.",
	}}
}

func carry(n int) string {
	if n == 1 {
		return "1 node carries"
	}
	return fmt.Sprintf("%d nodes carry", n)
}
