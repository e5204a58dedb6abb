package placement

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/evenkeel/evenkeel/cluster"
)

// world is one of the two cluster states in which a replacement is judged.
type world int

const (
	// gone is the world in which the moved pods have left their nodes.
	gone world = iota
	// terminating is the world in which the moved pods still count on the nodes
	// that they leave.
	terminating
)

// podEntry is a pod on a node. It is the fwk.PodInfo that plugins see. Its parsed
// affinity terms belong to its group and pods of the group with equal requests share
// them, so that a pod costs little more than its pointer.
type podEntry struct {
	pod      *v1.Pod
	node     *nodeEntry
	group    *group
	position int // position among the group's members
	requests *fwk.PodResource

	// generation is the generation of the last Sync that listed the pod.
	generation uint64
	// moved is true if a session has moved the pod away, so that the pod is not
	// in the world gone.
	moved bool
	// hidden is true while a state is computed without the pod; the pod then counts in
	// neither world.
	hidden bool
	// deleted is true if the pod has a deletion timestamp.
	deleted bool
}

var _ fwk.PodInfo = (*podEntry)(nil)

func newEntry(pod *v1.Pod, on *nodeEntry, requests *fwk.PodResource) *podEntry {
	return &podEntry{pod: pod, node: on, requests: requests, deleted: pod.DeletionTimestamp != nil}
}

// GetPod returns the pod.
func (p *podEntry) GetPod() *v1.Pod { return p.pod }

// GetRequiredAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetRequiredAffinityTerms() []fwk.AffinityTerm {
	return p.group.terms.RequiredAffinityTerms
}

// GetRequiredAntiAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetRequiredAntiAffinityTerms() []fwk.AffinityTerm {
	return p.group.terms.RequiredAntiAffinityTerms
}

// GetPreferredAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetPreferredAffinityTerms() []fwk.WeightedAffinityTerm {
	return p.group.terms.PreferredAffinityTerms
}

// GetPreferredAntiAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetPreferredAntiAffinityTerms() []fwk.WeightedAffinityTerm {
	return p.group.terms.PreferredAntiAffinityTerms
}

// CalculateResource returns the pod's requests.
func (p *podEntry) CalculateResource() fwk.PodResource { return *p.requests }

func (p *podEntry) visible(w world) bool {
	return !p.hidden && (w == terminating || !p.moved)
}

// nodeEntry is a node of the snapshot with its pods.
type nodeEntry struct {
	node     *v1.Node
	platform cluster.Platform // the node's platform
	// pods may hold entries that have left, until the next rebuild.
	pods []*podEntry
	info *framework.NodeInfo
	view *nodeView

	generation uint64
	dirty      bool
	// overlay holds the changes of an open session; nil if there are none.
	overlay *overlay
	// judged is the filters' last result for a plain template, until the overlay changes.
	judged judged
}

// judged is the result of the filters for a plain template, which depends on nothing but
// the node.
type judged struct {
	like   *template
	result Result
}

// group holds pods that selectors and affinity terms cannot tell apart: same namespace,
// labels and pod affinity. A Deployment's replicas are one group; each StatefulSet pod is
// its own group, because its labels contain its name.
type group struct {
	namespace string
	labels    labels.Set
	affinity  *v1.Affinity // pod affinity and anti-affinity; nil for neither
	terms     framework.PodInfo
	// unreadable is true if some of the affinity's terms do not parse.
	unreadable bool
	members    []*podEntry
	requests   []requests

	// version counts the session's moves of members, so that states that depend on the
	// members can be invalidated. away is the number of members that are currently moved
	// away.
	version uint64
	away    int
	// podsEpoch marks the group as already in focus.
	podsEpoch uint64
}

// lens is the SharedLister through which the plugins' PreFilter steps see the snapshot.
// Before each step it is focused on the nodes and pods that can change the result.
// Finding the few pods that a selector matches in an index takes microseconds; walking
// all pods would take milliseconds.
//
// What the plugins read follows from their code. PodTopologySpread reads the pods that
// its selectors match, and the nodes; if labels alone decide, one node of each domain
// represents all of its nodes. InterPodAffinity reads the nodes with pods that its terms
// match, and those with pods whose anti-affinity terms match the incoming pod.
// VolumeRestrictions reads whether a claim is in use.
type lens struct {
	// epoch counts focusings. A view's pods from an earlier epoch are stale. Comparing
	// epochs avoids clearing all views each time.
	epoch     uint64
	nodes     []fwk.NodeInfo
	antiNodes []fwk.NodeInfo
	// claims holds the pods that use each claim; only those present in world
	// count.
	claims map[string][]*podEntry
	world  world

	buffer []fwk.NodeInfo // backing array of nodes, unless nodes is the list of all nodes
}

// nodeView is a node with only the pods in focus.
type nodeView struct {
	*framework.NodeInfo

	lens       *lens
	pods, anti focused
}

// focused holds pods that are in focus for one epoch of the lens.
type focused struct {
	epoch uint64
	pods  []fwk.PodInfo
}

// overlay holds a session's changes to a node.
type overlay struct {
	left    int // number of the node's pods that have moved away
	arrived []*podEntry
	// infos caches the node's sums by world; nil if out of date.
	infos [2]*framework.NodeInfo
}
