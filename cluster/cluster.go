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

// Node holds the parts of a Node that decisions depend on.
type Node struct {
	Name        string
	Allocatable Amounts
	// Capacity is the machine's total, Allocatable the part for pods.
	Capacity Amounts
	// HugePages is the memory, in bytes, that is reserved for huge pages.
	// Allocatable excludes it.
	HugePages int64
	// InternalIP and Hostname are the node's addresses of these types; empty if it has none.
	// KubeletPort is its kubelet's port; 0 if not stated.
	InternalIP, Hostname string
	KubeletPort          int32
	// Labels must not be changed.
	Labels map[string]string
	// UsageAnnotations are the annotations that contain usage or the path at
	// which to read it. They must not be changed.
	UsageAnnotations map[string]string
	// Ready is the node's Ready condition, ReadySince the time when it last became true;
	// zero if unknown.
	Ready      bool
	ReadySince time.Time
	// Schedulable is false while the node is cordoned.
	Schedulable bool
	// Taints are the keys of the node's taints; Repelling are the keys of those taints that
	// keep pods without a toleration off the node. Deleting is true once a deletion
	// timestamp is set.
	Taints, Repelling []string
	Deleting          bool
	// Since holds the times when the taints were added, by key, and when the node was
	// deleted, by DeletionSign, if the API server provides them. It must not be changed.
	Since map[string]time.Time
	// Leaving and ClosedBy are derived from the fields above by a TaintRule. Leaving is the
	// sign that the node is being drained for removal. Nothing is moved to such a node, nor
	// away from it, because its pods have to leave anyway. ClosedBy is a taint that means
	// that no pod should land on the node. The node is still relieved like any other. Both
	// are empty for most nodes.
	Leaving, ClosedBy string
	// Reserved and Unselected are also derived by the TaintRule. Reserved is
	// true if only pods that tolerate a taint run on the node, Unselected if
	// the policy's nodeSelector does not select the node.
	Reserved, Unselected bool
}

// NodeIndex is a node's index in a Snapshot, and in any slice in that order. A negative
// index means no node.
type NodeIndex int32

// DeletionSign is the value of Leaving, and the key in Since, of a node that is
// being deleted. CordonTaint is the taint that Kubernetes adds to a cordoned
// node.
const (
	DeletionSign = "deletionTimestamp"
	CordonTaint  = "node.kubernetes.io/unschedulable"
)

// Draining reports whether the node is cordoned, drained or being deleted. since is the
// time of the newest of these signs; zero if the time of any sign is unknown.
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

// Closed returns why the node accepts no moved pods, whatever its usage; empty if it may
// accept some.
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

// ResourceMetricsPath is the annotation that contains the path of a node's resource
// metrics on its kubelet. metrics-server reads it, too.
const ResourceMetricsPath = "metrics.k8s.io/resource-metrics-path"

// Counted returns the part of the capacity to which usage refers. Usage
// measured by cgroups excludes the memory of huge pages; usage derived from the
// kernel's available memory includes it. The system's usage shows which of the
// two a source reports.
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

// The maximum lengths of an object's UID, kind and name. Whoever creates a pod can write
// longer values into its ownerReferences.
const (
	maxOwnerUID  = 128
	maxOwnerKind = 63
	maxOwnerName = 253
)

// Possible reports whether an owner with these names can exist.
func (o Owner) Possible() bool {
	return len(o.UID) <= maxOwnerUID && len(o.Kind) <= maxOwnerKind && len(o.Name) <= maxOwnerName
}

// Pod holds the parts of a Pod that decisions depend on. The pod is bound to a node and
// has not ended.
type Pod struct {
	UID, Namespace, Name string
	Node                 string
	Owner                Owner
	// TemplateHash distinguishes the revisions of one owner (pod-template-hash
	// or controller-revision-hash).
	TemplateHash     string
	Requests, Limits Amounts
	// CPULimits holds the limits of the pod and its containers.
	CPULimits CPULimits
	Priority  int32
	// RunningAfter is how many seconds after Started the newest of its running containers
	// started, including sidecars. It is an int32 to save memory: there may be a hundred
	// thousand pods.
	RunningAfter int32
	// Created is a time of the API server's clock, Started one of the node's clock; Started
	// is zero until the kubelet has started the pod.
	Created, Started time.Time
	// Terminating is true once a deletion timestamp is set.
	Terminating bool
	// Ready is the pod's Ready condition.
	Ready bool
	// HasClaims reports whether the pod uses PersistentVolumeClaims.
	HasClaims bool
	// Scheduled is the pod's PodScheduled condition. The API server sets it when a
	// scheduler binds the pod. A pod that is created with a node gets the
	// condition only from its kubelet.
	Scheduled bool
}

// NewestStart returns when the newest of the pod's running containers started. The result
// is never before the pod's creation, even if the node's clock is slow. A time that is
// ahead of now by more than tolerance comes from a wrong clock and is ignored.
func (p *Pod) NewestStart(now time.Time, tolerance time.Duration) time.Time {
	start := p.Started.Add(time.Duration(p.RunningAfter) * time.Second)
	if start.Before(p.Created) || start.Sub(now) > tolerance {
		return p.Created
	}
	return start
}

// PromptStart is the maximum difference between the starts of a container and its pod
// that is ignored; the later time then counts.
const PromptStart = 10 * time.Second

// SlowStart is how long a pod may normally take to become ready after its start.
const SlowStart = time.Minute

// Key returns "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// NodePods is a node with the pods bound to it, in the order of their keys.
type NodePods struct {
	Node Node
	Pods []*Pod
}

// Snapshot is a cluster at one moment; its nodes are sorted by name.
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
