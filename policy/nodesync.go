package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

// NodeSync says what is written to the nodes for others to read. All of it is
// off by default and removed again when switched off.
type NodeSync struct {
	// NodeSelector picks the nodes that are written to by their labels; empty:
	// all. What was written to others before is removed.
	NodeSelector metav1.LabelSelector `json:"nodeSelector"`
	// Annotations are usage annotations in Crane's format.
	Annotations NodeSyncAnnotations `json:"annotations"`
	// Label marks hot nodes for selectors and affinities.
	Label NodeSyncLabel `json:"label"`
	// Taint marks hot nodes for any scheduler, with effect PreferNoSchedule.
	Taint NodeSyncTaint `json:"taint"`
	// RejectTaint marks nodes that are predicted above their reject line, and
	// hot ones; its default key is evenkeel.io/above-reject. With both taints
	// kube-scheduler prefers nodes that have none to those with one, and these
	// to hot ones, where no extender is asked.
	RejectTaint NodeSyncTaint `json:"rejectTaint"`
}

// NodeSyncAnnotations are usage annotations of cpu and memory.
type NodeSyncAnnotations struct {
	// Enabled reports whether they are written.
	Enabled bool `json:"enabled"`
	// Windows are written for each node: at least one, each once, with names as
	// in hot.windows.
	Windows []usage.Window `json:"windows"`
	// Unit is what the numbers count: fraction or percent of a node's capacity.
	Unit source.Unit `json:"unit"`
	// Timezone is the zone of the time stamps: a name of the IANA database.
	// Crane's own readers take them for Asia/Shanghai unless TZ tells them
	// otherwise.
	Timezone string `json:"timezone"`
	// Periods is how often a window is renewed: 10s to 1d each. Windows that
	// are not named keep their defaults; any other window has 15m.
	Periods map[usage.Window]metav1.Duration `json:"periods"`
}

// NodeSyncLabel is the label of hot nodes.
type NodeSyncLabel struct {
	// Enabled reports whether it is set.
	Enabled bool `json:"enabled"`
	// Key is the label's key.
	Key string `json:"key"`
	// Value is the label's value. The default is misspelt as readers in use
	// expect it.
	Value string `json:"value"`
}

// NodeSyncTaint is a taint with effect PreferNoSchedule.
type NodeSyncTaint struct {
	// Enabled reports whether it is set.
	Enabled bool `json:"enabled"`
	// Key is the taint's key.
	Key string `json:"key"`
	// Value is the taint's value.
	Value string `json:"value"`
}
