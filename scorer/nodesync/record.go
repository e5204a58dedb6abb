package nodesync

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
)

// RecordKey is the annotation that records what the evicting process wrote on a node. A
// process that only publishes uses ApartRecordKey, so that neither process removes
// content that the other has written.
const (
	RecordKey      = "evenkeel.io/nodesync"
	ApartRecordKey = "evenkeel.io/nodesync-apart"
)

// recordKeys returns all keys of records.
func recordKeys() []string { return []string{RecordKey, ApartRecordKey} }

const (
	maxRecordBytes   = 8 << 10
	maxRecordEntries = 3 * policy.MaxPublishedWindows
)

// record holds the keys and values that we wrote on a node.
type record struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Taints have the effect PreferNoSchedule.
	Taints map[string]string `json:"taints,omitempty"`
}

// readRecord returns the record in the annotations of a node. If a record cannot be ours
// because it names keys that we never write, nothing in it counts as ours. Trusting it
// would let others make us remove keys that they are not allowed to remove themselves.
func readRecord(nodeAnnotations map[string]string, key string) (owned record, corrupt bool) {
	text, exists := nodeAnnotations[key]
	if !exists {
		return record{}, false
	}
	if len(text) > maxRecordBytes || json.Unmarshal([]byte(text), &owned) != nil || !owned.plausible() {
		return record{}, true
	}
	return owned, false
}

func (r record) plausible() bool {
	if len(r.Labels)+len(r.Annotations)+len(r.Taints) > maxRecordEntries {
		return false
	}
	for _, marks := range []map[string]string{r.Labels, r.Taints} {
		for key, value := range marks {
			if !mayWrite(key, value) {
				return false
			}
		}
	}
	for key := range r.Annotations {
		if _, _, ok := annotations.ParseKey(key); !ok {
			return false
		}
	}
	return true
}

func (r record) empty() bool { return len(r.Labels)+len(r.Annotations)+len(r.Taints) == 0 }

// text returns the record as JSON; equal records have equal texts.
func (r record) text() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // maps of strings can always be encoded
	}
	return string(text)
}

// mayWrite reports whether a label or taint may be written. A kubelet can write
// its node's record, and must not be able to use it to change labels or taints
// that it may not change itself.
func mayWrite(key, value string) bool {
	return len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) == 0 && !check.ReservedKey(key)
}
