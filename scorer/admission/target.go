// Package admission steers replacements when kube-scheduler asks no extender. The API
// server itself holds the next pod of an owner that has a key, using a
// MutatingAdmissionPolicy that reads Steering objects. Keys writes them, Probe proves
// that the API server applies them, and Gates nominates a node for each held pod and
// releases it to kube-scheduler.
package admission

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names that the manifests in deploy/components/admission-steering use.
const (
	// gate is the scheduling gate of held pods.
	gate = "evenkeel.io/steer"
	// probeNamespace is the namespace in which pods are only created by dry run.
	probeNamespace = "evenkeel-probe"
	// objectName is the name of each namespace's Steering.
	objectName = "evenkeel"
	// maxKeys is the maximum number of keys in a Steering, and maxNodes the maximum
	// number of nodes in a key.
	maxKeys  = 100
	maxNodes = 32
)

// resource is the resource of Steering objects.
var resource = schema.GroupVersionResource{Group: "evenkeel.io", Version: "v1alpha1", Resource: "steerings"}

// The ways to steer a pod.
const (
	byGate  = "Gate"
	byNames = "Names"
)

// target is the value of a key: the destination of the next pod.
type target struct {
	// Nodes are the planned node and its alternates.
	Nodes []string `json:"nodes"`
	// Until is when the key ends, in whole seconds, as RFC 3339.
	Until time.Time `json:"until"`
	By    string    `json:"by"`
	// Template is the hash that the pod must have in a label, so that pods of other revisions are left alone; empty for
	// any.
	Template string `json:"template,omitempty"`
}
