// Package cluster holds Evenkeel's view of a cluster: nodes, pods and their
// owners, as compact records.
//
// It decides nothing and does no I/O; cluster/informed builds its values from a
// live cluster. A Snapshot is immutable: whoever holds one may read it without
// a lock, and two snapshots share whatever did not change between them.
package cluster

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Node is the part of a Node that decisions need.
type Node struct {
	Name        string
	Allocatable Amounts
	// Capacity is the machine's total, Allocatable the part for pods.
	Capacity Amounts
	// HugePages is the memory, in bytes, that is set aside for huge pages. Allocatable
	// leaves it out.
	HugePages int64
	// InternalIP and Hostname are the node's addresses of these types, empty if
	// it has none; KubeletPort is its kubelet's port, 0 if the node does not
	// state it.
	InternalIP, Hostname string
	KubeletPort          int32
	// Labels must not be changed.
	Labels map[string]string
	// UsageAnnotations are the annotations that carry usage or say where to
	// read it; they must not be changed.
	UsageAnnotations map[string]string
	// Ready is the node's Ready condition, ReadySince when it last turned true;
	// zero if that is not known.
	Ready      bool
	ReadySince time.Time
	// Schedulable is false while the node is cordoned.
	Schedulable bool
	// Taints are the keys of the node's taints, Repelling those of them that keep
	// pods off which do not tolerate them. Deleting is true from the moment a
	// deletion time is set.
	Taints, Repelling []string
	Deleting          bool
	// Since holds when the taints were added, by key, and when the node was
	// deleted, by DeletionSign, as far as the API server states it. It must not
	// be changed.
	Since map[string]time.Time
	// Leaving and ClosedBy are what a TaintRule makes of these. Leaving names
	// what says that the node is being drained for removal: nothing is moved
	// there, and nothing away, because its pods are moved anyway. ClosedBy names
	// a taint under which nothing should land; the node is relieved as any
	// other. Both are empty for most nodes.
	Leaving, ClosedBy string
	// Reserved and Unselected are also up to the TaintRule. Reserved: only pods
	// that tolerate a taint run on the node. Unselected: the policy's nodeSelector
	// does not select it.
	Reserved, Unselected bool
}

// NodeIndex is a node's index in a Snapshot, and in any slice of figures in
// that order. A negative one is no node.
type NodeIndex int32

// DeletionSign is the value of Leaving, and the key in Since, of a node that is
// being deleted. CordonTaint is the taint that Kubernetes gives a cordoned node.
const (
	DeletionSign = "deletionTimestamp"
	CordonTaint  = "node.kubernetes.io/unschedulable"
)

// Draining reports whether the node is cordoned, drained or being deleted, and
// since when it is so by the newest of these signs; zero if the time of one is
// not stated.
func (n *Node) Draining() (since time.Time, draining bool) {
	var signs []string
	if !n.Schedulable {
		signs = append(signs, CordonTaint)
	}
	if n.Leaving != "" {
		signs = append(signs, n.Leaving)
	}
	for _, sign := range signs {
		at := n.Since[sign]
		if at.IsZero() {
			return time.Time{}, true
		}
		if at.After(since) {
			since = at
		}
	}
	return since, len(signs) > 0
}

// Closed returns why the node takes no moved pod whatever its usage; empty if
// it may take one.
func (n *Node) Closed() string {
	switch {
	case n.Unselected:
		return "NotSelected"
	case !n.Ready:
		return "NotReady"
	case !n.Schedulable:
		return "Cordoned"
	case n.Leaving != "":
		return "Leaving: " + n.Leaving
	case n.ClosedBy != "":
		return "Tainted: " + n.ClosedBy
	}
	if by := n.Virtual(); by != "" {
		return "Virtual: " + by
	}
	return ""
}

// ResourceMetricsPath is the annotation with the path of a node's resource
// metrics on its kubelet, as metrics-server reads it.
const ResourceMetricsPath = "metrics.k8s.io/resource-metrics-path"

// Counted is the part of the capacity that usage is measured of. The usage of cgroups
// leaves out the memory of huge pages, and what the kernel has available does not; the
// system's usage shows which of them a source reports.
func (n *Node) Counted(system Amounts) Amounts {
	counted := n.Capacity
	if system[Memory] < n.HugePages {
		counted[Memory] -= n.HugePages
	}
	return counted
}

