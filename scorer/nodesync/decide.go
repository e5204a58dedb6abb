package nodesync

import (
	"cmp"
	"hash/fnv"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
)

// Object is the current content of a node, at one resourceVersion.
type Object struct {
	Name, UID string
	// ResourceVersion may be empty; the node is then read before it is changed.
	ResourceVersion string
	// Labels, Annotations and Taints are never modified. Annotations need only
	// contain the record and the keys that annotations.ParseKey knows.
	Labels, Annotations map[string]string
	Taints              []v1.Taint
}

// ObjectOf returns the content of a node.
func ObjectOf(node *v1.Node) Object {
	return Object{
		Name: node.Name, UID: string(node.UID), ResourceVersion: node.ResourceVersion,
		Labels: node.Labels, Annotations: node.Annotations, Taints: node.Spec.Taints,
	}
}

// Node combines the content of a node with what is known about it.
type Node struct {
	Object
	// Known reports whether usage is known. Hot reports whether a known node is
	// hot according to the evict lines, including hysteresis.
	Known, Hot bool
	// AboveReject reports whether the node is above a reject line, and BelowReject
	// whether it is clearly below all of them. In between nothing changes, so the marks
	// on the node preserve the previous state.
	AboveReject, BelowReject bool
	// Out reports whether the policy excludes the node, so that nothing is
	// published on it.
	Out bool
	// At is the latest time of measurement of Percent, and the timestamp of the
	// annotations.
	At time.Time
	// Percent is usage in percent of capacity. It must not include windows that were read
	// from annotations, because writing them back would make them look fresh
	// indefinitely.
	Percent map[usage.Window]cluster.Percents
}

// Foreign is a key that is not written because its value belongs to another writer.
type Foreign struct {
	Kind Kind
	Key  string
}

// Decision describes the changes to a node.
type Decision struct {
	Patch   Patch
	Foreign []Foreign
	// Corrupt reports whether the node's record could not be read.
	Corrupt bool
}

// maxAhead is how far the clock of a measurement may be ahead of ours.
const maxAhead = time.Minute

// highestPercent is more than a node can use; higher values are not
// measurements.
const highestPercent = 150

// Decide returns the changes that make a node match the policy at the given time.
func Decide(policy Policy, node Node, now time.Time) Decision {
	key := policy.recordKey()
	owned, corrupt := readRecord(node.Annotations, key)
	decision := Decision{Corrupt: corrupt, Patch: Patch{recordKey: key}}
	if node.Out {
		policy = Policy{}
	}
	var owns record
	patch := &decision.Patch
	part := func(kind Kind, have, ours map[string]string, want map[string]wish) (changes, map[string]string) {
		changed, kept, foreign := reconcile(have, ours, want)
		for _, key := range foreign {
			decision.Foreign = append(decision.Foreign, Foreign{kind, key})
		}
		return changed, kept
	}
	soft := softTaints(node.Taints)
	figures := standing(node.Annotations, owned.Annotations)
	patch.labels, owns.Labels = part(KindLabel, node.Labels, standing(node.Labels, owned.Labels), policy.Label.wishes(node.hot()))
	patch.taints, owns.Taints = part(KindTaint, soft, standing(soft, owned.Taints), policy.taints(node))
	patch.annotations, owns.Annotations = part(KindAnnotations, node.Annotations, figures,
		policy.Annotations.wishes(node, figures, now))
	if len(patch.taints) > 0 {
		patch.allTaints = applied(node.Taints, patch.taints)
	}
	current, exists := node.Annotations[key]
	text := owns.text()
	switch {
	case !owns.empty() && text != current:
		patch.record, patch.recordChanged = &text, true
	case owns.empty() && exists && !corrupt:
		// A corrupt record stays so that a user can inspect it.
		patch.recordChanged = true
	}
	return decision
}

// wish is the wanted value of a key. If keep is true, it is the value that we wrote
// before.
type wish struct {
	value string
	keep  bool
}

// reconcile returns the changes to a node, the keys and values that are ours afterwards,
// and the keys that another writer has taken. It removes our keys that are not wanted.
func reconcile(have, ours map[string]string, want map[string]wish) (changes, map[string]string, []string) {
	changed, owns := changes{}, map[string]string{}
	var foreign []string
	for key := range ours {
		if _, wanted := want[key]; !wanted {
			changed[key] = nil
		}
	}
	for _, key := range sortedKeys(want) {
		wished := want[key]
		_, exists := have[key]
		current, mine := ours[key]
		switch {
		case wished.keep && mine:
			owns[key] = current
		case wished.keep:
		case exists && !mine:
			foreign = append(foreign, key)
		default:
			owns[key] = wished.value
			if !mine || current != wished.value {
				changed[key] = &wished.value
			}
		}
	}
	return changed, owns, foreign
}

