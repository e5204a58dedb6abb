package nodesync

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Kind is the kind of content that a patch changes.
type Kind uint8

// The kinds of changes.
const (
	KindAnnotations Kind = iota
	KindLabel
	KindTaint
	// KindRecord is the record alone.
	KindRecord
	numKinds
)

var kindLabels = [numKinds]string{
	KindAnnotations: "annotations", KindLabel: "label", KindTaint: "taint", KindRecord: "record",
}

// String returns the kind's name for metrics and logs.
func (k Kind) String() string { return kindLabels[k] }

// changes maps keys to their new values; nil removes the key.
type changes map[string]*string

// Patch holds the changes to a node. The zero Patch changes nothing.
type Patch struct {
	labels, annotations, taints changes
	// record is the new text of the annotation with the record's key. If recordChanged is
	// true, nil removes it.
	record        *string
	recordKey     string
	recordChanged bool
	// allTaints is the node's whole list of taints with the changes applied.
	allTaints []v1.Taint
}

// Empty reports whether there is nothing to do.
func (p *Patch) Empty() bool { return len(p.Kinds()) == 0 }

// Urgent reports whether the patch changes anything other than annotations, which are
// rewritten constantly.
func (p *Patch) Urgent() bool { return len(p.labels)+len(p.taints) > 0 }

// Kinds lists what the patch changes.
func (p *Patch) Kinds() []Kind {
	var kinds []Kind
	for kind, changed := range [...]changes{KindAnnotations: p.annotations, KindLabel: p.labels, KindTaint: p.taints} {
		if len(changed) > 0 {
			kinds = append(kinds, Kind(kind)) // an index of kinds
		}
	}
	if len(kinds) == 0 && p.recordChanged {
		kinds = append(kinds, KindRecord)
	}
	return kinds
}

// Body returns the JSON merge patch. It applies only to the resourceVersion for
// which it was decided, because the decision depends on what other writers have
// written.
func (p *Patch) Body(resourceVersion string) ([]byte, error) {
	metadata := map[string]any{"resourceVersion": resourceVersion}
	if len(p.labels) > 0 {
		metadata["labels"] = p.labels
	}
	all := changes{}
	maps.Copy(all, p.annotations)
	if p.recordChanged {
		all[p.recordKey] = p.record
	}
	if len(all) > 0 {
		metadata["annotations"] = all
	}
	patch := map[string]any{"metadata": metadata}
	if len(p.taints) > 0 {
		patch["spec"] = map[string]any{"taints": p.allTaints}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return body, nil
}

// applied returns a node's taints with changes to those with the effect
// PreferNoSchedule; the others keep their order.
func applied(taints []v1.Taint, changed changes) []v1.Taint {
	var all []v1.Taint
	for _, taint := range taints {
		if _, ours := changed[taint.Key]; !ours || taint.Effect != v1.TaintEffectPreferNoSchedule {
			all = append(all, taint)
		}
	}
	for _, key := range sortedKeys(changed) {
		if value := changed[key]; value != nil {
			all = append(all, v1.Taint{Key: key, Value: *value, Effect: v1.TaintEffectPreferNoSchedule})
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
