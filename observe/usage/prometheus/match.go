package prometheus

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// nodeLabels are the labels that may name a node, the most reliable first. The
// first that a series has counts. Those that begin with exported_ are what a page
// says of itself against what the scrape says.
var nodeLabels = []string{
	"node", "nodename", "node_name", "kubernetes_node", "kubernetes_io_hostname", instanceLabel, "hostname", "host",
}

// ambiguous marks an address that several nodes share.
const ambiguous = -1

// nodeIndex finds the node that a series is about.
type nodeIndex struct {
	labels    []string
	podLabels [][2]string
	byKey     map[string]int

	nodes []*cluster.NodePods
	once  sync.Once
	pods  map[podKey]placed // all pods, once it was needed
}

// placed is where a pod is, and since when there is such a pod.
type placed struct {
	node    int
	created time.Time
}

// runsOn returns the node on which the pod of a name is.
func (x *nodeIndex) runsOn(namespace, name []byte) (node int, ok bool) {
	p, ok := x.placed(namespace, name)
	return p.node, ok
}

func (x *nodeIndex) placed(namespace, name []byte) (p placed, ok bool) {
	x.once.Do(func() {
		x.pods = map[podKey]placed{}
		for i, node := range x.nodes {
			for _, pod := range node.Pods {
				x.pods[podKey{pod.Namespace, pod.Name}] = placed{i, pod.Created}
			}
		}
	})
	p, ok = x.pods[podKey{string(namespace), string(name)}]
	return p, ok
}

// lastSeen is for how long queries may return series of a pod that has gone: the
// window of the mean, and the longest rateWindow.
const lastSeen = 15 * time.Minute

// predecessor reports whether a series of the pod of a name may be of one of the
// same name that ran elsewhere before, as those of StatefulSets do.
func (x *nodeIndex) predecessor(namespace, name []byte, at time.Time) bool {
	p, ok := x.placed(namespace, name)
	return ok && at.Sub(p.created) < lastSeen
}

// newNodeIndex indexes nodes by name, host name and internal address. An
// address that two nodes share identifies neither, but a node's name always
// identifies that node.
func (c *Config) newNodeIndex(snapshot *cluster.Snapshot) *nodeIndex {
	index := &nodeIndex{
		nodes: snapshot.Nodes, labels: nodeLabels, podLabels: c.allPodLabels(), byKey: make(map[string]int, 3*len(snapshot.Nodes)),
	}
	if c.NodeLabel != "" {
		index.labels = []string{c.NodeLabel}
	}
	for i, node := range snapshot.Nodes {
		index.add(node.Node.Hostname, i)
		index.add(node.Node.InternalIP, i)
	}
	for i, node := range snapshot.Nodes {
		index.byKey[node.Node.Name] = i
	}
	return index
}

func (x *nodeIndex) add(key string, node int) {
	if key == "" {
		return
	}
	if other, ok := x.byKey[key]; ok && other != node {
		node = ambiguous
	}
	x.byKey[key] = node
}

// find returns the node that the first label of a series names.
func (x *nodeIndex) find(s *series) (node int, ok bool) {
	for _, label := range x.labels {
		value := s.label(label)
		if len(value) > 0 {
			return x.named(value)
		}
	}
	return 0, false
}

func (x *nodeIndex) named(value []byte) (int, bool) {
	node, ok := x.byKey[string(value)]
	if !ok {
		node, ok = x.byKey[host(string(value))]
	}
	return node, ok && node != ambiguous
}

// host cuts the port off host:port and [address]:port. An address with several
// colons and no brackets has none.
func host(value string) string {
	for _, address := range []string{value, value + ":0"} {
		if host, _, err := net.SplitHostPort(address); err == nil {
			return host
		}
	}
	return value
}

// example names a series that belongs to no node by the label that should have
// named one.
func (x *nodeIndex) example(s *series) string {
	for _, label := range x.labels {
		if value := s.label(label); len(value) > 0 {
			return shown(fmt.Sprintf("%s=%q", label, value))
		}
	}
	return s.String()
}
