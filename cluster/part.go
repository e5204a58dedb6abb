package cluster

import (
	"slices"
	"strings"
)

// This file defines which nodes take part in balancing, and in which role.
// Coverage, shares, means, counts and landings all use it:
//
//	                        Member  Measured  Openness
//	open                    yes     yes       Open
//	tainted for some pods   yes     yes       Reserved
//	cordoned, closing       yes     yes       Shut
//	leaving, not ready      yes     no        Shut
//	virtual, not selected   no      no        Shut

// Member reports whether the node takes part at all: it is a machine, and the
// policy's nodeSelector selects it. Shares of nodes are shares of the members.
func (n *Node) Member() bool { return !n.Unselected && n.Virtual() == "" }

// Measured reports whether usage sources are expected to report the node, so that missing
// usage indicates a broken source. Nodes that are being removed do not count, because
// nothing is moved to them or away from them.
func (n *Node) Measured() bool { return n.Ready && n.Leaving == "" && n.Member() }

// Openness describes which pods a node accepts.
type Openness uint8

// The most open nodes of a group represent it in means. A control plane that accepts
// hardly any pods, for example, must not influence what workers should use.
const (
	Shut     Openness = iota // accepts none
	Reserved                 // accepts only pods that tolerate its taints
	Open
)

// Openness returns which pods the node accepts.
func (n *Node) Openness() Openness {
	switch {
	case n.Closed() != "":
		return Shut
	case n.Reserved:
		return Reserved
	}
	return Open
}

// virtual holds labels of nodes that are not machines of the cluster but represent a
// service that runs pods, another cluster, or a simulator. Usage sources do not report
// such nodes.
var virtual = []struct{ key, value string }{
	{"type", "virtual-kubelet"},
	{"type", "virtual-node"},
	{"type", kwok},
	{"eks.amazonaws.com/compute-type", "fargate"},
	{"liqo.io/type", "virtual-node"},
	{"alibabacloud.com/virtual-node", "true"},
	{"kubernetes.io/role", "virtual-node"},
	{"node.kubernetes.io/instance-type", "eklet"},
	{"node.kubernetes.io/instance-type", "virtual-node"},
	{"beta.kubernetes.io/instance-type", "eklet"},
	{"beta.kubernetes.io/instance-type", "virtual-node"},
}

// virtualDomains holds prefixes of the domains of such nodes' taints.
var virtualDomains = []string{"virtual-kubelet", "virtual-node", "virtualnode"}

// virtualTaints holds taints of such nodes whose domains have none of these prefixes.
var virtualTaints = map[string]bool{
	"eks.amazonaws.com/compute-type": true, "eks.tke.cloud.tencent.com/eklet": true, kwokTaint: true,
	"alibabacloud.com/virtual-node": true, virtualRole: true,
}

const (
	// virtualKubelet is the prefix of label keys that only such nodes have, whatever the
	// values are.
	virtualKubelet = "virtual-kubelet.io/"
	virtualRole    = "node-role.kubernetes.io/virtual-node"

	kwok      = "kwok"
	kwokTaint = "kwok.x-k8s.io/node"
)

// Virtual returns the sign that the node is not a machine; empty if it is one.
// A simulated node that states where its usage can be read counts as a machine.
func (n *Node) Virtual() string {
	simulated := n.UsageAnnotations[ResourceMetricsPath] != ""
	for _, key := range n.Taints {
		if virtualTaints[key] && (!simulated || key != kwokTaint) || virtualKey(key) {
			return key
		}
	}
	for _, label := range virtual {
		if n.Labels[label.key] == label.value && (!simulated || label.value != kwok) {
			return label.key + "=" + label.value
		}
	}
	if _, ok := n.Labels[virtualRole]; ok {
		return virtualRole
	}
	first := ""
	for key := range n.Labels {
		if strings.HasPrefix(key, virtualKubelet) && (first == "" || key < first) {
			first = key
		}
	}
	return first
}

func virtualKey(key string) bool {
	return slices.ContainsFunc(virtualDomains, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}
