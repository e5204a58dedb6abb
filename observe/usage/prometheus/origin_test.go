package prometheus

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// scraped returns the labels of a node's exporter as the Prometheus operator sets them.
func scraped(node string) []string {
	address := "10.0.0." + strings.TrimPrefix(node, "n") + ":9100"
	return []string{"instance", address, "job", "node-exporter", "namespace", "monitoring", "pod", "exporter-" + node}
}

// tenant returns the labels of a series about a node from the page of a tenant's pod, which runs on
// n1.
func tenant(node string) []string {
	return []string{"instance", "10.244.1.7:8080", "job", "shop/web", "namespace", "shop", "pod", "web-0", "node", node}
}

// exporterCluster returns a cluster with an exporter on each node, and a
// tenant's pod on n1.
func exporterCluster(nodes int) *cluster.Snapshot {
	snapshot := clusterOf(nodes)
	for _, node := range snapshot.Nodes {
		node.Pods = []*cluster.Pod{{Namespace: "monitoring", Name: "exporter-" + node.Node.Name, Node: node.Node.Name}}
	}
	snapshot.Nodes[0].Pods = append(snapshot.Nodes[0].Pods, &cluster.Pod{Namespace: "shop", Name: "web-0", Node: "n1"})
	return snapshot
}

// Someone whose page is scraped cannot report values for a node, whether or not the node's exporter
// reports, and cannot change the age of the node's samples.
func TestTenantsPageDoesNotSpeakForNodes(t *testing.T) {
	const cores = "20" // of 32
	genuine := func() map[string][]one {
		answers := map[string][]one{}
		for _, node := range []string{"n1", "n2", "n3", "n4"} {
			answers[nodeCPU] = append(answers[nodeCPU], of(cores, scraped(node)...))
			answers[nodeMemory] = append(answers[nodeMemory], of("1073741824", scraped(node)...))
			answers[nodeStamp] = append(answers[nodeStamp], of(stamp(-10), scraped(node)...))
		}
		return answers
	}
	without := func(answers map[string][]one, node int) map[string][]one {
		for key := range answers {
			answers[key] = append(answers[key][:node:node], answers[key][node+1:]...)
		}
		return answers
	}
	all := map[string]float64{"n1 cpu avg_5m": 20_000, "n2 cpu avg_5m": 20_000, "n3 cpu avg_5m": 20_000, "n4 cpu avg_5m": 20_000}
	cases := map[string]struct {
		answers map[string][]one
		page    map[string][]one
		want    map[string]float64
		foreign bool
	}{
		"far from the truth":       {genuine(), map[string][]one{nodeCPU: {of("1", tenant("n1")...), of("31", tenant("n2")...)}}, all, true},
		"near the truth":           {genuine(), map[string][]one{nodeCPU: {of("21", tenant("n1")...), of("21", tenant("n2")...)}}, all, true},
		"no number":                {genuine(), map[string][]one{nodeCPU: {of("NaN", tenant("n1")...), of("-5", tenant("n2")...)}}, all, true},
		"about three of the nodes": {genuine(), map[string][]one{nodeCPU: {of("1", tenant("n2")...), of("1", tenant("n3")...), of("1", tenant("n4")...)}}, all, true},
		"old samples":              {genuine(), map[string][]one{nodeStamp: {of(stamp(-4000), tenant("n1")...), of(stamp(-4000), tenant("n2")...)}}, all, false},
		"by labels further behind": {
			genuine(), map[string][]one{nodeCPU: {of("1", "instance", "10.244.1.7:8080", "host", "n1", "hostname", "n1", "exported_instance", "10.0.0.1:9100")}}, all, false,
		},
		"without labels of its pod": {genuine(), map[string][]one{nodeCPU: {of("1", "instance", "10.244.1.7:8080", "node", "n1")}}, all, true},
		"with other names of its pod's labels": {
			genuine(), map[string][]one{nodeCPU: {of("1", "instance", "n2", "kubernetes_namespace", "shop", "kubernetes_pod_name", "web-0")}}, all, true,
		},
		"with other labels that name the exporter": {
			genuine(), map[string][]one{nodeCPU: {of("1", append(tenant("n2"), "kubernetes_namespace", "monitoring", "kubernetes_pod_name", "exporter-n2")...)}}, all, true,
		},
		"about a silent node": {
			without(genuine(), 1), map[string][]one{nodeCPU: {of("31", tenant("n2")...)}, nodeStamp: {of(stamp(-1), tenant("n2")...)}},
			map[string]float64{"n1 cpu avg_5m": 20_000, "n3 cpu avg_5m": 20_000, "n4 cpu avg_5m": 20_000}, true,
		},
		"about its own node, which is silent": {
			without(genuine(), 0), map[string][]one{nodeCPU: {of("31", tenant("n1")...)}, nodeStamp: {of(stamp(-1), tenant("n1")...)}},
			map[string]float64{"n2 cpu avg_5m": 20_000, "n3 cpu avg_5m": 20_000, "n4 cpu avg_5m": 20_000}, true,
		},
		"claiming to be another cluster's": {
			genuine(), map[string][]one{nodeCPU: {of("31", append(tenant("n1"), "cluster", "us")...), of("31", append(tenant("n2"), "cluster", "eu")...)}}, all, true,
		},
	}
	for name, tc := range cases {
		for _, first := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				server := newFake(t, map[string]string{})
				for key, series := range tc.answers {
					if first {
						series = append(slices.Clip(tc.page[key]), series...)
					} else {
						series = append(slices.Clip(series), tc.page[key]...)
					}
					server.set(key, vectorOf(series...))
				}
				config := configFor(server.URL)
				config.NodesOnly = true
				batch := sample(t, newSource(t, config), exporterCluster(4))
				got := values(batch)
				maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.Contains(name, "cpu") })
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("CPU of nodes (-want +got):\n%s", diff)
				}
				for _, node := range batch.Nodes {
					if at := node.Readings[0].At; !at.Equal(epoch().Add(-10 * time.Second)) {
						t.Errorf("%s is measured at %v", node.Name, at)
					}
				}
				if tc.foreign != (batch.Problems[usage.Foreign].Count > 0) {
					t.Errorf("problems %v; a foreign series among them: want %v", batch.Problems, tc.foreign)
				}
			})
		}
	}
}

