package soak

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crowd returns a Roster of one Deployment whose three replicas always use 1, 2 and 3 cores.
func crowd(t *testing.T) *Roster {
	t.Helper()
	fleet := []Deployment{{Name: "app", Replicas: 3, Allocation: Amounts{CPUMilli: 10000, MemoryBytes: 1 << 30}}}
	load := &Load{config: LoadConfig{
		CPU: &Trace{Series: [][]float32{{10}, {20}, {30}}}, Memory: &Trace{Series: [][]float32{{50}}}, Step: time.Minute,
	}}
	for i := range 3 {
		load.replicas = append(load.replicas, replica{allocation: fleet[0].Allocation, cpuSeries: i})
	}
	return NewRoster(RosterConfig{Fleet: fleet, Load: load, Hot: func(used Amounts) bool { return used.CPUMilli > 2500 }})
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func pod(uid, node string) Pod {
	return Pod{UID: uid, Name: "app-" + uid, Deployment: "app", Node: node, Created: start}
}

func evict(r *Roster, uid, node string, at time.Time) {
	p := pod(uid, node)
	p.Evicted = true
	r.Saw(p, at)
	p.Leaving = true
	r.Saw(p, at)
	r.Gone(p, at)
}

// tell does what the driver does: it writes the usage that is due to the pods' annotations, and
// returns it by UID.
func tell(r *Roster, nodes map[string]string) map[string]int64 {
	told := map[string]int64{}
	for _, change := range r.Due(0) {
		p := pod(change.UID, nodes[change.UID])
		p.Used = change.Used
		r.Saw(p, start)
		told[change.UID] = change.Used.CPUMilli
	}
	return told
}

func TestReplacementContinuesWhereItsPredecessorStopped(t *testing.T) {
	r := crowd(t)
	nodes := map[string]string{"a": "n1", "b": "n2", "c": "n3", "d": "n2"}
	for _, uid := range []string{"a", "b", "c"} {
		r.Saw(pod(uid, nodes[uid]), start)
	}
	want := map[string]int64{"a": 1000, "b": 2000, "c": 3000}
	if diff := cmp.Diff(want, tell(r, nodes)); diff != "" {
		t.Errorf("usage sent at first (-want +got):\n%s", diff)
	}
	if again := r.Due(0); len(again) > 0 {
		t.Errorf("sent again: %v", again)
	}
	r.Begin(start)
	evict(r, "b", "n2", start.Add(time.Minute))
	r.Saw(pod("d", ""), start.Add(time.Minute))
	if diff := cmp.Diff(map[string]int64{"d": 2000}, tell(r, nodes)); diff != "" {
		t.Errorf("usage sent to the replacement (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Counts{Evictions: 1, Landings: 1, Boomerangs: 1, MostEvicted: 1}, r.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestLandings(t *testing.T) {
	for name, tc := range map[string]struct {
		node string
		at   time.Duration
		want Counts
	}{
		"on a cool node":                        {"n1", time.Minute, Counts{Landings: 1}},
		"on a hot node":                         {"n3", time.Minute, Counts{Landings: 1, LandedHot: 1}},
		"back where it came from":               {"n2", time.Minute, Counts{Landings: 1, Boomerangs: 1}},
		"back after long, which is no harm":     {"n2", 12 * time.Minute, Counts{Landings: 1}},
		"a node that nobody has seen before is": {"n9", time.Minute, Counts{Landings: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := crowd(t)
			nodes := map[string]string{"a": "n1", "b": "n2", "c": "n3"}
			for uid, node := range nodes {
				p := pod(uid, node)
				p.Used = map[string]Amounts{"a": {CPUMilli: 1000}, "b": {CPUMilli: 2000}, "c": {CPUMilli: 3000}}[uid]
				r.Saw(p, start)
			}
			r.Begin(start)
			evict(r, "b", "n2", start)
			r.Saw(pod("d", ""), start)
			r.Saw(pod("d", tc.node), start.Add(tc.at))
			r.Saw(pod("d", tc.node), start.Add(tc.at))
			tc.want.Evictions, tc.want.MostEvicted = 1, 1
			if diff := cmp.Diff(tc.want, r.Counts()); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// A rollout creates one pod in excess of the replicas. That pod takes over from the one that is
// deleted.
func TestPodOfARolloutTakesOver(t *testing.T) {
	r := crowd(t)
	nodes := map[string]string{"a": "n1", "b": "n2", "c": "n3", "d": "n4"}
	for _, uid := range []string{"a", "b", "c", "d"} {
		r.Saw(pod(uid, nodes[uid]), start)
	}
	tell(r, nodes)
	r.Begin(start)
	r.Gone(pod("c", "n3"), start)
	if diff := cmp.Diff(map[string]int64{"d": 3000}, tell(r, nodes)); diff != "" {
		t.Errorf("usage sent to the pod that takes over (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Counts{Deletions: 1}, r.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	want := map[string]Amounts{"n1": {1000, 1 << 29}, "n2": {2000, 1 << 29}, "n4": {3000, 1 << 29}}
	if diff := cmp.Diff(want, r.Usage()); diff != "" {
		t.Errorf("usage of the nodes (-want +got):\n%s", diff)
	}
}

func TestPendingAndUntold(t *testing.T) {
	r := crowd(t)
	r.Saw(pod("a", ""), start)
	if names := r.Pending(time.Minute, start.Add(30*time.Second)); len(names) > 0 {
		t.Errorf("%v are pending after half a minute, want none", names)
	}
	if diff := cmp.Diff([]string{"app-a"}, r.Pending(time.Minute, start.Add(2*time.Minute))); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if len(r.Due(0)) != 1 || len(r.Due(0)) != 0 {
		t.Fatal("a pod is not due exactly once")
	}
	r.Untold("a")
	if len(r.Due(0)) != 1 {
		t.Error("a pod that could not be updated is not due again")
	}
	r.Untold("nobody")
}
