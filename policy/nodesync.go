package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// NodeSync configures what is written to nodes for other components to read.
// Everything is off by default. Switching a part off removes what it has
// written.
type NodeSync struct {
	// NodeSelector selects the nodes that are written to, by label; empty
	// selects all. What was written to other nodes before is removed.
	NodeSelector metav1.LabelSelector `json:"nodeSelector"`
	// Annotations are usage annotations in Crane's format.
	Annotations NodeSyncAnnotations `json:"annotations"`
	// Label marks hot nodes for selectors and affinities.
	Label NodeSyncLabel `json:"label"`
	// Taint marks hot nodes for any scheduler, with effect PreferNoSchedule.
	Taint NodeSyncTaint `json:"taint"`
	// RejectTaint marks nodes that are hot or predicted above their reject
	// line. Its default key is evenkeel.io/above-reject. If both taints are
	// enabled and no extender is used, kube-scheduler prefers untainted nodes,
	// then nodes with one taint, then hot nodes.
	RejectTaint NodeSyncTaint `json:"rejectTaint"`
}

// NodeSyncAnnotations configures the usage annotations of cpu and memory.
type NodeSyncAnnotations struct {
	// Enabled turns the annotations on.
	Enabled bool `json:"enabled"`
	// Windows are the windows written for each node: 1 to 16, each once, named as
	// in hot.windows.
	Windows []usage.Window `json:"windows"`
	// Unit is the unit of the values: fraction or percent of a node's
	// capacity.
	Unit source.Unit `json:"unit"`
	// Timezone is the time zone of the timestamps, by its IANA name. Crane's
	// own readers assume Asia/Shanghai unless TZ says otherwise.
	Timezone string `json:"timezone"`
	// Periods are the intervals at which windows are renewed: 10s to 1d each.
	// Windows that are not listed keep their defaults; any other window uses
	// 15m.
	Periods map[usage.Window]metav1.Duration `json:"periods" retired:"the defaults are those of Crane's own writer, and 15m for any other window"`
}

// NodeSyncLabel configures the label of hot nodes.
type NodeSyncLabel struct {
	// Enabled turns the label on.
	Enabled bool `json:"enabled"`
	// Key is the label's key, which must not belong to Kubernetes.
	Key string `json:"key"`
	// Value is the label's value. The default is misspelt because existing
	// readers expect that spelling.
	Value string `json:"value"`
}

// NodeSyncTaint configures a taint with effect PreferNoSchedule.
type NodeSyncTaint struct {
	// Enabled turns the taint on.
	Enabled bool `json:"enabled"`
	// Key is the taint's key, which must not belong to Kubernetes.
	Key string `json:"key"`
	// Value is the taint's value.
	Value string `json:"value" retired:"schedulers recognize such taints by their keys"`
}