// Hardly any node may have a metric, such as pressure if most kernels do not report it. If other
// answers come from the nodes' own addresses, this metric is expected from there as well. Otherwise
// a page could use it to make its own node hot.
func TestTenantsPageAboutWhatNodesLack(t *testing.T) {
	const pressure = "node_pressure_cpu_waiting_seconds_total"
	config := configFor("http://localhost:9090")
	contention := over(config.contention(), usage.Avg5m, stepOf(usage.Avg5m))
	kubelet := func(value string) one {
		return of(value, "namespace", "monitoring", "pod", "exporter-n1", "instance", "10.0.0.1:10250")
	}
	for name, tc := range map[string]struct {
		key    string
		metric usage.Metric
		own    []one
	}{
		"pressure that no node has":  {pressure, usage.CPUPressure, nil},
		"pressure that one node has": {pressure, usage.CPUPressure, []one{of("10", scraped("n2")...)}},
		"contention":                 {contention, usage.CPUContention, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, map[string]string{
				nodeCPU:   vectorOf(of("20", scraped("n1")...), of("20", scraped("n2")...), of("20", scraped("n3")...)),
				nodeStamp: vectorOf(of(stamp(-10), scraped("n1")...), of(stamp(-10), scraped("n2")...), of(stamp(-10), scraped("n3")...)),
				podCPU:    vectorOf(kubelet("1"), of("1", "namespace", "monitoring", "pod", "exporter-n2", "instance", "10.0.0.2:10250")),
				podMemory: vectorOf(kubelet("1048576")),
			})
			server.set(tc.key, vectorOf(append(slices.Clone(tc.own), of("95", tenant("n1")...))...))
			config := configFor(server.URL)
			config.Metrics = []usage.Metric{usage.CPU, tc.metric}
			batch := sample(t, newSource(t, config), exporterCluster(3))
			got := values(batch)
			if value, ok := got["n1 "+string(tc.metric)+" avg_5m"]; ok || got["n1 cpu avg_5m"] != 20_000 {
				t.Errorf("a tenant's page has its node at %v: %v", value, got)
			}
			if _, ok := got["n2 "+string(tc.metric)+" avg_5m"]; ok != (tc.own != nil) {
				t.Errorf("of the node that has it: %v", got)
			}
			if batch.Problems[usage.Foreign].Count == 0 {
				t.Errorf("problems %v", batch.Problems)
			}
		})
	}
}

