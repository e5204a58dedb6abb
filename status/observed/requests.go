package observed

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/requests"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status"
)

// Requests compares the requests of owners with the usage of their pods.
func Requests(o *observer.Observation, cpu map[string]usage.PodCPU, moves []ledger.Move) status.Requests {
	given := &requests.Cluster{Nodes: make([]requests.Node, len(o.View.Nodes))}
	owners := owners{at: map[workload]int{}, given: given}
	newest := o.Lines.Newest()
	for i, there := range o.View.Snapshot.Nodes {
		given.Nodes[i] = requestedOn(o, newest, i)
		for j, pod := range there.Pods {
			if pod.Terminating || !there.Node.Member() {
				continue
			}
			owner := owners.of(workloadOf(pod))
			used, known := cpu[pod.UID]
			if !known || o.View.Nodes[i].Pods[j].Starting {
				owner.Unmeasured++
				continue
			}
			owner.Replicas = append(owner.Replicas, requests.Replica{
				Pod: pod.Name, Node: i, Requests: pod.Requests, Limits: pod.Limits, UsedMilliCores: used.MilliCores, Levels: used.Levels,
			})
		}
	}
	for i := range moves {
		if m := &moves[i]; m.Relieves && !m.Evicted.IsZero() {
			kind, name := m.Workload()
			if at, ok := owners.at[workload{m.Namespace, kind, name}]; ok {
				given.Owners[at].Evictions++
			}
		}
	}
	return status.NewRequests(requests.Judge(given), len(given.Nodes), o.At)
}

// requestedOn returns a node with the requests of its pods. A node is hot according to
// its windows or, as long as these are not known, to the newest reading. One that is hot
// only by something other than CPU usage does not count as hot.
func requestedOn(o *observer.Observation, newest *thresholds.Resolved, i int) requests.Node {
	there, read := o.View.Snapshot.Nodes[i], &o.View.Nodes[i]
	state, lines := o.States[there.Node.Name], o.Lines
	n := requests.Node{
		Name: there.Node.Name, Allocatable: there.Node.Allocatable, UsedMilliCores: read.Measured[usage.AtAvg5m][cluster.CPU],
		LineMilliCores: o.Lines.HotLine(i, cluster.CPU), Open: there.Node.Closed() == "",
	}
	for _, pod := range there.Pods {
		n.Requested = n.Requested.Plus(pod.Requests)
	}
	n.Hot = state.State == thresholds.Hot
	if n.Hot {
		n.HotFor = o.At.Sub(state.Since)
	} else if state.State == thresholds.Unknown && read.HasSample() && there.Node.Ready {
		n.Hot, lines = newest.ClassifyNow(i) == thresholds.Hot, newest
	}
	n.Hot = n.Hot && (n.UsedMilliCores > n.LineMilliCores || n.LineMilliCores < math.MaxInt64 && !lines.OverOther(i, usage.CPU))
	return n
}

// workload identifies an owner across its versions.
type workload struct{ namespace, kind, name string }

// workloadOf returns the Deployment, or else the controller, of a pod. A pod without a
// controller, or with that of a static pod, is its own workload.
func workloadOf(pod *cluster.Pod) workload {
	if family := cluster.FamilyOf(pod.Namespace, pod.Owner, pod.TemplateHash); family != (cluster.Family{}) {
		return workload{pod.Namespace, "Deployment", family.Name}
	}
	if pod.Owner.UID == "" || pod.Owner.Kind == "Node" {
		return workload{pod.Namespace, "Pod", pod.Name}
	}
	return workload{pod.Namespace, pod.Owner.Kind, pod.Owner.Name}
}

// owners collects the pods of each owner.
type owners struct {
	at    map[workload]int
	given *requests.Cluster
}

func (o *owners) of(w workload) *requests.Owner {
	at, ok := o.at[w]
	if !ok {
		at = len(o.given.Owners)
		o.at[w] = at
		o.given.Owners = append(o.given.Owners, requests.Owner{Namespace: w.namespace, Kind: w.kind, Name: w.name})
	}
	return &o.given.Owners[at]
}
