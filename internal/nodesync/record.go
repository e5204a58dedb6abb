package nodesync

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evenkeel/evenkeel/usage/annotations"
)

// RecordKey is the annotation that says what of a node is ours: of the process
// that evicts. One that does nothing but publish has ApartRecordKey, so that
// neither takes back what the other wrote.
const (
	RecordKey      = "evenkeel.io/nodesync"
	ApartRecordKey = "evenkeel.io/nodesync-apart"
)

// maxWindows bounds what is published of a node.
const maxWindows = 16

// recordKeys are all there are.
func recordKeys() []string { return []string{RecordKey, ApartRecordKey} }

const (
	maxRecordBytes   = 8 << 10
	maxRecordEntries = 3 * maxWindows
)

// record is what we wrote on a node: keys and values.
type record struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Taints have the effect PreferNoSchedule.
	Taints map[string]string `json:"taints,omitempty"`
}

// readRecord returns what the annotations of a node say is ours. A record that
// cannot be ours, which is one that names what we never write, owns nothing: to
// trust it would be to remove for others what they may not remove themselves.
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

// text returns the record as it is written; equal records have equal texts.
func (r record) text() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // maps of strings always have a text
	}
	return string(text)
}

// markProblem says why a label or taint may not be written; it is empty if it
// may. Keys of Kubernetes itself are refused: components trust them, and the
// API server keeps kubelets from changing some that the record of a node, which
// a kubelet may write, must not be a way around.
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
