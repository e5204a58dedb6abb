package extender

import (
	"encoding/json"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/testkit"
)

// fakeAnswerer knows some nodes, and the answer for each. It is its own Round.
type fakeAnswerer struct {
	names   []string
	index   *Index
	rejects []Reject
	scores  []int8

	// before, if set, is called first in Filter and Prioritize.
	before func(pod *Pod)
}

var (
	_ Answerer = (*fakeAnswerer)(nil)
	_ Round    = (*fakeAnswerer)(nil)
	_ Indexed  = indexedAnswerer{}
)

// indexedAnswerer is a fakeAnswerer that exposes its index.
type indexedAnswerer struct{ *fakeAnswerer }

func (j indexedAnswerer) Begin() Round  { return j }
func (j indexedAnswerer) Index() *Index { return j.index }

func newFakeAnswerer(names ...string) *fakeAnswerer {
	return &fakeAnswerer{
		names:   names,
		index:   NewIndex(names),
		rejects: make([]Reject, len(names)),
		scores:  make([]int8, len(names)),
	}
}

func (j *fakeAnswerer) reject(reason Reject, names ...string) *fakeAnswerer {
	for _, name := range names {
		j.rejects[slices.Index(j.names, name)] = reason
	}
	return j
}

func (j *fakeAnswerer) score(points int8, names ...string) *fakeAnswerer {
	for _, name := range names {
		j.scores[slices.Index(j.names, name)] = points
	}
	return j
}

func (j *fakeAnswerer) Begin() Round { return j }

func (j *fakeAnswerer) Node(name []byte) cluster.NodeIndex { return j.index.Find(name) }

func (j *fakeAnswerer) Filter(pod *Pod, nodes []cluster.NodeIndex, reasons []Reject) {
	if j.before != nil {
		j.before(pod)
	}
	for i, node := range nodes {
		if node < 0 {
			reasons[i] = RejectHot // the caller must undo this
			continue
		}
		reasons[i] = j.rejects[node]
	}
}

func (j *fakeAnswerer) Prioritize(pod *Pod, nodes []cluster.NodeIndex, scores []int8) {
	if j.before != nil {
		j.before(pod)
	}
	for i, node := range nodes {
		scores[i] = 5
		if node >= 0 {
			scores[i] = j.scores[node]
		}
	}
}

// nodeNames returns count names in the style of cloud providers.
func nodeNames(count int) []string { return testkit.NodeNames(count) }

// realisticPod returns a pod of about 6 kB.
func realisticPod() *v1.Pod { return testkit.Pod() }

// namesRequest returns the body of a nodeCacheCapable request.
func namesRequest(t testing.TB, pod *v1.Pod, names ...string) []byte {
	t.Helper()
	return marshal(t, extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