// Even if nodes without any measurement outnumber the machines, as here, a tenant's page does not
// count for a node with a silent exporter.
func TestTenantsPageBesideVirtualNodes(t *testing.T) {
	for name, change := range map[string]func(*cluster.Node){
		"virtual":      func(n *cluster.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} },
		"not selected": func(n *cluster.Node) { n.Unselected = true },
		"leaving":      func(n *cluster.Node) { n.Leaving = "karpenter.sh/disrupted" },
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, map[string]string{
				nodeCPU:   vectorOf(of("20", scraped("n2")...), of("20", scraped("n3")...), of("31", tenant("n1")...)),
				nodeStamp: vectorOf(of(stamp(-10), scraped("n2")...), of(stamp(-10), scraped("n3")...), of(stamp(-1), tenant("n1")...)),
			})
			config := configFor(server.URL)
			config.NodesOnly, config.Metrics = true, []usage.Metric{usage.CPU}
			snapshot := exporterCluster(7)
			for _, node := range snapshot.Nodes[3:] {
				change(&node.Node)
			}
			batch := sample(t, newSource(t, config), snapshot)
			if diff := cmp.Diff(map[string]float64{"n2 cpu avg_5m": 20_000, "n3 cpu avg_5m": 20_000}, values(batch)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, batch.Problems)
			}
		})
	}
}

