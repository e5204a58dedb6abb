package usage

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// kinOfVersion returns a version of the Deployment "web", given by the hash of
// its template.
func kinOfVersion(hash string) Kin {
	return Kin{
		Namespace: "ns", TemplateHash: hash,
		Owner: cluster.Owner{UID: "uid-web-" + hash, Kind: "ReplicaSet", Name: "web-" + hash},
	}
}

func ofKin(kin Kin) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		p.Namespace, p.Owner, p.TemplateHash = kin.Namespace, kin.Owner, kin.TemplateHash
	}
}

// stage is what runs at a second: the milli-cores of each pod of each version.
type stage struct {
	second int
	pods   map[string][]int64
}

// play ingests the stages in turn and returns the last View.
func play(store *Store, stages ...stage) (view *View) {
	for _, s := range stages {
		node, read := nodeWith("n1"), readAt(s.second).node("n1", amounts(16000, 900))
		for hash, used := range s.pods {
			for i, cpuMilli := range used {
				pod := aPod(fmt.Sprintf("web-%s-%d", hash, i), ofKin(kinOfVersion(hash)))
				node.Pods = append(node.Pods, pod)
				read.podMean(pod.Name, amounts(cpuMilli, 64))
			}
		}
		snapshot := snapshotOf(node)
		store.Ingest(snapshot, read.Batch)
		view = store.View(snapshot, at(s.second), nil)
	}
	return view
}

func TestSiblingsOfANewVersion(t *testing.T) {
	type pods = map[string][]int64
	const unknown = -1
	cases := map[string]struct {
		stages []stage
		hash   string // of the new pod
		limit  int64
		want   int64
	}{
		"the first version of a Deployment has no predecessor": {
			stages: []stage{{0, pods{}}},
			hash:   "new", want: unknown,
		},
		"before any of its pods is measured, the previous version's usage": {
			stages: []stage{{0, pods{"old": {100, 300}}}},
			hash:   "new", want: 200,
		},
		"until three of its pods are measured, too": {
			stages: []stage{{0, pods{"old": {100, 300, 100, 300}, "new": {900, 1100}}}},
			hash:   "new", want: 200,
		},
		"with three of its pods measured, their usage": {
			stages: []stage{{0, pods{"old": {100, 300, 100, 300}, "new": {900, 1000, 1100}}}},
			hash:   "new", want: 1000,
		},
		"meanwhile, the previous version has its own usage": {
			stages: []stage{{0, pods{"old": {100, 300, 100, 300}, "new": {900, 1000, 1100}}}},
			hash:   "old", want: 200,
		},
		"the last pod of the previous version has its own usage": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {300, pods{"old": {300}, "new": {900}}}},
			hash:   "old", want: 300,
		},
		"a single pod counts as much as the previous version's single pod": {
			stages: []stage{{0, pods{"old": {100}, "new": {900}}}},
			hash:   "new", want: 900,
		},
		"a version that is gone is remembered": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {600, pods{}}},
			hash:   "new", want: 200,
		},
		"next to one pod of the next version": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {600, pods{"new": {900}}}},
			hash:   "new", want: 200,
		},
		"but not next to as many of it": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {600, pods{"new": {900, 1100}}}},
			hash:   "new", want: 1000,
		},
		"by those that were measured last, and not by how many once were": {
			stages: []stage{{0, pods{"old": {100, 100, 100}}}, {300, pods{"old": {300}}}, {600, pods{}}},
			hash:   "new", want: 300,
		},
		"for an hour": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {3600, pods{}}},
			hash:   "new", want: 200,
		},
		"and no longer": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {3601, pods{}}},
			hash:   "new", want: unknown,
		},
		"no longer next to one pod of the next version, either": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {1800, pods{"new": {900}}}, {3601, pods{"new": {900}}}},
			hash:   "new", want: 900,
		},
		"a version that was scaled to zero has its former usage": {
			stages: []stage{{0, pods{"old": {100, 300}}}, {600, pods{}}},
			hash:   "old", want: 200,
		},
		"one that was scaled down has the usage of its remaining pods": {
			stages: []stage{{0, pods{"old": {100, 100, 100, 100, 100}}}, {600, pods{"old": {300}}}},
			hash:   "old", want: 300,
		},
		"the third version has the usage of the second": {
			stages: []stage{
				{0, pods{"old": {100, 100, 100, 100}}}, {300, pods{"old": {100}, "newer": {500, 500, 500}}}, {600, pods{"newer": {500, 500, 500}}},
			},
			hash: "new", want: 500,
		},
		"smaller containers use no more than their limits": {
			stages: []stage{{0, pods{"old": {100, 300}}}},
			hash:   "new", limit: 150, want: 150,
		},
		"larger ones use what the smaller ones did": {
			stages: []stage{{0, pods{"old": {100, 300}}}},
			hash:   "new", limit: 4000, want: 200,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := play(newStore(t), tc.stages...)
			got, ok := view.Siblings.Of(kinOfVersion(tc.hash), amounts(tc.limit, 0))
			if !ok {
				got[cluster.CPU] = unknown
			}
			if diff := cmp.Diff(tc.want, got[cluster.CPU]); diff != "" {
				t.Errorf("milli-cores (-want +got):\n%s", diff)
			}
		})
	}
}

// An unmeasured pod of a new version counts on its node with the usage of the
// previous version, even once that version is gone.
func TestANewVersionIsPredicted(t *testing.T) {
	store := newStore(t)
	play(store, stage{0, map[string][]int64{"old": {3000, 3000}}})
	newcomer := aPod("web-new-0", ofKin(kinOfVersion("new")), startedAt(290))
	newcomer.Limits = amounts(0, 32)
	snapshot := snapshotOf(nodeWith("n1", newcomer))
	store.Ingest(snapshot, readAt(300).node("n1", amounts(100, 10)).Batch)
	want := PodUsage{Used: amounts(3000, 32)} // 70 % of its memory request
	if diff := cmp.Diff(want, store.View(snapshot, at(300), nil).Nodes[0].Pods[0], usedAlone()); diff != "" {
		t.Errorf("newcomer (-want +got):\n%s", diff)
	}
}
