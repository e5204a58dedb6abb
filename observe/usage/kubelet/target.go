package kubelet

import (
	"cmp"
	"maps"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage/fanout"
)

// target is a node to be queried. While its answer is being read, only the
// reading goroutine accesses it.
type target struct {
	node *cluster.NodePods
	// resource is true if only resource metrics are requested.
	resource bool
	memory   memory
	report   *report
}

// targets returns the ready machines and the request for each.
func (s *Source) targets(snapshot *cluster.Snapshot) ([]target, []fanout.Request) {
	var targets []target
	var requests []fanout.Request
	now := s.config.Now()
	for _, node := range snapshot.Nodes {
		if !node.Node.Ready || node.Node.Virtual() != "" {
			continue
		}
		t := target{node: node, memory: s.nodes[node.Node.Name]}
		refused := t.memory.refused
		since := now.Sub(refused) // negative if the clock went backwards
		t.resource = s.config.Endpoint == Resource || !refused.IsZero() && since >= 0 && since < refusalLasts
		targets = append(targets, t)
		requests = append(requests, s.request(&t))
	}
	return targets, requests
}

func (s *Source) request(t *target) fanout.Request {
	node := &t.node.Node
	port := cmp.Or(int(s.config.Port), int(node.KubeletPort), defaultPort)
	url := func(path string) (string, error) {
		return fanout.Endpoint{Scheme: string(s.config.Scheme), Port: port, Path: path}.URL(node)
	}
	request := fanout.Request{Node: node.Name}
	resource, resourceErr := url(cmp.Or(node.UsageAnnotations[cluster.ResourceMetricsPath], resourcePath))
	if t.resource {
		request.URL, request.Err = resource, resourceErr
		return request
	}
	request.URL, request.Err = url(summaryPath)
	if resourceErr == nil {
		request.Fallback = resource
	}
	return request
}

// remember keeps the state that the next reading needs, for nodes in the snapshot only.
// The counters of a node that did not answer are kept, because they are useful until the
// gap is too long. Its refusal is not kept, because it may serve its summary by now.
func (s *Source) remember(snapshot *cluster.Snapshot, targets []target, errs []error) {
	for i := range targets {
		kept := targets[i].memory
		if errs[i] != nil {
			kept.refused = time.Time{}
		}
		s.nodes[targets[i].node.Node.Name] = kept
	}
	maps.DeleteFunc(s.nodes, func(name string, _ memory) bool { return snapshot.Index(name) < 0 })
}