// An exporter at its node's address counts even if its pod is not known yet because it has just
// started.
func TestExporterWhosePodIsNotKnown(t *testing.T) {
	server := newFake(t, map[string]string{
		nodeCPU: vectorOf(of("20", scraped("n1")...), of("20", scraped("n2")...)), nodeStamp: vectorOf(of(stamp(0), scraped("n1")...), of(stamp(0), scraped("n2")...)),
	})
	config := configFor(server.URL)
	config.NodesOnly, config.Metrics = true, []usage.Metric{usage.CPU}
	snapshot := exporterCluster(2)
	snapshot.Nodes[0].Pods = nil
	if diff := cmp.Diff(map[string]float64{"n1 cpu avg_5m": 20_000, "n2 cpu avg_5m": 20_000}, values(sample(t, newSource(t, config), snapshot))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A page cannot report values for pods either, not even for its own pod if the kubelet contradicts
// them.
func TestTenantsPageDoesNotSpeakForPods(t *testing.T) {
	kubelet := func(value, namespace, pod string) one {
		return of(value, "namespace", namespace, "pod", pod, "instance", "10.0.0.1:10250")
	}
	page := func(value string) one {
		return of(value, "namespace", "shop", "pod", "web-0", "instance", "10.244.1.7:8080")
	}
	web := func(milli int64) usage.PodSample {
		return usage.PodSample{Namespace: "shop", Name: "web-0", Avg5m: usage.Sample{At: epoch(), Used: cluster.Amounts{milli, 1 << 20}}}
	}
	cases := map[string]struct {
		cpu     []one
		want    []usage.PodSample
		problem usage.Cause
	}{
		"the kubelet alone":         {[]one{kubelet("0.25", "shop", "web-0")}, []usage.PodSample{web(250)}, ""},
		"after the kubelet":         {[]one{kubelet("0.25", "shop", "web-0"), page("30")}, []usage.PodSample{web(250)}, usage.Foreign},
		"before the kubelet":        {[]one{page("30"), kubelet("0.25", "shop", "web-0")}, []usage.PodSample{web(250)}, usage.Foreign},
		"twice before the kubelet":  {[]one{page("30"), page("1"), kubelet("0.25", "shop", "web-0")}, []usage.PodSample{web(250)}, usage.Foreign},
		"no number":                 {[]one{page("NaN"), kubelet("0.25", "shop", "web-0")}, []usage.PodSample{web(250)}, usage.Absurd},
		"where the kubelet has not": {[]one{kubelet("0.1", "shop", "other"), page("30")}, nil, usage.UnmatchedPod},
		"two kubelet's addresses that differ": {
			[]one{kubelet("0.25", "shop", "web-0"), of("0.5", "namespace", "shop", "pod", "web-0", "instance", "n1")}, nil, usage.Duplicate,
		},
		"two kubelet's addresses": {
			[]one{kubelet("0.25", "shop", "web-0"), of("0.26", "namespace", "shop", "pod", "web-0", "instance", "n1")}, []usage.PodSample{web(260)}, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, map[string]string{podCPU: vectorOf(tc.cpu...), podMemory: vectorOf(kubelet("1048576", "shop", "web-0"))})
			batch := sample(t, newSource(t, configFor(server.URL)), clusterOf(2))
			if diff := cmp.Diff(tc.want, batch.Pods, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if tc.problem != "" && batch.Problems[tc.problem].Count == 0 {
				t.Errorf("problems %v, want %s", batch.Problems, tc.problem)
			}
		})
	}
}

// If exporters have their own addresses, two pages about one node cannot be told apart. If the
// pages differ, only that node is unknown.
func TestExportersThatAreNotAtTheirNodesAddresses(t *testing.T) {
	exporter := func(node, value string) one {
		return of(value, "instance", "10.244.9."+node+":9100", "node", node, "namespace", "monitoring", "pod", "exporter-"+node)
	}
	at := func(node string) one { return of(stamp(-10), "instance", "10.244.9."+node+":9100", "node", node) }
	server := newFake(t, map[string]string{
		nodeCPU:   vectorOf(exporter("n1", "20"), exporter("n2", "20"), of("5", tenant("n1")...), of("5", tenant("n2")...)),
		nodeStamp: vectorOf(at("n1"), at("n2")),
	})
	config := configFor(server.URL)
	config.NodesOnly, config.Metrics = true, []usage.Metric{usage.CPU}
	batch := sample(t, newSource(t, config), exporterCluster(2))
	if diff := cmp.Diff(map[string]float64{"n2 cpu avg_5m": 20_000}, values(batch)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if batch.Problems[usage.Duplicate].Count != 1 || batch.Problems[usage.Foreign].Count != 1 {
		t.Errorf("problems %v, want a dispute about n1 and a foreign series about n2", batch.Problems)
	}
}

// An answer that contains two clusters is a problem. Series of the other cluster are ignored even
// if they could belong to nodes and pods of this one.
func TestTwoClustersInOneAnswer(t *testing.T) {
	eu, us := []string{"cluster", "eu"}, []string{"cluster", "us"}
	node := func(value, name string, labels []string) one {
		return of(value, append([]string{"instance", name + ":9100"}, labels...)...)
	}
	pod := func(value string, labels []string) one {
		return of(value, append([]string{"namespace", "kafka", "pod", "kafka-0"}, labels...)...)
	}
	cases := map[string]struct {
		nodes, pods           []one
		wantNodes             map[string]float64
		wantPods, wantProblem bool
	}{
		"one cluster": {
			nodes: []one{node("3", "n1", eu), node("4", "n2", eu)}, pods: []one{pod("0.1", eu)},
			wantNodes: map[string]float64{"n1 cpu avg_5m": 3000, "n2 cpu avg_5m": 4000}, wantPods: true,
		},
		"nodes of the same names":          {nodes: []one{node("3", "n1", eu), node("4", "n2", eu), node("3.1", "n1", us), node("4.1", "n2", us)}, wantProblem: true},
		"one node's exporter is down here": {nodes: []one{node("3", "n1", eu), node("4", "n2", us)}, wantProblem: true},
		"nodes of other names": {
			nodes:     []one{node("3", "n1", eu), node("4", "n2", eu), node("5", "n77", us)},
			wantNodes: map[string]float64{"n1 cpu avg_5m": 3000, "n2 cpu avg_5m": 4000}, wantProblem: true,
		},
		"a pod of the same name":     {pods: []one{pod("0.1", eu), pod("3", us)}, wantProblem: true},
		"by another label":           {nodes: []one{node("3", "n1", []string{"kubernetes_cluster", "eu"}), node("4", "n1", []string{"kubernetes_cluster", "us"})}, wantProblem: true},
		"two servers of one cluster": {nodes: []one{node("3", "n1", []string{"prometheus_replica", "a"}), node("3", "n1", []string{"prometheus_replica", "b"})}, wantNodes: map[string]float64{"n1 cpu avg_5m": 3000}},
		"two operators' servers": {
			nodes:     []one{node("3", "n1", []string{"prometheus", "a/k8s"}), node("3", "n1", []string{"prometheus", "b/k8s"})},
			wantNodes: map[string]float64{"n1 cpu avg_5m": 3000}, wantProblem: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			memory := make([]one, len(tc.pods))
			for i := range tc.pods {
				memory[i] = one{tc.pods[i].labels, "1048576"}
			}
			server := newFake(t, map[string]string{
				nodeCPU: vectorOf(tc.nodes...), podCPU: vectorOf(tc.pods...), podMemory: vectorOf(memory...),
				nodeStamp: vectorOf(node(stamp(0), "n1", nil), node(stamp(0), "n2", nil)),
			})
			config := configFor(server.URL)
			config.Metrics = []usage.Metric{usage.CPU}
			batch := sample(t, newSource(t, config), clusterOf(2))
			want := tc.wantNodes
			if want == nil {
				want = map[string]float64{}
			}
			if diff := cmp.Diff(want, values(batch)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if (len(batch.Pods) > 0) != tc.wantPods {
				t.Errorf("pods %v, want some: %v", batch.Pods, tc.wantPods)
			}
			if got := batch.Problems[usage.SeveralClusters]; (got.Count > 0) != tc.wantProblem {
				t.Errorf("problems %v, want several clusters: %v", batch.Problems, tc.wantProblem)
			}
		})
	}
}

// A page with cluster labels can at most make its own node unknown. That holds whether exporters
// are scraped at their nodes' addresses or have their own, and even if there are such pages on
// several nodes.
func TestPagesThatNameClustersTaintTheirOwnNode(t *testing.T) {
	at := func(address func(node string) []string, more ...string) func(nodes ...string) []one {
		return func(nodes ...string) []one {
			var all []one
			for _, node := range nodes {
				all = append(all, of("20", slices.Concat(address(node), more)...))
			}
			return all
		}
	}
	apart := func(node string) []string {
		return []string{"instance", "10.244.9." + strings.TrimPrefix(node, "n") + ":9100", "node", node, "namespace", "monitoring", "pod", "exporter-" + node}
	}
	page := func(node, value, named string) one {
		pod := map[string]string{"n1": "web-0", "n2": "web-1"}[node]
		return of(value, "instance", "10.244.1.7:8080", "namespace", "shop", "pod", pod, "node", node, "cluster", named)
	}
	hostPage := func(node, value, named string) one {
		s := page(node, value, named)
		s.labels["instance"] = "10.0.0." + strings.TrimPrefix(node, "n") + ":8080"
		return s
	}
	all := []string{"n1", "n2", "n3", "n4"}
	cases := map[string]struct {
		nodes, page []one
		want        []string
	}{
		"at the node's address":                   {at(scraped)(all...), []one{hostPage("n1", "20", "x"), hostPage("n1", "20", "y")}, []string{"n2", "n3", "n4"}},
		"one at the node's address":               {at(scraped, "cluster", "eu")(all...), []one{hostPage("n1", "20", "x")}, []string{"n2", "n3", "n4"}},
		"one next to unnamed exporters":           {at(scraped)(all...), []one{hostPage("n1", "20", "x"), hostPage("n2", "20", "y")}, all},
		"where the exporter is silent":            {at(scraped, "cluster", "eu")("n2", "n3", "n4"), []one{hostPage("n1", "20", "x")}, []string{"n2", "n3", "n4"}},
		"where two exporters are silent":          {at(scraped)("n3", "n4"), []one{hostPage("n1", "20", "x"), hostPage("n2", "20", "y")}, []string{"n3", "n4"}},
		"disputed, with addresses apart":          {at(apart)(all...), []one{page("n1", "5", "x"), page("n1", "5", "y")}, []string{"n2", "n3", "n4"}},
		"agreeing, with addresses apart":          {at(apart)(all...), []one{page("n1", "20", "x"), page("n1", "20", "y")}, []string{"n2", "n3", "n4"}},
		"one name where two exporters are silent": {at(scraped, "cluster", "eu")("n3", "n4", "n5"), []one{hostPage("n1", "20", "x"), hostPage("n2", "20", "x")}, []string{"n3", "n4", "n5"}},
		"one name, with separate addresses, where two exporters are silent": {
			at(apart, "cluster", "eu")("n3", "n4", "n5"), []one{page("n1", "20", "x"), page("n2", "20", "x")}, []string{"n3", "n4", "n5"},
		},
		"two names where two exporters are silent": {at(scraped, "cluster", "eu")("n3", "n4"), []one{hostPage("n1", "20", "x"), hostPage("n2", "20", "y")}, []string{"n3", "n4"}},
		"one name next to unnamed exporters, and one that is named": {
			slices.Concat(at(scraped)("n3", "n4", "n5"), at(scraped, "cluster", "eu")("n2")), []one{hostPage("n1", "20", "x")}, []string{"n3", "n4", "n5"},
		},
		"as often as the exporters":                {at(scraped, "cluster", "eu")("n3", "n4"), []one{hostPage("n1", "20", "x"), hostPage("n2", "20", "x")}, nil},
		"about two nodes, with separate addresses": {at(apart)(all...), []one{page("n1", "20", "x"), page("n2", "20", "y")}, all},
		"another address than the exporter's":      {at(scraped)(all...), []one{page("n1", "20", "x"), page("n1", "20", "y")}, all},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stamps []one
			for _, node := range append(all, "n5") {
				stamps = append(stamps, of(stamp(-10), scraped(node)...))
			}
			server := newFake(t, map[string]string{nodeCPU: vectorOf(slices.Concat(tc.nodes, tc.page)...), nodeStamp: vectorOf(stamps...)})
			config := configFor(server.URL)
			config.NodesOnly, config.Metrics = true, []usage.Metric{usage.CPU}
			nodes := 4
			if slices.Contains(tc.want, "n5") {
				nodes = 5
			}
			snapshot := exporterCluster(nodes)
			snapshot.Nodes[1].Pods = append(snapshot.Nodes[1].Pods, &cluster.Pod{Namespace: "shop", Name: "web-1", Node: "n2"})
			batch := sample(t, newSource(t, config), snapshot)
			want := map[string]float64{}
			for _, node := range tc.want {
				want[node+" cpu avg_5m"] = 20_000
			}
			if diff := cmp.Diff(want, values(batch)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, batch.Problems)
			}
		})
	}
}

