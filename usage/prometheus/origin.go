package prometheus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Whoever runs a pod that is scraped can export series by any name and with any
// label that their target does not have, such as node. They cannot choose the
// labels that a scrape sets: instance is the address that was scraped, and
// namespace and pod are those of the pod behind it, where there is one.

const instanceLabel = "instance"

// clusterLabels are labels that say which cluster a series is of.
// prometheus_replica is not one: it tells apart two servers that scrape the
// same.
var clusterLabels = [...]string{"cluster", "cluster_name", "cluster_id", "k8s_cluster_name"}

// serverLabel is what the Prometheus operator adds: the server's namespace and
// name. Two of them may be two servers of one cluster.
const serverLabel = "prometheus"

// origin judges where the series of one answer are from.
type origin struct {
	nodes []*cluster.NodePods
	index *nodeIndex
	// scraped are the nodes that have series from their own address.
	scraped map[int]bool
	// all are the clusters of all series. own and others are those of a node's
	// series that count, from its own address or not.
	all         clusters
	own, others []marks
}

// marks are the clusters that the series of one node name, in the order of
// clusterLabels.
type marks struct {
	values [len(clusterLabels)]string
	// bare are the labels that a series lacks, several whether two differ.
	bare    [len(clusterLabels)]bool
	several bool
}

func (m *marks) add(s *series) {
	for i, label := range clusterLabels {
		switch value := s.label(label); {
		case len(value) == 0:
			m.bare[i] = true
		case m.values[i] == "":
			m.values[i] = string(value)
		case m.values[i] != string(value):
			m.several = true
		}
	}
}

// clusters holds labels with their values.
type clusters map[string]map[string]bool

func newOrigin(nodes []*cluster.NodePods, index *nodeIndex) origin {
	return origin{
		nodes: nodes, index: index, scraped: map[int]bool{}, all: clusters{},
		own: make([]marks, len(nodes)), others: make([]marks, len(nodes)),
	}
}

// maxClusters bounds the values of one label that are kept.
const maxClusters = 16

func (c clusters) add(s *series, labels ...string) {
	for _, label := range labels {
		value := s.label(label)
		if len(value) == 0 || len(c[label]) >= maxClusters || c[label][string(value)] {
			continue
		}
		if c[label] == nil {
			c[label] = map[string]bool{}
		}
		c[label][string(value)] = true
	}
}

// several names a label with more than one value, or returns an empty string.
func (c clusters) several() string {
	for _, label := range slices.Sorted(maps.Keys(c)) {
		if len(c[label]) > 1 {
			values := slices.Sorted(maps.Keys(c[label]))
			return shown(fmt.Sprintf("%s=%q and %q", label, values[0], strings.Join(values[1:], `", "`)))
		}
	}
	return ""
}

// seen records a series, whoever it is of.
func (o *origin) seen(s *series) { o.all.add(s, append(clusterLabels[:], serverLabel)...) }

// counts records a series that counts for a node, scraped at the node's own
// address or not.
func (o *origin) counts(s *series, node int, own bool) {
	if !own {
		o.others[node].add(s)
		return
	}
	o.scraped[node] = true
	o.own[node].add(s)
}

// judge reports whether a series that is about a node was scraped at that node's
// own address, and why it does not count, if so.
func (o *origin) judge(s *series, node int) (own bool, why string) {
	at, atNode := o.index.named(s.label(instanceLabel))
	switch own = atNode && at == node; {
	case atNode && !own:
		return false, notItsAddress
	case !o.speaksFor(s, node, own):
		return false, "from a pod that is not on it: " + s.String()
	}
	return own, ""
}

const notItsAddress = "from another address than its own"

// speaksFor reports whether a series may be about a node: one that was scraped
// from a pod must be from a pod there. One that was scraped at the node's own
// address may be from a pod that is not known, such as one that has just come.
func (o *origin) speaksFor(s *series, node int, own bool) bool {
	for _, labels := range podLabels {
		namespace, name := s.label(labels[0]), s.label(labels[1])
		if len(namespace) == 0 || len(name) == 0 || slices.ContainsFunc(o.nodes[node].Pods, func(pod *cluster.Pod) bool {
			return pod.Name == string(name) && pod.Namespace == string(namespace)
		}) {
			continue
		}
		if _, runs := o.index.runsOn(namespace, name); runs || !own {
			return false
		}
	}
	return true
}

// podLabels are the labels that scrapes of pods set, namespace first: those of
// today, and of configurations that were written for Prometheus 1 and 2. A page
// can add the pair that its scrape does not set, so that each present one counts.
var podLabels = [][2]string{{"namespace", "pod"}, {"kubernetes_namespace", "kubernetes_pod_name"}}

// settled reports whether nodes are commonly scraped at their own addresses:
// then series from elsewhere do not count.
func (o *origin) settled() bool {
	ready, scraped := 0, 0
	for i, node := range o.nodes {
		if node.Node.Ready {
			ready++
			if o.scraped[i] {
				scraped++
			}
		}
	}
	return scraped > 0 && 2*scraped >= ready
}

// mixed returns the nodes whose series cannot be told to be of this cluster, and
// adds a problem for an answer that names several. A node whose own series differ
// is one; so is a node that differs from all others, as whoever has a page there
// can make it. Only where several nodes differ, nothing can be told of any.
func (o *origin) mixed(what string, problems *usage.Problems) (nodes map[int]bool, all bool) {
	if found := o.all.several(); found != "" {
		problems.Add(usage.SeveralClusters, what+": "+found)
	}
	nodes = map[int]bool{}
	settled := o.settled()
	for label := range clusterLabels {
		by, bare := map[string][]int{}, 0
		for node := range o.nodes {
			m := &o.own[node]
			if !o.scraped[node] && !settled {
				m = &o.others[node]
			}
			switch {
			case m.several:
				nodes[node] = true
			case m.bare[label]:
				bare++
			case m.values[label] != "":
				by[m.values[label]] = append(by[m.values[label]], node)
			}
		}
		if len(by) < 2 {
			continue
		}
		common := 0
		for _, of := range by {
			if len(of) > 1 {
				common++
			}
		}
		if common > 1 || common == 0 && bare < 2 {
			return nodes, true
		}
		for _, of := range by {
			if len(of) == 1 {
				nodes[of[0]] = true
			}
		}
	}
	return nodes, false
}
