package cluster

import (
	"slices"
	"strings"
)

// This file defines who takes part in balancing, and as what. Coverage, shares,
// means, counts and landings all ask here:
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

// Measured reports whether a usage source has to know the node, so that one
// without usage is a sign of a broken source. A node that is being removed is no
// such sign: nothing is moved to it or away from it.
func (n *Node) Measured() bool { return n.Ready && n.Leaving == "" && n.Member() }

// Openness is which pods a node takes.
type Openness uint8

// The nodes of a group that are the most open represent it in means: a control
// plane that takes hardly any pod does not show what workers should use.
const (
	Shut     Openness = iota // none
	Reserved                 // those that tolerate its taints
	Open
)

// Openness returns which pods the node takes.
func (n *Node) Openness() Openness {
	switch {
	case n.Closed() != "":
		return Shut
	case n.Reserved:
		return Reserved
	}
	return Open
}

// virtual are labels of nodes behind which there is no machine of the cluster but
// a service that runs pods, another cluster, or a simulator. Usage sources do not
// know them.
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

// virtualDomains are what the domains of such nodes' taints begin with.
var virtualDomains = []string{"virtual-kubelet", "virtual-node", "virtualnode"}

// virtualTaints are taints of such nodes in other domains.
var virtualTaints = map[string]bool{
	"eks.amazonaws.com/compute-type": true, "eks.tke.cloud.tencent.com/eklet": true, kwokTaint: true,
	"alibabacloud.com/virtual-node": true, virtualRole: true,
}

const (
	// virtualKubelet begins the keys of labels that only such nodes have, whatever
	// their values.
	virtualKubelet = "virtual-kubelet.io/"
	virtualRole    = "node-role.kubernetes.io/virtual-node"

	kwok      = "kwok"
	kwokTaint = "kwok.x-k8s.io/node"
)

// Virtual returns what shows that the node is no machine; empty if it is one. A
// simulated node that states where its usage can be read counts as a machine.
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