// Such a page does not affect pods of other nodes either.
func TestPagesThatNameClustersLeaveOtherNodesPods(t *testing.T) {
	for name, tc := range map[string]struct{ kubelet, page string }{
		"at the node's address":                  {"10.0.0.2:10250", "10.0.0.1:8080"},
		"at another node's address":              {"10.0.0.2:10250", "10.0.0.3:8080"},
		"at its own address behind a proxy":      {"proxy:443", "10.244.1.7:8080"},
		"at its own address next to a kubelet's": {"10.0.0.2:10250", "10.244.1.7:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			kubelet := func(value, pod string) one { return of(value, "namespace", "a", "pod", pod, "instance", tc.kubelet) }
			page := func(value, named string) one {
				return of(value, "namespace", "shop", "pod", "web-0", "instance", tc.page, "cluster", named)
			}
			server := newFake(t, map[string]string{
				podCPU:    vectorOf(kubelet("0.2", "a-0"), kubelet("0.2", "a-1"), page("1", "x"), page("1", "y")),
				podMemory: vectorOf(kubelet("1048576", "a-0"), kubelet("1048576", "a-1"), page("1048576", "x")),
			})
			snapshot := exporterCluster(3)
			for _, pod := range []string{"a-0", "a-1"} {
				snapshot.Nodes[1].Pods = append(snapshot.Nodes[1].Pods, &cluster.Pod{Namespace: "a", Name: pod, Node: "n2"})
			}
			batch := sample(t, newSource(t, configFor(server.URL)), snapshot)
			var got []string
			for _, pod := range batch.Pods {
				got = append(got, pod.Name)
			}
			if diff := cmp.Diff([]string{"a-0", "a-1"}, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s\n%v", diff, batch.Problems)
			}
		})
	}
}

