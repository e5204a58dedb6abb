package doctor

import (
	"fmt"

	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

func examineNodeSync(p *Installation, n *notes) {
	sync := &p.Load.NodeSync
	if p.Mode == ModeNodeSync && !sync.Writes() {
		n.problem("", "The policy enables no part of nodesync, so the process exits at once.").
			fix("Enable what you need:\nnodesync:\n  label: {enabled: true}\nTo remove what was written: evenkeel nodesync --remove")
	}
	if sync.Annotations.Enabled {
		p.echo(n)
	}
	if !sync.Label.Enabled && p.Readings != nil {
		p.leftLabels(n)
	}
	if len(n.findings) == 0 && sync.Writes() {
		n.ok("", "Its enabled parts do not conflict with the usage sources.")
	}
	switch p.Fence {
	case FenceClosed:
		n.ok("fence", "The API server lets it change only its own annotations, label and taints on nodes.")
	case FenceOpen:
		n.warning("fence", "Anyone with its token can change everything on every node: cordon, taint and relabel it.").
			fix("On Kubernetes 1.30 or newer, apply deploy/components/nodesync-fence: the API server then rejects all keys except nodesync's own.")
	case FenceNarrow:
		n.problem("fence", "The API server rejects what the policy makes nodesync write to nodes: %s.", list(OwnKeys(sync))).
			fix("Apply deploy/components/nodesync-fence again. Keys of your own belong in labelKeys and taintKeys of its fence.yaml.")
	case FenceUnknown:
	}
}

// OwnKeys returns the keys of the label and of the enabled taints.
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

// echo finds annotations that are read and written in different formats, and annotations that are read but written
// only by Evenkeel itself.
func (p *Installation) echo(n *notes) {
	written := &p.Load.NodeSync.Annotations
	for i := range p.Sources {
		read, ok := p.Sources[i].Config.(*annotations.Config)
		if !ok {
			continue
		}
		if i == 0 {
			n.problem("annotations", "The first usage source reads the annotations that nodesync writes, so Evenkeel would read back its own values.").
				fix("Put a source that measures usage first:\nusage:\n  sources:\n    - type: MetricsServer\n    - type: Annotations")
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
	n.problem("annotations", "They are written with %s %q but read with %q.", what, written, read).
		fix("Use the same setting for reading:\n" + source.Snippet(annotations.Name, what+": "+written))
}

// leftLabels finds nodes that have the label although it is disabled.
func (p *Installation) leftLabels(n *notes) {
	label := &p.Load.NodeSync.Label
	var nodes []string
	for _, node := range p.Readings.Snapshot.Nodes {
		if value, ok := node.Node.Labels[label.Key]; ok && value == label.Value {
			nodes = append(nodes, node.Node.Name)
		}
	}
	if len(nodes) > 0 {
		n.warning("label", "%s %s=%s although nodesync.label is disabled: %s.", carry(len(nodes)), label.Key, label.Value, list(nodes)).
			fix("If an earlier run left it, run: evenkeel nodesync --remove. If another program writes it, ignore this.")
	}
}

func carry(n int) string {
	if n == 1 {
		return "1 node carries"
	}
	return fmt.Sprintf("%d nodes carry", n)
}
