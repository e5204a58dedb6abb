package prometheus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Anyone who runs a scraped pod can export series with any name and with any
// label that the scrape target does not have, such as node. But they cannot
// choose the labels that a scrape sets: instance is the scraped address, and
// namespace and pod identify the pod behind it, if there is one.

const instanceLabel = "instance"

// clusterLabels are labels that name the cluster of a series.
// prometheus_replica is not one of them: it distinguishes two servers that
// scrape the same targets.
var clusterLabels = [...]string{
	"cluster", "cluster_name", "cluster_id", "k8s_cluster_name", "clusterName", "k8s_cluster", "kubernetes_cluster", "kube_cluster_name",
}

// serverLabel is the label that the Prometheus operator adds: the server's namespace and
// name. Two different values may belong to two servers of one cluster.
const serverLabel = "prometheus"

// origin determines where the series of one answer come from.
type origin struct {
	index *nodeIndex
	// all holds the clusters named by any series.
	all clusters
	// own and others hold the clusters named by the series that count for a node. own is
	// for series from the node's own address, and others for the rest. They are parallel
	// to the nodes.
	own, others []marks
	// elsewhere is true if another answer shows that nodes are scraped at their
	// own addresses. It is needed because few nodes may have the metric of this
	// answer, such as pressure.
	elsewhere bool
}

// marks are the clusters named by a node's series.
type marks struct {
	any bool // whether there is a series
	// values are parallel to clusterLabels; bare marks the labels that some series
	// lacks.
	values  [len(clusterLabels)]string
	bare    [len(clusterLabels)]bool
	several bool // whether one label has two values
}

func (m *marks) add(says *[len(clusterLabels)][]byte) {
	m.any = true
	for i, value := range says {
		switch {
		case len(value) == 0:
			m.bare[i] = true
		case m.values[i] == "":
			m.values[i] = string(value)
		case m.values[i] != string(value):
			m.several = true
		}
	}
}

func newOrigin(index *nodeIndex) origin {
	return origin{index: index, all: clusters{}, own: make([]marks, len(index.nodes)), others: make([]marks, len(index.nodes))}
}

// clusters maps labels to their values.
type clusters map[string]map[string]bool

// maxClusters bounds how many values of one label are kept.
const maxClusters = 16

func (c clusters) add(label string, value []byte) {
	if len(value) == 0 || len(c[label]) >= maxClusters || c[label][string(value)] {
		return
	}
	if c[label] == nil {
		c[label] = map[string]bool{}
	}
	c[label][string(value)] = true
}

// several returns the name of a label with more than one value; empty if there is none.
func (c clusters) several() string {
	for _, label := range slices.Sorted(maps.Keys(c)) {
		if len(c[label]) > 1 {
			values := slices.Sorted(maps.Keys(c[label]))
			return shown(fmt.Sprintf("%s=%q and %q", label, values[0], strings.Join(values[1:], `", "`)))
		}
	}
	return ""
}

// seen records a series, whether or not it belongs to a node.
func (o *origin) seen(s *series) {
	o.all.add(serverLabel, s.label(serverLabel))
	for i, value := range saysOf(s) {
		o.all.add(clusterLabels[i], value)
	}
}

// saysOf returns the cluster labels of a series, parallel to clusterLabels.
func saysOf(s *series) (says [len(clusterLabels)][]byte) {
	for _, l := range s.labels {
		name := s.text[l.name:l.middle]
		if len(name) == 0 || name[0] != 'c' && name[0] != 'k' { // all cluster labels begin with one of these
			continue
		}
		if i := slices.Index(clusterLabels[:], string(name)); i >= 0 {
			says[i] = s.text[l.middle:l.end]
		}
	}
	return says
}

// counts records a series that counts for a node. own reports whether it was
// scraped at the node's own address.
func (o *origin) counts(s *series, node int, own bool) {
	says := saysOf(s)
	if own {
		o.own[node].add(&says)
	} else {
		o.others[node].add(&says)
	}
}

