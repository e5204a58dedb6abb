package nodesync

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evenkeel/evenkeel/observe/usage/annotations"
)

// RecordKey is the annotation that records what the evicting process wrote on a
// node. A process that only publishes uses ApartRecordKey, so that neither
// removes what the other has written.
const (
	RecordKey      = "evenkeel.io/nodesync"
	ApartRecordKey = "evenkeel.io/nodesync-apart"
)

// maxWindows is the maximum number of published windows per node.
const maxWindows = 16

// recordKeys returns all keys of records.
func recordKeys() []string { return []string{RecordKey, ApartRecordKey} }

const (
	maxRecordBytes   = 8 << 10
	maxRecordEntries = 3 * maxWindows
)

// record is the keys and values that we wrote on a node.
type record struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Taints have the effect PreferNoSchedule.
	Taints map[string]string `json:"taints,omitempty"`
}

// readRecord returns the record in the annotations of a node. A record that
// cannot be ours, because it names keys that we never write, owns nothing:
// trusting it would let others make us remove what they are not allowed to
// remove themselves.
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
			if markProblem(key, value) != "" {
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

// markProblem returns why a label or taint may not be written; empty if it may.
// Keys of Kubernetes itself are rejected: components trust them, and the API
// server keeps kubelets from changing some of them. A kubelet may write a
// node's record, which must not be a way around that restriction.
func markProblem(key, value string) string {
	problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
	domain, _, prefixed := strings.Cut(key, "/")
	for _, reserved := range []string{"kubernetes.io", "k8s.io"} {
		if prefixed && (domain == reserved || strings.HasSuffix(domain, "."+reserved)) {
			problems = append(problems, "keys of "+reserved+" belong to Kubernetes")
		}
	}
	return strings.Join(problems, "; ")
}
