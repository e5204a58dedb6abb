package placement

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// reasonNoDynamicResources is the reason for refusing pods with resource claims if the
// cluster does not serve the API that the DynamicResources plugin reads.
const reasonNoDynamicResources = "the cluster does not serve resource.k8s.io/v1, which the pod's resource claims need"

// Result is the answer for one pod and one node.
type Result struct {
	// OK is true if every filter accepts the replacement on the node.
	OK bool
	// Plugin is the filter that refused the replacement; empty if this package
	// refused it.
	Plugin string
	// Reason is the plugin's message.
	Reason string
	// Terminating is true if the node was refused only because the old pods
	// still count while they terminate.
	Terminating bool
}

func refusalOf(status *fwk.Status) Result {
	return Result{Plugin: status.Plugin(), Reason: strings.Join(status.Reasons(), ", ")}
}

var noDynamicResources = Result{Plugin: names.DynamicResources, Reason: reasonNoDynamicResources}
