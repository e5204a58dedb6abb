// Package admission steers replacements where kube-scheduler asks nobody: the
// API server itself holds the pod of an owner that has a key, by a
// MutatingAdmissionPolicy that reads Steering objects. Keys writes them, Probe
// proves that the API server goes by them, and Gates nominates a node for each
// pod that is held and lets kube-scheduler have it.
package admission

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the manifests in deploy/components/admission-steering name.
const (
	// gate is the scheduling gate of a pod that is held.
	gate = "evenkeel.io/steer"
	// probeNamespace is where pods are created by dry run only.
	probeNamespace = "evenkeel-probe"
	// objectName is the name of each namespace's Steering.
	objectName = "evenkeel"
	// maxKeys is how many keys a Steering takes, and maxNodes how many nodes a
	// key.
	maxKeys  = 100
	maxNodes = 32
)

// resource is where Steering objects are.
var resource = schema.GroupVersionResource{Group: "evenkeel.io", Version: "v1alpha1", Resource: "steerings"}

// The ways to steer a pod.
const (
	byGate  = "Gate"
	byNames = "Names"
)

// target is a key's value: where the pod is to go that comes next.
type target struct {
	// Nodes are the planned node and its alternates.
	Nodes []string `json:"nodes"`
	// Until is when the key ends, with whole seconds, as RFC 3339.
	Until time.Time `json:"until"`
	By    string    `json:"by"`
	// Template is the hash that the pod has in a label, by which pods of another
	// revision are left alone; empty for any.
	Template string `json:"template,omitempty"`
}