// If kubelets are not scraped at their nodes' addresses, a page can report only for the node of its
// pod. Its series carry the pod's name, whichever label contains it, and whatever the page adds to
// the labels that the scrape set.
func TestPagesSpeakForTheNodeOfTheirPod(t *testing.T) {
	const contention = "container_pressure_cpu_waiting_seconds_total"
	exported := []string{"exported_namespace", "exported_pod"}
	old := []string{"kubernetes_namespace", "kubernetes_pod_name"}
	renamed := []string{"pod_namespace", "pod_name"}
	for name, tc := range map[string]struct {
		// pair holds the labels of the measured pod, and of those of the scraped pod.
		pair, of []string
	}{
		"contention":                         {podLabels[0][:], podLabels[0][:]},
		"contention, by old labels":          {podLabels[0][:], old},
		"contention, with labels of its own": {renamed, renamed},
		"contention, by a cAdvisor's pages":  {exported, podLabels[0][:]},
	} {
		t.Run(name, func(t *testing.T) {
			var answer, stamps []one
			for _, node := range []string{"n1", "n2", "n3", "n4"} {
				answer = append(answer, of("10", "instance", "10.244.9.9:10250", "node", node, tc.pair[0], "monitoring", tc.pair[1], "exporter-"+node))
				stamps = append(stamps, of(stamp(-10), scraped(node)...))
			}
			page := of("90", "instance", "10.244.1.7:8080", "node", "n2", tc.pair[0], "monitoring", tc.pair[1], "exporter-n2")
			page.labels[tc.of[0]], page.labels[tc.of[1]] = "shop", "web-0"
			for name, all := range map[string][]one{"first": append([]one{page}, answer...), "last": append(slices.Clip(answer), page)} {
				server := newFake(t, map[string]string{contention: vectorOf(all...), nodeStamp: vectorOf(stamps...)})
				config := configFor(server.URL)
				config.NodesOnly, config.Metrics = true, []usage.Metric{usage.CPUContention}
				config.NamespaceLabel, config.PodLabel = tc.pair[0], tc.pair[1]
				want := map[string]float64{}
				for _, node := range []string{"n1", "n2", "n3", "n4"} {
					want[node+" cpu.contention avg_5m"] = 10
				}
				batch := sample(t, newSource(t, config), exporterCluster(4))
				if diff := cmp.Diff(want, values(batch)); diff != "" {
					t.Errorf("%s (-want +got):\n%s\n%v", name, diff, batch.Problems)
				}
			}
		})
	}
}