// Equal reports whether two records are the same.
func (n *Node) Equal(o *Node) bool {
	return n.Name == o.Name && n.Allocatable == o.Allocatable && n.Capacity == o.Capacity && n.HugePages == o.HugePages &&
		n.InternalIP == o.InternalIP && n.Hostname == o.Hostname && n.KubeletPort == o.KubeletPort &&
		n.Ready == o.Ready && n.ReadySince.Equal(o.ReadySince) && n.Schedulable == o.Schedulable && n.Deleting == o.Deleting &&
		n.Leaving == o.Leaving && n.ClosedBy == o.ClosedBy && n.Reserved == o.Reserved && n.Unselected == o.Unselected &&
		slices.Equal(n.Taints, o.Taints) && slices.Equal(n.Repelling, o.Repelling) && maps.EqualFunc(n.Since, o.Since, time.Time.Equal) &&
		maps.Equal(n.Labels, o.Labels) && maps.Equal(n.UsageAnnotations, o.UsageAnnotations)
}

// Owner is a pod's controller; pods of one Owner and template are
// interchangeable.
type Owner struct {
	UID, Kind, Name string
}

// The longest UID, kind and name that an object can have. Whoever creates a pod
// may write longer ones into its ownerReferences.
const (
	maxOwnerUID  = 128
	maxOwnerKind = 63
	maxOwnerName = 253
)

// Possible reports whether there can be such an owner.
func (o Owner) Possible() bool {
	return len(o.UID) <= maxOwnerUID && len(o.Kind) <= maxOwnerKind && len(o.Name) <= maxOwnerName
}

// Pod is what the deciding rooms need of a Pod that is bound to a node and has
// not ended.
type Pod struct {
	UID, Namespace, Name string
	Node                 string
	Owner                Owner
	// TemplateHash distinguishes the revisions of one owner (pod-template-hash
	// or controller-revision-hash).
	TemplateHash     string
	Requests, Limits Amounts
	// CPULimits are those of each container.
	CPULimits CPULimits
	Priority  int32
	// RunningAfter is how many seconds after Started the newest of its running
	// containers started, sidecars included: in four bytes, because there may
	// be a hundred thousand pods.
	RunningAfter int32
	// Created and Started (zero until the kubelet has started it) are by the
	// API server's and the node's clock.
	Created, Started time.Time
	// Terminating is true from the moment a deletion time is set.
	Terminating bool
	// Ready is the pod's Ready condition.
	Ready bool
	// HasClaims reports whether it has volumes of PersistentVolumeClaims.
	HasClaims bool
	// Scheduled is the pod's PodScheduled condition. The API server sets it when a
	// scheduler binds the pod. A pod that is created with a node gets it only from
	// its kubelet.
	Scheduled bool
}

// NewestStart is when the newest of its running containers started: never
// before the pod was created, however slow the node's clock is. A time that is
// further ahead of now than a tolerance is a wrong clock's, and is not believed.
func (p *Pod) NewestStart(now time.Time, tolerance time.Duration) time.Time {
	start := p.Started.Add(time.Duration(p.RunningAfter) * time.Second)
	if start.Before(p.Created) || start.Sub(now) > tolerance {
		return p.Created
	}
	return start
}

// PromptStart is how long after a pod's start a container may start for the two
// times not to be distinguished: the later one then counts.
const PromptStart = 10 * time.Second

// SlowStart is how long after its start a pod may get ready for that to be
// nothing special.
const SlowStart = time.Minute

// Key returns "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// NodePods is a node with the pods bound to it, in the order of their keys.
type NodePods struct {
	Node Node
	Pods []*Pod
}

// Snapshot is a cluster at one moment: its nodes in the order of their names.
type Snapshot struct {
	Nodes []*NodePods
}

// Index returns the position of the named node, or -1.
func (s *Snapshot) Index(name string) int {
	i, found := slices.BinarySearchFunc(s.Nodes, name, func(n *NodePods, name string) int { return strings.Compare(n.Node.Name, name) })
	if !found {
		return -1
	}
	return i
}
