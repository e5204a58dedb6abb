package plan

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// thousand is the size of the nodes in tests, so that an amount of 10 is one percent.
var thousand = cluster.Amounts{1000, 1000}

// levels are the lines that a planner uses, in percent of allocatable. They determine how much has
// to leave a node and how much a node accepts.
type levels struct{ reject, evict cluster.Percents }

// shipped returns the shipped lines of CPU, for both resources.
func shipped() levels {
	return levels{reject: cluster.Percents{60, 60}, evict: cluster.Percents{65, 65}}
}

// on applies the lines to the nodes.
func (l levels) on(nodes []Node) []Node {
	for i := range nodes {
		n := &nodes[i]
		n.Ceiling, n.HotLine = l.reject.CeilingOf(n.Allocatable), l.evict.CeilingOf(n.Allocatable)[cluster.CPU]
		n.Load = forecast.Load{}
		n.Load.Shift(n.Predicted[cluster.CPU])
		for k := range n.Pods {
			n.Pods[k].Expected = forecast.Constant(n.Pods[k].Usage[cluster.CPU])
		}
		if n.State == thresholds.Hot {
			n.Need = n.Current.Minus(l.evict.CeilingOf(n.Allocatable))
		}
	}
	return nodes
}

func cool(name string, predicted cluster.Amounts, change ...func(*Node)) Node {
	n := Node{Name: name, Allocatable: thousand, State: thresholds.Cool, Predicted: predicted}
	for _, c := range change {
		c(&n)
	}
	return n
}

func closedFor(why string) func(*Node) { return func(n *Node) { n.Closed = why } }

// hot returns a hot node with these pods and with usage that cannot be moved.
func hot(name string, system cluster.Amounts, pods ...strategies.Pod) Node {
	n := Node{Name: name, Allocatable: thousand, State: thresholds.Hot, Current: system}
	for _, pod := range pods {
		pod.Pod = &cluster.Pod{UID: "uid-" + pod.Name, Namespace: "ns", Name: pod.Name, Node: name, Priority: pod.Priority}
		n.Pods = append(n.Pods, pod)
		n.Current = n.Current.Plus(pod.Usage)
	}
	n.Predicted = n.Current
	return n
}

// rising returns a node whose last sample of CPU usage was higher than the mean.
func rising(latest int64, n Node) Node {
	n.LatestMilliCores = latest
	return n
}

func pod(name string, usage cluster.Amounts, change ...func(*strategies.Pod)) strategies.Pod {
	p := strategies.Pod{Pod: &cluster.Pod{Name: name}, Usage: usage}
	for _, c := range change {
		c(&p)
	}
	return p
}

func priority(v int32) func(*strategies.Pod) { return func(p *strategies.Pod) { p.Priority = v } }

func disruption(order int64) func(*strategies.Pod) {
	return func(p *strategies.Pod) { p.Disruption.Order = order }
}

func costing(quarters int) func(*strategies.Pod) {
	return func(p *strategies.Pod) { p.Disruption.Quarters = quarters }
}

func refused(why reasons.Reason) func(*strategies.Pod) {
	return func(p *strategies.Pod) { p.Refused = why }
}

// pods returns n pods with the same usage. Their names start with name.
func pods(n int, name string, usage cluster.Amounts, change ...func(*strategies.Pod)) []strategies.Pod {
	all := make([]strategies.Pod, n)
	for i := range all {
		all[i] = pod(fmt.Sprintf("%s%d", name, i), usage, change...)
	}
	return all
}

// described describes a plan: moves, declined pods and nodes that stay hot, each with its reason.
func described(plan strategies.Plan) []string {
	var lines []string
	for _, m := range plan.Moves {
		lines = append(lines, fmt.Sprintf("%s: %s -> %s", m.Name, m.From, m.To))
	}
	for _, d := range plan.Declined {
		lines = append(lines, fmt.Sprintf("%s: %s", d.Name, d.Reason))
	}
	for _, n := range plan.Nodes {
		if n.Reason != "" {
			lines = append(lines, fmt.Sprintf("%s stays: %s", n.Name, n.Reason))
		}
	}
	return lines
}

// refusing is a Placement that counts its moves and refuses pairs of pod and node. "*" stands for
// every pod or node.
type refusing struct {
	pairs []string
	moved map[string]string
}

func (*refusing) Scores(*cluster.Pod, []string) []int64 { return nil }

func (r *refusing) Fits(pod *cluster.Pod, node string) (bool, string) {
	for _, pair := range r.pairs {
		p, n, _ := strings.Cut(pair, "@")
		if (p == "*" || p == pod.Name) && (n == "*" || n == node) {
			return false, "NodeAffinity: does not match"
		}
	}
	if r.moved[pod.Name] != "" {
		return false, "it has moved"
	}
	return true, ""
}

func (r *refusing) Move(pod *cluster.Pod, to string) (func(), error) {
	if r.moved[pod.Name] != "" {
		return nil, fmt.Errorf("pod %q has moved", pod.Name)
	}
	if r.moved == nil {
		r.moved = map[string]string{}
	}
	r.moved[pod.Name] = to
	return func() { delete(r.moved, pod.Name) }, nil
}

// ofOne gives a pod an owner that all such pods share.
func ofOne(p strategies.Pod) strategies.Pod {
	p.Owner.UID = "rs-1"
	return p
}

func at(node string, p strategies.Pod) strategies.Pod {
	p.Node = node
	return p
}

func within(domain string, n Node) Node {
	n.Domain = domain
	return n
}

func inZone(zone string, n Node) Node {
	n.Zone = zone
	return n
}