// A page does not affect the usage of another pod on its node either.
func TestPagesSpeakForTheirOwnPod(t *testing.T) {
	for name, tc := range map[string]struct{ pair, of []string }{
		"by old labels":         {podLabels[0][:], podLabels[1][:]},
		"by a cAdvisor's pages": {[]string{"exported_namespace", "exported_pod"}, podLabels[0][:]},
	} {
		t.Run(name, func(t *testing.T) {
			from := func(value, instance string, more ...string) one {
				return of(value, append([]string{"instance", instance, tc.pair[0], "monitoring", tc.pair[1], "exporter-n2"}, more...)...)
			}
			const kubelet = "10.244.9.2:10250"
			page := from("30", "10.244.1.7:8080", tc.of[0], "shop", tc.of[1], "web-0")
			server := newFake(t, map[string]string{podCPU: vectorOf(page, from("0.2", kubelet)), podMemory: vectorOf(from("1048576", kubelet))})
			config := configFor(server.URL)
			config.NamespaceLabel, config.PodLabel = tc.pair[0], tc.pair[1]
			batch := sample(t, newSource(t, config), exporterCluster(2))
			want := []usage.PodSample{{Namespace: "monitoring", Name: "exporter-n2", Avg5m: usage.Sample{At: epoch(), Used: cluster.Amounts{200, 1 << 20}}}}
			if diff := cmp.Diff(want, batch.Pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s\n%v", diff, batch.Problems)
			}
			for _, query := range server.queries() {
				if strings.Contains(query, podCPU) && (!strings.Contains(query, tc.of[0]+", ") || !strings.Contains(query, tc.of[1]+", ")) {
					t.Errorf("the labels of the pod that is scraped are not kept: %s", query)
				}
			}
		})
	}
}

// Series scraped at one node's address do not count for other nodes, nor for pods of other nodes.
// That holds whether an expression drops the labels of the pod or the scrape sets none.
func TestPagesAtANodesAddressSpeakForNoOther(t *testing.T) {
	at := func(value, node string, more ...string) one {
		return of(value, append([]string{"instance", "10.0.0." + strings.TrimPrefix(node, "n") + ":9100"}, more...)...)
	}
	config := configFor("http://localhost:9090")
	contention := over(config.contention(), usage.Avg5m, stepOf(usage.Avg5m))
	answer := func(values ...string) []one {
		var all []one
		for i, value := range values {
			node := "n" + strconv.Itoa(i+1)
			all = append(all, at(value, node, "node", node))
		}
		return all
	}
	for name, tc := range map[string]struct {
		key    string
		metric usage.Metric
		page   []one
	}{
		"cpu":        {nodeCPU, usage.CPU, []one{at("31", "n1", "node", "n2"), at("1", "n1", "node", "n3"), at("NaN", "n1", "node", "n4")}},
		"contention": {contention, usage.CPUContention, []one{at("90", "n1", "node", "n2"), at("14", "n1", "node", "n3")}},
		"times":      {nodeStamp, usage.CPU, []one{at(stamp(-4000), "n1", "node", "n2")}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string][]one{
				nodeCPU: answer("20", "20", "20", "20"), contention: answer("10", "10", "10", "10"),
				nodeStamp: answer(stamp(-10), stamp(-10), stamp(-10), stamp(-10)),
			}
			answers[tc.key] = append(tc.page, answers[tc.key]...)
			server := newFake(t, map[string]string{})
			for key, series := range answers {
				server.set(key, vectorOf(series...))
			}
			config := configFor(server.URL)
			config.NodesOnly, config.Metrics = true, []usage.Metric{tc.metric}
			batch := sample(t, newSource(t, config), clusterOf(4))
			want := map[usage.Metric]float64{usage.CPU: 20_000, usage.CPUContention: 10}[tc.metric]
			got := values(batch)
			for _, node := range []string{"n1", "n2", "n3", "n4"} {
				if got[node+" "+string(tc.metric)+" avg_5m"] != want {
					t.Errorf("of %s: %v, want %v; problems %v", node, got, want, batch.Problems)
				}
			}
			for _, node := range batch.Nodes {
				if at := node.Readings[0].At; !at.Equal(epoch().Add(-10 * time.Second)) {
					t.Errorf("%s is measured at %v", node.Name, at)
				}
			}
		})
	}
}

