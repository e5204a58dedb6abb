package doctor

import (
	"fmt"

	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

func examineNodeSync(p *Patient, n *notes) {
	sync := &p.Load.NodeSync
	if p.Mode == ModeNodeSync && !sync.Writes() {
		n.problem("", "The policy switches no part of it on, so the process ends at once.").
			fix("Switch on what is wanted:\nnodesync:\n  label: {enabled: true}\nTo take back what was written: evenkeel nodesync --remove")
	}
	if sync.Annotations.Enabled {
		p.echo(n)
	}
	if !sync.Label.Enabled && p.Readings != nil {
		p.leftLabels(n)
	}
	if len(n.findings) == 0 && sync.Writes() {
		n.ok("", "What is switched on of it does not contradict the usage sources.")
	}
	switch p.Fence {
	case FenceClosed:
		n.ok("fence", "The API server lets it change nothing of nodes but its own annotations, label and taints.")
	case FenceOpen:
		n.warning("fence", "Whoever has its token may change everything of every node: cordon, taint and relabel it.").
			fix("From Kubernetes 1.30 on, apply deploy/components/nodesync-fence: the API server then refuses all but nodesync's own keys.")
	case FenceNarrow:
		n.problem("fence", "The API server refuses what the policy has it write to nodes: %s.", list(OwnKeys(sync))).
			fix("Apply deploy/components/nodesync-fence again. Keys of your own belong in labelKeys and taintKeys of its fence.yaml.")
	case FenceUnknown:
	}
}

// OwnKeys returns the keys of the label and the taints that are on.
func OwnKeys(sync *policy.NodeSync) []string {
	var keys []string
	if sync.Label.Enabled {
		keys = append(keys, sync.Label.Key)
	}
	for _, taint := range []policy.NodeSyncTaint{sync.Taint, sync.RejectTaint} {
		if taint.Enabled {
			keys = append(keys, taint.Key)
		}
	}
	return keys
}

// echo finds annotations that are read differently from how they are written,
// or that no other source feeds.
func (p *Patient) echo(n *notes) {
	written := &p.Load.NodeSync.Annotations
	for i := range p.Sources {
		read, ok := p.Sources[i].Config.(*annotations.Config)
		if !ok {
			continue
		}
		if i == 0 {
			n.problem("annotations", "The first usage source reads the annotations that nodesync writes, so that Evenkeel would believe its own echo.").
				fix("Put what measures in front:\nusage:\n  sources:\n    - type: MetricsServer\n    - type: Annotations")
		}
		if read.Unit != annotations.Auto && read.Unit != written.Unit {
			mismatch(n, "unit", string(written.Unit), string(read.Unit))
		}
		if read.Timezone != "" && read.Timezone != written.Timezone {
			mismatch(n, "timezone", written.Timezone, read.Timezone)
		}
	}
}

func mismatch(n *notes, what, written, read string) {
	n.problem("annotations", "They are written with %s %q and read with %q.", what, written, read).
		fix("Read them as they are written:\n" + source.Snippet(annotations.Name, what+": "+written))
}

// leftLabels finds nodes that carry the label although it is off.
func (p *Patient) leftLabels(n *notes) {
	label := &p.Load.NodeSync.Label
	var nodes []string
	for _, node := range p.Readings.Snapshot.Nodes {
		if value, ok := node.Node.Labels[label.Key]; ok && value == label.Value {
			nodes = append(nodes, node.Node.Name)
		}
	}
	if len(nodes) > 0 {
		n.warning("label", "%s %s=%s although nodesync.label is off: %s.", carry(len(nodes)), label.Key, label.Value, list(nodes)).
			fix("If an earlier run left it: evenkeel nodesync --remove. If another program writes it, nothing.")
	}
}

func carry(n int) string {
	if n == 1 {
		return "1 node carries"
	}
	return fmt.Sprintf("%d nodes carry", n)
}