// standing returns the recorded keys that still have their recorded value. The
// other keys are gone or belong to another writer.
func standing(have, recorded map[string]string) map[string]string {
	ours := map[string]string{}
	for key, value := range recorded {
		if current, exists := have[key]; exists && current == value {
			ours[key] = value
		}
	}
	return ours
}

// taints returns the wanted taints of a node: one while it is above the reject
// line, two while it is hot.
func (p Policy) taints(node Node) map[string]wish {
	want := map[string]wish{}
	maps.Copy(want, p.Taint.wishes(node.hot()))
	maps.Copy(want, p.RejectTaint.wishes(node.aboveReject()))
	return want
}

// answer defines whether a node should have a mark.
type answer uint8

const (
	asItIs answer = iota // nothing known calls for a change
	without
	with
)

func (n *Node) hot() answer {
	switch {
	case !n.Known:
		return asItIs
	case n.Hot:
		return with
	}
	return without
}

// aboveReject returns yes for every hot node, whatever its lines are, so that a node with
// two taints is always hotter than a node with one.
func (n *Node) aboveReject() answer {
	switch {
	case !n.Known:
		return asItIs
	case n.Hot, n.AboveReject:
		return with
	case n.BelowReject:
		return without
	}
	return asItIs
}

// wishes returns the wanted keys of the mark.
func (m Mark) wishes(should answer) map[string]wish {
	switch {
	case !m.Enabled, should == without:
		return nil
	case should == asItIs:
		return map[string]wish{m.Key: {keep: true}}
	}
	return map[string]wish{m.Key: {value: m.Value}}
}

// wishes returns the wanted annotations of a node: new values if due, otherwise
// the current ones.
func (a Annotations) wishes(node Node, ours map[string]string, now time.Time) map[string]wish {
	if !a.Enabled {
		return nil
	}
	want := make(map[string]wish, 2*len(a.Windows))
	for _, window := range a.Windows {
		percents, known := node.Percent[window]
		for metric, resource := range published {
			key := annotations.Key(metric, window)
			percent := percents[resource]
			want[key] = wish{keep: true}
			if known && node.Known && percent >= 0 && percent <= highestPercent && a.due(node, window, ours[key], now) {
				want[key] = wish{value: annotations.Format(percent, a.Unit, node.At, a.Location)}
			}
		}
	}
	return want
}

var published = map[usage.Metric]cluster.Resource{usage.CPU: cluster.CPU, usage.Memory: cluster.Memory}

// due reports whether a window has to be written. Time is divided into periods that are
// shifted according to the node's name, so that the nodes of a cluster are written one
// after another. A period that is a multiple of a shorter one begins together with a
// shorter one, so that one patch is enough. The relevant period is that of the
// measurement rather than that of the write, which is always a little later.
func (a Annotations) due(node Node, window usage.Window, written string, now time.Time) bool {
	period := a.period(window)
	if node.At.Sub(now) > maxAhead || !now.Before(node.At.Add(period+annotations.Grace)) {
		return false // readers would reject the value
	}
	value, cause := annotations.Parse(written)
	if cause != "" || value.Reported() != a.Unit {
		return true
	}
	location := cmp.Or(a.Location, time.UTC)
	last := value.In(location)
	if last.Sub(now) > maxAhead {
		return true // the value was written in another time zone
	}
	shift := shiftOf(node.Name)
	return node.At.After(last) && slot(node.At, shift, period) != slot(last, shift, period)
}

func slot(t time.Time, shift int64, period time.Duration) int64 {
	return (t.Unix() + shift) / max(int64(period/time.Second), 1)
}

func shiftOf(name string) int64 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return int64(hash.Sum32())
}

// softTaints returns the values of the taints with the effect PreferNoSchedule,
// by key. A taint with the same key but another effect is a different taint.
func softTaints(taints []v1.Taint) map[string]string {
	soft := map[string]string{}
	for _, taint := range taints {
		if taint.Effect == v1.TaintEffectPreferNoSchedule {
			soft[taint.Key] = taint.Value
		}
	}
	return soft
}