// A page at a node's address does not count for pods of other nodes either.
func TestPagesAtANodesAddressSpeakForNoOthersPods(t *testing.T) {
	from := func(node, value string) one {
		return of(value, "namespace", "monitoring", "pod", "exporter-n2", "instance", "10.0.0."+strings.TrimPrefix(node, "n")+":10250")
	}
	for name, cpu := range map[string][]one{"first": {from("n1", "30"), from("n2", "0.2")}, "last": {from("n2", "0.2"), from("n1", "30")}} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, map[string]string{podCPU: vectorOf(cpu...), podMemory: vectorOf(from("n2", "1048576"))})
			batch := sample(t, newSource(t, configFor(server.URL)), exporterCluster(2))
			want := []usage.PodSample{{Namespace: "monitoring", Name: "exporter-n2", Avg5m: usage.Sample{At: epoch(), Used: cluster.Amounts{200, 1 << 20}}}}
			if diff := cmp.Diff(want, batch.Pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s\n%v", diff, batch.Problems)
			}
		})
	}
}

// After a StatefulSet's pod has moved to another node, the server still has its series on the old
// node. That is not a conflict.
func TestPodsThatCameAgainElsewhere(t *testing.T) {
	from := func(node, value string) one {
		return of(value, "namespace", "shop", "pod", "db-0", "instance", "10.0.0."+strings.TrimPrefix(node, "n")+":10250")
	}
	for age, want := range map[time.Duration]usage.Cause{time.Minute: usage.UnmatchedPod, time.Hour: usage.Foreign} {
		for name, cpu := range map[string][]one{"first": {from("n1", "3"), from("n2", "0.2")}, "last": {from("n2", "0.2"), from("n1", "3")}} {
			t.Run(name+" "+age.String(), func(t *testing.T) {
				server := newFake(t, map[string]string{podCPU: vectorOf(cpu...), podMemory: vectorOf(from("n2", "1048576"))})
				snapshot := exporterCluster(2)
				snapshot.Nodes[1].Pods = append(snapshot.Nodes[1].Pods, &cluster.Pod{Namespace: "shop", Name: "db-0", Node: "n2", Created: epoch().Add(-age)})
				batch := sample(t, newSource(t, configFor(server.URL)), snapshot)
				if len(batch.Pods) != 1 || batch.Pods[0].Avg5m.Used != (cluster.Amounts{200, 1 << 20}) {
					t.Errorf("pods %+v", batch.Pods)
				}
				for _, cause := range []usage.Cause{usage.UnmatchedPod, usage.Foreign, usage.Duplicate} {
					if got := batch.Problems[cause].Count; (got > 0) != (cause == want) {
						t.Errorf("%d problems of cause %s, want them of %s: %v", got, cause, want, batch.Problems)
					}
				}
			})
		}
	}
}

// All built-in queries have the matchers, including those of history.
func TestMatchersAreInEveryBuiltInQuery(t *testing.T) {
	for _, preset := range []Preset{NodeExporter, Kubelet} {
		server := newFake(t, healthy())
		config := configFor(server.URL)
		config.NodeMetrics, config.Windows = preset, []usage.Window{usage.Last, usage.Avg5m, window(t, "max_avg_1h")}
		config.Metrics = []usage.Metric{usage.CPU, usage.Memory, usage.CPUContention}
		if preset == NodeExporter {
			config.Metrics = append(config.Metrics, usage.CPUPressure, usage.MemoryPressure, usage.IOPressure)
		}
		config.Matchers = map[string]string{"cluster": `e"u\`, "job": ""}
		source := newSource(t, config)
		sample(t, source, clusterOf(1))
		if _, err := source.History(t.Context(), clusterOf(1), epoch().Add(-time.Minute), time.Minute); err == nil {
			t.Error("the fake answers instant queries only")
		}
		const want = `cluster="e\"u\\",job=""}`
		for _, query := range server.queries() {
			names := strings.Count(query, "node_") + strings.Count(query, "container_")
			if got := strings.Count(query, want); got != names || names == 0 {
				t.Errorf("%d selectors, %d with the matchers: %s", names, got, query)
			}
		}
	}
}

func TestMatchersAreChecked(t *testing.T) {
	for label, value := range map[string]string{"": "x", "1a": "x", `a"b`: "x", "a-b": "x", "__name__": "up", "cluster": "\xff", "env": "a\x00"} {
		config := new(Config).Default().(*Config)
		config.Matchers = map[string]string{label: value}
		errs := config.Validate(field.NewPath("x"), nil)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "x.matchers["+label+"]: ") {
			t.Errorf("%q=%q: %v", label, value, errs)
		}
	}
	config := new(Config).Default().(*Config)
	config.Matchers = map[string]string{"cluster": "eu\n\"}", "_env": ""}
	if errs := config.Validate(field.NewPath("x"), nil); len(errs) > 0 {
		t.Error(errs)
	}
}
