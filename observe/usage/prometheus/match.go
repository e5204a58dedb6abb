package prometheus

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// nodeLabels are the labels that may name a node, the most reliable first. The first one
// that a series has counts. Labels that begin with exported_ were set by the scraped page
// and conflict with labels of the scrape.
var nodeLabels = []string{
	"node", "nodename", "node_name", "kubernetes_node", "kubernetes_io_hostname", instanceLabel, "hostname", "host",
}

// ambiguous marks an address that several nodes share.
const ambiguous = -1

// nodeIndex finds the node to which a series belongs.
type nodeIndex struct {
	labels    []string
	podLabels [][2]string
	byKey     map[string]int

	nodes []*cluster.NodePods
	once  sync.Once
	pods  map[podKey]placed // all pods, filled on first use
}

// placed is the node of a pod, and the time since which the pod has existed.
type placed struct {
	node    int
	created time.Time
}

// runsOn returns the node of the named pod.
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

// lastSeen is how long queries may return series of a pod that is gone: the window of the
// mean plus the longest rateWindow.
const lastSeen = 15 * time.Minute

// predecessor reports whether a series with a pod's name may belong to an
// earlier pod of the same name on another node, as with StatefulSets.
func (x *nodeIndex) predecessor(namespace, name []byte, at time.Time) bool {
	p, ok := x.placed(namespace, name)
	return ok && at.Sub(p.created) < lastSeen
}

// newNodeIndex indexes nodes by name, host name and internal address. An address that two
// nodes share identifies neither of them, whereas a node's name always identifies the
// node.
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
	if !ok && bytes.IndexByte(value, ':') >= 0 { // without one, host would only allocate an error
		node, ok = x.byKey[host(string(value))]
	}
	return node, ok && node != ambiguous
}

// host strips the port from host:port and [address]:port. An address with
// several colons and no brackets has no port.
func host(value string) string {
	for _, address := range []string{value, value + ":0"} {
		if host, _, err := net.SplitHostPort(address); err == nil {
			return host
		}
	}
	return value
}

// example describes a series that belongs to no node by the label that should have
// identified one.
func (x *nodeIndex) example(s *series) string {
	for _, label := range x.labels {
		if value := s.label(label); len(value) > 0 {
			return shown(fmt.Sprintf("%s=%q", label, value))
		}
	}
	return s.String()
}
