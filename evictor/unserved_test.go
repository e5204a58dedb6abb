package evictor

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/strategies"
)

// fullNode observes a node whose pods demand more than it has.
type fullNode struct {
	*play
	latest *observer.Observation
}

func (f fullNode) Latest() *observer.Observation { return f.latest }

// runs puts a pod on the hot node, and returns it as it appears in a plan.
func runs(p *play, latest *observer.Observation, name string, used, peak int64) strategies.Pod {
	p.pods[name] = aPod(name)
	record := &cluster.Pod{UID: "uid-" + name, Namespace: "ns", Name: name, Node: "hot", Requests: cluster.Amounts{1000}}
	read := usage.PodUsage{Measured: true, Used: cluster.Amounts{used}, PeakMilliCores: peak}
	info, node := latest.View.Snapshot.Nodes[1], &latest.View.Nodes[1]
	info.Pods, node.Pods = append(info.Pods, record), append(node.Pods, read)
	return strategies.Pod{Pod: record, Usage: read.Used, PeakMilliCores: peak}
}

// The pods that stay on a full node use what those that leave free up. If three moves are planned
// because of demand, the third is still needed after the first two are made.
func TestWhatIsWantedKeepsAFullNodeHot(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		latest, pods := seen(t, 10_000), []strategies.Pod(nil)
		for _, name := range []string{"a", "b", "c", "d"} { // 2000 more are the system's
			pods = append(pods, runs(p, latest, name, 2000, 3500))
		}
		e := p.evictor()
		e.config.Observer = fullNode{p, latest}
		delete(p.pods, "a")
		delete(p.pods, "b")
		if line := int64(6500); 2000+2*3500 <= line || strategies.EstimateUnserved(pods) != 4*1500 {
			t.Fatal("not what the test is about")
		}
		if !e.stillHot(e.config.Evictions.Evicted, latest, 1, true) {
			t.Error("a third move is refused as if the node were no longer hot: its pods want 9000 and the line is 6500")
		}
		if e.stillHot(e.config.Evictions.Evicted, latest, 1, false) {
			t.Error("one that is moved for what is measured is still made: 6000 of 6500 show")
		}
		if delete(p.pods, "c"); e.stillHot(e.config.Evictions.Evicted, latest, 1, true) {
			t.Error("a fourth move is still made: 5500 of 6500 are wanted")
		}
	})
}

// If part of a pod's usage was not counted for its node, that part does not cool the node when the
// pod leaves.
func TestUncountedUsageThatLeftCoolsNoNode(t *testing.T) {
	playing(t, func(t *testing.T, p *play) {
		latest := seen(t, 8000)
		for _, name := range []string{"a", "b"} {
			runs(p, latest, name, 2000, 0)
		}
		e := p.evictor()
		e.config.Observer = fullNode{p, latest}
		if delete(p.pods, "a"); e.stillHot(e.config.Evictions.Evicted, latest, 1, false) {
			t.Error("it is still hot: 6000 of 6500 are left")
		}
		latest.View.Nodes[1].Pods[0].Uncounted = cluster.Amounts{1500}
		if !e.stillHot(e.config.Evictions.Evicted, latest, 1, false) {
			t.Error("it is no longer hot: 7500 of 6500 are left, because 1500 of the pod never counted")
		}
	})
}
