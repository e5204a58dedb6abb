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
var clusterLabels = []string{"cluster", "cluster_name", "cluster_id", "k8s_cluster_name"}

// serverLabel is what the Prometheus operator adds: the server's namespace and
// name. Two of them may be two servers of one cluster.
const serverLabel = "prometheus"

// origin judges where the series of one answer are from.
type origin struct {
	nodes []*cluster.NodePods
	index *nodeIndex
	// scraped are the nodes at whose own address series were scraped.
	scraped map[int]bool
	// all are the clusters of all series; own and others those of the series that
	// count, scraped at a node's address or not.
	all, own, others clusters
}

// clusters holds labels with their values.
type clusters map[string]map[string]bool

func newOrigin(nodes []*cluster.NodePods, index *nodeIndex) origin {
	return origin{nodes: nodes, index: index, scraped: map[int]bool{}, all: clusters{}, own: clusters{}, others: clusters{}}
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
func (o *origin) seen(s *series) { o.all.add(s, append(clusterLabels, serverLabel)...) }

// counts records a series that counts, and reports whether it was scraped at a
// node's own address.
func (o *origin) counts(s *series) (own bool) {
	node, own := o.index.named(s.label(instanceLabel))
	if own {
		o.scraped[node] = true
		o.own.add(s, clusterLabels...)
	} else {
		o.others.add(s, clusterLabels...)
	}
	return own
}

// speaksFor reports whether a series may be about a node: one that was scraped
// from a pod must be from a pod there. One that was scraped at the node's own
// address may be from a pod that is not known, such as a collector's elsewhere.
func (o *origin) speaksFor(s *series, node int) bool {
	at, own := o.index.named(s.label(instanceLabel))
	own = own && at == node
	for _, labels := range podLabels {
		namespace, name := s.label(labels[0]), s.label(labels[1])
		if len(namespace) == 0 || len(name) == 0 || slices.ContainsFunc(o.nodes[node].Pods, func(pod *cluster.Pod) bool {
			return pod.Name == string(name) && pod.Namespace == string(namespace)
		}) {
			continue
		}
		if !own || o.index.runs(namespace, name) {
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

// mixed reports whether series of several clusters count, so that none can be
// told to be this one's, and adds a problem for each answer that has several.
func (o *origin) mixed(what string, problems *usage.Problems) bool {
	if found := o.all.several(); found != "" {
		problems.Add(usage.SeveralClusters, what+": "+found)
	}
	counted := o.own
	if !o.settled() {
		counted = clusters{}
		for _, from := range []clusters{o.own, o.others} {
			for label, values := range from {
				if counted[label] == nil {
					counted[label] = map[string]bool{}
				}
				maps.Copy(counted[label], values)
			}
		}
	}
	return counted.several() != ""
}
