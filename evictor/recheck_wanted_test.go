package evictor

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/usage"
)

// A pod that has to stay counts for nothing that is wanted: neither in the plan nor in
// the recheck of its moves.
func TestAPodThatHasToStayKeepsNoFullNodeHot(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		latest, pods := seen(t, 10_000), []strategies.Pod(nil)
		for _, name := range []string{"a", "b", "c", "agent"} { // and 2000 are the system's
			p.pods[name] = aPod(name)
			record := &cluster.Pod{UID: "uid-" + name, Namespace: "ns", Name: name, Node: "hot", Requests: cluster.Amounts{1000}}
			read := usage.PodUsage{Measured: true, Used: cluster.Amounts{2000}, PeakMilliCores: 2000}
			pod := strategies.Pod{Pod: record, Usage: read.Used, PeakMilliCores: read.PeakMilliCores}
			if name == "agent" { // of a DaemonSet; busy for five minutes hours ago
				p.pods[name].OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "ds", Controller: new(true)}}
				read.PeakMilliCores, pod.PeakMilliCores, pod.Refused = 6000, 6000, "DaemonSetPod"
			}
			latest.View.Snapshot.Nodes[1].Pods = append(latest.View.Snapshot.Nodes[1].Pods, record)
			latest.View.Nodes[1].Pods = append(latest.View.Nodes[1].Pods, read)
			pods = append(pods, pod)
		}
		e := p.evictor()
		e.config.Observer = fullNode{p, latest}
		delete(p.pods, "a")
		delete(p.pods, "b")
		if got := strategies.EstimateUnserved(pods); got != 0 {
			t.Fatalf("by the plan %d are wanted", got)
		}
		if e.stillHot(latest, 1, true) {
			t.Error("a third move is made: 6000 of 6500 show, and none of the pods that may be moved wants more; the plan would move nothing")
		}
	})
}

// A pod has become busy since the plan: its destination has to take what it uses by now.
func TestAMoveIsLandedByWhatThePodUsesByNow(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		latest := seen(t, 10_000)
		p.pods["a"] = aPod("a")
		record := &cluster.Pod{UID: "uid-a", Namespace: "ns", Name: "a", Node: "hot", Requests: cluster.Amounts{1000}}
		latest.View.Snapshot.Nodes[1].Pods = append(latest.View.Snapshot.Nodes[1].Pods, record)
		latest.View.Nodes[1].Pods = append(latest.View.Nodes[1].Pods, usage.PodUsage{Measured: true, Used: cluster.Amounts{5500}})
		e := p.evictor()
		e.config.Observer = fullNode{p, latest}
		move := Move{Reason: reasons.NodeHot, Intent: ledger.Intent{
			Namespace: "ns", Pod: "a", PodUID: "uid-a", From: "hot", To: "cool", Usage: cluster.Amounts{500, 1 << 20}, // as planned
		}}
		if why := e.recheck(&move); why == "" {
			t.Error("a pod of 5500m goes to a node at 1000 with a ceiling of 6000")
		}
	})
}
