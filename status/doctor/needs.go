package doctor

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

// Process holds everything on which the permissions of a process depend.
type Process struct {
	Mode    Mode
	Load    *policy.LoadPolicy
	Sources []policy.Source
	// Namespace is the namespace of the Lease LeaseName, the ledger ConfigMapName and the
	// kill switch PauseName.
	Namespace, LeaseName, ConfigMapName, PauseName string
	// LeaderElect is true if the process uses a Lease.
	LeaderElect bool
	// MovesByUsage is true if a strategy that moves pods by usage is enabled.
	MovesByUsage bool
	// PlansEvictions is true if an upstream plugin whose evictions are planned is enabled.
	PlansEvictions bool
	// CollectsMetrics is true if upstream's plugins read metrics.k8s.io.
	CollectsMetrics bool
	// PriorityClasses is true if the policy names a priorityThreshold.
	PriorityClasses bool
	// DynamicResources is true if the API server serves resource claims.
	DynamicResources bool
	// ByAPIServer is true if the API server steers.
	ByAPIServer bool
	// ByWebhook is true if the API server steers with a webhook of this process.
	ByWebhook bool
	// Controllers are the served resources of the policy's recreatingControllers.
	Controllers []schema.GroupResource
	// NodesOnly is true if the process does not read pods.
	NodesOnly bool
}

// The purposes of permissions.
const (
	forWatching  = "watching nodes and pods"
	forOwners    = "finding a pod's owner and budget"
	forQuotas    = "checking that a replacement can be created"
	forPlacement = "asking kube-scheduler's filters where a pod fits"
	forEvicting  = "evicting"
	forEvents    = "telling Events"
	forLeading   = "leading, so that one process evicts at a time"
	forLedger    = "the moves in flight"
	forPause     = "the kill switch"
	forSteering  = "having the API server steer"
	forGates     = "releasing the pods that the API server holds"
	forNodeSync  = "writing to nodes (nodesync)"
	forThreshold = "reading the priority class used as a threshold"
	forPlugins   = "metrics for upstream's plugins (metricsProviders)"
)

// Needs lists the permissions that the process requires.
func (p *Process) Needs() []Need {
	var n needs
	n.watch(forWatching, "", "nodes")
	if !p.NodesOnly {
		n.watch(forWatching, "", "pods")
	}
	for i := range p.Sources {
		n.source(p.Sources[i].Config.Describe(), p.Namespace)
	}
	switch {
	case p.Mode.Evicts():
		p.eviction(&n)
	case p.Mode == ModeNodeSync:
		p.lease(&n)
		p.marking(&n)
	default:
		n.add(Need{Resource: "configmaps", Namespace: p.Namespace, Name: p.ConfigMapName, For: forLedger}, "list", "watch")
	}
	return n
}

type needs []Need

func (n *needs) add(need Need, verbs ...string) {
	for _, verb := range verbs {
		need.Verb = verb
		if !slices.Contains(*n, need) {
			*n = append(*n, need)
		}
	}
}

// watch adds the permissions for watching resources.
func (n *needs) watch(purpose, group string, resources ...string) {
	for _, resource := range resources {
		n.add(Need{Group: group, Resource: resource, For: purpose}, "list", "watch")
	}
}

// source adds the permissions at the API server for one usage source. A source with
// credentials in the policy needs none.
func (n *needs) source(d source.Description, own string) {
	for _, right := range d.Rights {
		if right.OwnNamespace {
			right.Namespace = own
		}
		n.add(Need{
			Group: right.Group, Resource: right.Resource, Namespace: right.Namespace, Name: right.Name,
			For: "reading usage from " + d.Name, Source: d.Name,
		}, right.Verb)
	}
}

// eviction adds the permissions for running cycles.
func (p *Process) eviction(n *needs) {
	n.watch(forWatching, "", "namespaces")
	n.add(Need{Resource: "pods/eviction", For: forEvicting}, "create")
	n.add(Need{Resource: "pods", For: forEvicting}, "get")
	n.add(Need{Resource: "configmaps", Namespace: p.Namespace, Name: p.ConfigMapName, For: forLedger}, "get", "update")
	if p.Mode == ModeServe { // serve watches the object; a cycle of run reads it only once
		n.add(Need{Resource: "configmaps", Namespace: p.Namespace, Name: p.ConfigMapName, For: forLedger}, "list", "watch")
	}
	n.add(Need{Resource: "configmaps", Namespace: p.Namespace, For: forLedger}, "create")
	n.add(Need{Resource: "configmaps", Namespace: p.Namespace, Name: p.PauseName, For: forPause}, "get")
	n.add(Need{Group: "events.k8s.io", Resource: "events", For: forEvents}, "create", "patch")
	p.lease(n)
	if p.PriorityClasses {
		n.add(Need{Group: "scheduling.k8s.io", Resource: "priorityclasses", For: forThreshold}, "get")
	}
	if p.CollectsMetrics {
		n.add(Need{Group: "metrics.k8s.io", Resource: "nodes", For: forPlugins}, "list", "get")
		n.add(Need{Group: "metrics.k8s.io", Resource: "pods", For: forPlugins}, "list", "get")
	}
	p.marking(n)
	if p.MovesByUsage || p.PlansEvictions {
		p.moves(n)
	}
	if p.ByAPIServer {
		n.add(Need{Group: "evenkeel.io", Resource: "steerings", For: forSteering}, "list", "create", "patch", "delete")
		if p.ByWebhook && p.Mode == ModeServe {
			n.add(Need{Group: "evenkeel.io", Resource: "steerings", For: forSteering}, "watch")
		}
		n.add(Need{Resource: "pods", Namespace: probeNamespace, For: forSteering}, "create")
		n.add(Need{Resource: "pods", For: forGates, Fallback: true}, "patch")
		n.add(Need{Resource: "pods/status", For: forGates, Fallback: true}, "patch")
	}
}

// probeNamespace is the namespace in which a dry run creates pods to find out whether the API server steers.
const probeNamespace = "evenkeel-probe"

// lease adds the permissions for leading.
func (p *Process) lease(n *needs) {
	if !p.LeaderElect {
		return
	}
	lease := Need{Group: "coordination.k8s.io", Resource: "leases", Namespace: p.Namespace, For: forLeading}
	n.add(lease, "create")
	lease.Name = p.LeaseName
	n.add(lease, "get", "update")
}

// marking adds the permissions for writing to nodes.
func (p *Process) marking(n *needs) {
	if p.Load.NodeSync.Writes() {
		n.add(Need{Resource: "nodes", For: forNodeSync}, "get", "patch")
	}
}

// Planning lists the permissions for planning moves, in addition to those that every
// cycle needs.
func (p *Process) Planning() []Need {
	var n needs
	p.moves(&n)
	return n
}

// moves adds the permissions for planning moves.
func (p *Process) moves(n *needs) {
	n.watch(forOwners, "apps", "replicasets", "statefulsets")
	n.watch(forOwners, "", "replicationcontrollers")
	if p.Load.Eviction.EvictJobs {
		n.watch(forOwners, "batch", "jobs", "cronjobs")
	}
	for _, c := range p.Controllers {
		n.watch(forOwners, c.Group, c.Resource)
	}
	n.watch(forQuotas, "", "resourcequotas")
	n.watch(forOwners, "policy", "poddisruptionbudgets")
	n.watch(forPlacement, "", "persistentvolumeclaims", "persistentvolumes")
	n.watch(forPlacement, "storage.k8s.io", "storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments")
	if p.DynamicResources {
		n.watch(forPlacement, "resource.k8s.io", "resourceclaims", "resourceslices", "deviceclasses")
	}
}
