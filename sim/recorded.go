package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/sim/recording"
)

// NewRecordedFleet makes a fleet from a recording: its nodes, with their usage outside
// pods, and its pods, on their first nodes and for their recorded lifetimes.
func NewRecordedFleet(r Recorded) (*Fleet, Assumed, error) {
	b := recordedFleet{Recorded: &r, per: 1, fleet: &Fleet{Name: r.Name, Memory: true, seed: r.Seed, age: firstAge}}
	if !r.Stretch {
		b.per = max(1, int(Step/r.Recording.Header.Interval()))
	}
	b.fleet.Steps = (r.Recording.Readings-1)/b.per + 1
	switch {
	case b.fleet.Steps < 2:
		return nil, b.assumed, fmt.Errorf("%d readings, %v apart: must cover two steps of %v, unless each reading is played as one step",
			r.Recording.Readings, r.Recording.Header.Interval(), Step)
	case r.Recording.AtFirst == 0:
		return nil, b.assumed, errors.New("the first reading lists no node")
	}
	b.nodes()
	b.pods()
	if len(b.fleet.Replicas) == 0 {
		return nil, b.assumed, errors.New("the recording has no pod")
	}
	b.system()
	b.sort()
	return b.fleet, b.assumed, nil
}

func (b *recordedFleet) nodes() {
	rec := b.Recording
	b.fleet.Nodes, b.assumed.LaterNodes = rec.AtFirst, len(rec.Nodes)-rec.AtFirst
	for i := range rec.Nodes[:rec.AtFirst] {
		m := machine{node: rec.Nodes[i].Object()}
		record := informed.Node(m.node)
		m.capacity, m.maxUsage, m.hugePages = record.Allocatable, record.Capacity, record.HugePages
		for k := range m.maxUsage {
			m.maxUsage[k] = max(m.maxUsage[k], m.capacity[k])
			b.fleet.Capacity[k] += max(1, m.capacity[k]/int64(rec.AtFirst))
		}
		b.fleet.machines = append(b.fleet.machines, m)
	}
}

// pods makes a replica from each pod. A pod that replaced another one is a separate
// replica.
func (b *recordedFleet) pods() {
	rec := b.Recording
	b.measure()
	owners, templates := map[string]int{}, map[int]*v1.Pod{}
	for i := range rec.Pods {
		p := &rec.Pods[i]
		t := &rec.Templates[p.Template]
		if t.Stays.Pinned() && p.Node >= rec.AtFirst {
			b.assumed.LaterPods++
			continue
		}
		owner := ownerKey(t, i)
		if _, ok := owners[owner]; !ok {
			owners[owner] = len(owners)
		}
		r := b.replica(p)
		r.Owner, r.Fixed = owners[owner], t.Stays != ""
		if templates[p.Template] == nil || t.OwnerName == "" {
			templates[p.Template] = t.Pod("owner-" + strconv.Itoa(r.Owner))
		}
		r.template = templates[p.Template]
		if t.Stays.Pinned() {
			r.template = pinned(r.template, rec.Nodes[p.Node].Name)
		}
		b.fleet.Replicas, b.node = append(b.fleet.Replicas, r), append(b.node, p.Node)
	}
	b.fleet.Owners = len(owners)
	b.single()
}

// ownerKey identifies the owner of a pod. A pod without an owner counts as its own owner.
func ownerKey(t *recording.Template, pod int) string {
	if t.OwnerName == "" {
		return strconv.Itoa(pod)
	}
	return t.Namespace + "/" + t.OwnerKind + "/" + t.OwnerName
}

// pinned returns a template whose pods are bound to one node, like those of a DaemonSet.
func pinned(template *v1.Pod, node string) *v1.Pod {
	pod := template.DeepCopy()
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}}}
	return pod
}

// single fixes the pods of owners that never have two pods at once, because the shipped
// policy does not evict them.
func (b *recordedFleet) single() {
	most := make([]int, b.fleet.Owners)
	changes := make([]map[int]int, b.fleet.Owners)
	for i := range b.fleet.Replicas {
		r := &b.fleet.Replicas[i]
		if changes[r.Owner] == nil {
			changes[r.Owner] = map[int]int{}
		}
		changes[r.Owner][r.From]++
		if r.Until > 0 {
			changes[r.Owner][r.Until]--
		}
	}
	for owner, at := range changes {
		alive := 0
		for _, step := range slices.Sorted(maps.Keys(at)) {
			alive += at[step]
			most[owner] = max(most[owner], alive)
		}
	}
	for i := range b.fleet.Replicas {
		r := &b.fleet.Replicas[i]
		r.Fixed = r.Fixed || most[r.Owner] < 2
	}
}

// sort orders the nodes by name.
func (b *recordedFleet) sort() {
	slices.SortFunc(b.fleet.machines, func(x, y machine) int { return strings.Compare(x.node.Name, y.node.Name) })
	for k := range b.fleet.Capacity {
		b.fleet.Capacity[k] = cmp.Or(b.fleet.Capacity[k], 1)
	}
}