// judge reports whether a series about a node, or about a pod on it, was scraped at that
// node's own address. why is the reason if the series must be ignored.
func (o *origin) judge(s *series, node int) (own bool, why string) {
	at, atNode := o.index.named(s.label(instanceLabel))
	if atNode && at != node {
		return false, notItsAddress
	}
	for _, labels := range o.index.podLabels {
		namespace, name := s.label(labels[0]), s.label(labels[1])
		if len(namespace) == 0 || len(name) == 0 {
			continue
		}
		// A series from the node's own address may be about a new pod.
		if on, runs := o.index.runsOn(namespace, name); runs && on != node || !runs && !atNode {
			return false, "from a pod that is not on it: " + s.String()
		}
	}
	return atNode, ""
}

const notItsAddress = "from an address other than the node's"

// podLabels are the pairs of labels (namespace and pod) that scrapes of pods set: the
// current ones, and those of configurations written for Prometheus 1 and 2. A scraped
// page can add a pair that its scrape does not set, so every pair that is present counts.
var podLabels = [][2]string{{"namespace", "pod"}, {"kubernetes_namespace", "kubernetes_pod_name"}}

// allPodLabels returns podLabels plus the pair of labels that the policy names.
func (c *Config) allPodLabels() [][2]string {
	all := slices.Clone(podLabels)
	if named := [2]string{c.NamespaceLabel, c.PodLabel}; !slices.Contains(all, named) {
		all = append(all, named)
	}
	return all
}

// settled reports whether nodes are commonly scraped at their own addresses;
// series from elsewhere then do not count. Nodes without any measurement, such
// as virtual ones, prove nothing either way.
func (o *origin) settled() bool {
	measured, scraped := 0, 0
	for i, node := range o.index.nodes {
		if node.Node.Measured() {
			measured++
			if o.own[i].any {
				scraped++
			}
		}
	}
	return o.elsewhere || scraped > 0 && 2*scraped >= measured
}

// mixed returns the nodes whose series cannot be attributed to this cluster, and adds a
// problem for an answer that names several clusters. These are the nodes whose own series
// disagree, and the nodes whose series name another cluster than this one. Anyone with a
// scraped page on a node can cause such series. If it is unclear which cluster is this
// one, no node can be attributed, and all is true.
func (o *origin) mixed(what string, problems *usage.Problems) (nodes map[int]bool, all bool) {
	if found := o.all.several(); found != "" {
		problems.Add(usage.SeveralClusters, what+": "+found)
	}
	nodes = map[int]bool{}
	settled := o.settled()
	for label := range clusterLabels {
		named, bare := map[string][]int{}, 0
		for node := range o.index.nodes {
			m := &o.own[node]
			if !m.any && !settled {
				m = &o.others[node]
			}
			switch {
			case m.several:
				nodes[node] = true
			case m.bare[label]:
				bare++
			case m.any:
				named[m.values[label]] = append(named[m.values[label]], node)
			}
		}
		if len(named) < 2 {
			continue
		}
		ours, ok := thisCluster(named, bare)
		if !ok {
			return nodes, true
		}
		for name, of := range named {
			if name == ours {
				continue
			}
			for _, node := range of {
				nodes[node] = true
			}
		}
	}
	return nodes, false
}

// thisCluster returns the name of this cluster: the one that most nodes have, if at least
// half of the nodes with a name have it. If there is no such name and as many nodes have
// no name, this cluster has no name either.
func thisCluster(named map[string][]int, bare int) (name string, ok bool) {
	all, most, next := 0, 0, 0
	for of, nodes := range named {
		all += len(nodes)
		if len(nodes) > most {
			name, most, next = of, len(nodes), most
		} else {
			next = max(next, len(nodes))
		}
	}
	if most > next && 2*most >= all {
		return name, true
	}
	return "", bare >= all
}
