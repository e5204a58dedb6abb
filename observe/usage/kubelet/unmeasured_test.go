package kubelet

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Kubelets write zero for pods that they have not measured yet: until a pod's second measurement,
// and again after the kubelet restarts. The node's own value is already known then. The answers
// have the format of a v1.36 kubelet.
func TestZeroOfAPodThatIsNotMeasuredYet(t *testing.T) {
	cases := map[string][]usage.PodSample{
		"restarted.json": nil,
		"new-pod.json":   {podSample("shop", "steady", noon.Add(-7*time.Second), 32, 3_100_000)},
	}
	for file, want := range cases {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			got := reportOf(t, aNode("n1", aPod("shop", "steady"), aPod("shop", "young")), string(text))
			if diff := cmp.Diff(want, got.pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if got.problems[usage.Unreadable].Count != 2-len(want) {
				t.Errorf("problems %v, want one for each pod that is left out", got.problems)
			}
			if len(got.readings) != 2 {
				t.Errorf("readings %v, want CPU and memory of the node", got.readings)
			}
		})
	}
}

// aSummary is one answer about n1 and shop/p.
type aSummary struct {
	at         time.Time // of the node
	node, pod  blocks
	podBehind  time.Duration // how much older the pod's stats are
	uid        string
	podMemory  int64
	containers string
}

// blocks holds usageNanoCores and usageCoreNanoSeconds of a cpu block. A negative value means that
// the field is missing.
type blocks struct{ nanoCores, total float64 }

func (b blocks) cpu(at time.Time) string {
	text := fmt.Sprintf(`{"time":%q`, at.Format(time.RFC3339))
	if b.nanoCores >= 0 {
		text += fmt.Sprintf(`,"usageNanoCores":%.0f`, b.nanoCores)
	}
	if b.total >= 0 {
		text += fmt.Sprintf(`,"usageCoreNanoSeconds":%.0f`, b.total)
	}
	return text + "}"
}

func (s *aSummary) String() string {
	podAt := s.at.Add(-s.podBehind)
	memory := func(at time.Time, bytes int64) string {
		return fmt.Sprintf(`{"time":%q,"workingSetBytes":%d}`, at.Format(time.RFC3339), bytes)
	}
	return fmt.Sprintf(`{"node":{"cpu":%s,"memory":%s},"pods":[{"podRef":{"namespace":"shop","name":"p","uid":%q},"containers":[%s],"cpu":%s,"memory":%s}]}`,
		s.node.cpu(s.at), memory(s.at, gib), s.uid, s.containers, s.pod.cpu(podAt), memory(podAt, s.podMemory))
}

// The cases show what is read from the second of two answers: the counter, if it contradicts the
// kubelet's own value.
func TestCPUFromTheCounterOfASummary(t *testing.T) {
	const second, core, milli = 1e9, 1e9, 1e6
	// Within ten seconds, the node used six core seconds and the pod used one.
	base := func() aSummary {
		return aSummary{at: noon, node: blocks{600 * milli, 1000 * second}, pod: blocks{100 * milli, 40 * second}, podMemory: 5, uid: "uid-p"}
	}
	next := func(change func(*aSummary)) aSummary {
		s := base()
		s.at = noon.Add(10 * time.Second)
		s.node.total += 6 * second
		s.pod.total += 1 * second
		change(&s)
		return s
	}
	unknown := -1.0
	cases := map[string]struct {
		first     func(*aSummary)
		second    func(*aSummary)
		node, pod float64 // milli-cores; unknown if missing
		podAt     time.Duration
	}{
		"both agree": {second: func(*aSummary) {}, node: 600, pod: 100},
		"the kubelet's own value is more exact within a second of time": {
			second: func(s *aSummary) { s.node.nanoCores, s.pod.nanoCores = 650*milli, 92*milli }, node: 650, pod: 92,
		},
		"a restarted kubelet: a burst for the node, zero for the pod": {
			second: func(s *aSummary) { s.node.nanoCores, s.pod.nanoCores = 929*milli, 0 }, node: 600, pod: 100,
		},
		"a restarted kubelet without any value": {
			second: func(s *aSummary) { s.node.nanoCores, s.pod.nanoCores = -1, -1 }, node: 600, pod: 100,
		},
		"zero of the node as well": {
			second: func(s *aSummary) { s.node.nanoCores, s.pod.nanoCores = 0, 0 }, node: 600, pod: 100,
		},
		"the pod is idle": {
			second: func(s *aSummary) { s.pod = blocks{0, 40 * second} }, node: 600, pod: 0,
		},
		"the pod is idle, though its container is not": {
			second: func(s *aSummary) {
				s.pod = blocks{0, 40 * second}
				s.containers = `{"name":"main","cpu":{` + at + `,"usageNanoCores":5000000,"usageCoreNanoSeconds":40000000000}}`
			}, node: 600, pod: unknown,
		},
		"the pod was not measured again: the same as before": {
			first:  func(s *aSummary) { s.pod.nanoCores = 70 * milli },
			second: func(s *aSummary) { s.pod, s.podBehind = blocks{70 * milli, 40 * second}, 10*time.Second },
			node:   600, pod: 70, podAt: -10 * time.Second,
		},
		"nor had it been measured the first time": {
			first: func(s *aSummary) {
				s.pod.nanoCores = 0
				s.containers = `{"name":"main","cpu":{` + at + `,"usageNanoCores":5000000}}`
			},
			second: func(s *aSummary) {
				s.pod, s.podBehind = blocks{0, 40 * second}, 10*time.Second
				s.containers = `{"name":"main","cpu":{` + at + `,"usageNanoCores":5000000}}`
			}, node: 600, pod: unknown,
		},
		"the second measurement of a new pod": {
			first:  func(s *aSummary) { s.pod, s.podMemory = blocks{}, 0 },
			second: func(s *aSummary) { s.pod = blocks{0, 1 * second} }, node: 600, pod: 100,
		},
		"a new pod is still unmeasured": {
			first:  func(s *aSummary) { s.pod, s.podMemory = blocks{}, 0 },
			second: func(s *aSummary) { s.pod, s.podMemory = blocks{}, 0 }, node: 600, pod: unknown,
		},
		"counters began anew": {
			second: func(s *aSummary) { s.node, s.pod = blocks{700 * milli, 3 * second}, blocks{50 * milli, 1 * second} }, node: 700, pod: 50,
		},
		"counters began anew, and nothing is measured yet": {
			second: func(s *aSummary) { s.node, s.pod = blocks{0, 3 * second}, blocks{0, 1 * second} }, node: unknown, pod: unknown,
		},
		"time went back": {
			second: func(s *aSummary) { s.at = noon.Add(-time.Minute); s.node.nanoCores = 800 * milli }, node: 800, pod: 100, podAt: -70 * time.Second,
		},
		"a gap of an hour": {
			second: func(s *aSummary) { s.at = noon.Add(time.Hour); s.node.nanoCores = 800 * milli }, node: 800, pod: 100, podAt: time.Hour - 10*time.Second,
		},
		"another pod of the same name": {
			first:  func(s *aSummary) { s.uid = "older" },
			second: func(s *aSummary) { s.pod = blocks{70 * milli, 90 * second} }, node: 600, pod: 70,
		},
		"an invalid value is not replaced": {
			second: func(s *aSummary) { s.node.nanoCores, s.pod.nanoCores = 6*core, 100*milli }, node: 600, pod: 100,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			first, second := base(), next(tc.second)
			if tc.first != nil {
				tc.first(&first)
			}
			k := newKubelets(t)
			node := k.add(aNode("n1", aPod("shop", "p")), nil)
			source := k.source()
			var got usage.Batch
			for _, answer := range []aSummary{first, second} {
				k.serve(node, body(answer.String()))
				var err error
				if got, err = source.Sample(t.Context(), snapshotOf(node)); err != nil {
					t.Fatal(err)
				}
			}
			nodeMilli := unknown
			for _, r := range got.Nodes[0].Readings {
				if r.Metric == usage.CPU {
					nodeMilli = r.Value
				}
			}
			if nodeMilli != tc.node {
				t.Errorf("node %v milli-cores, want %v", nodeMilli, tc.node)
			}
			var want []usage.PodSample
			if tc.pod >= 0 {
				want = append(want, podSample("shop", "p", noon.Add(10*time.Second+tc.podAt), int64(tc.pod), second.podMemory))
			}
			if diff := cmp.Diff(want, got.Pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

// Invalid amounts are rejected, whatever the counter is.
func TestCounterDoesNotCoverAnAbsurdValue(t *testing.T) {
	k := newKubelets(t)
	node := k.add(aNode("n1", aPod("shop", "p")), nil)
	source := k.source()
	answer := func(at time.Time, total string) http.Handler {
		cpu := fmt.Sprintf(`{"time":%q,"usageNanoCores":-5000000,"usageCoreNanoSeconds":%s}`, at.Format(time.RFC3339), total)
		return body(strings.ReplaceAll(summaryOf("n1"), cpuOK, cpu))
	}
	var got usage.Batch
	for i, total := range []string{"1000000000", "2000000000"} {
		k.serve(node, answer(noon.Add(time.Duration(i)*10*time.Second), total))
		var err error
		if got, err = source.Sample(t.Context(), snapshotOf(node)); err != nil {
			t.Fatal(err)
		}
	}
	if got.Problems[usage.Absurd].Count != 1 || len(got.Nodes[0].Readings) != 1 {
		t.Errorf("readings %v, problems %v; want memory and one absurd value", got.Nodes[0].Readings, got.Problems)
	}
}

// A kubelet that has just started does not know which containers run, so the absence of waiting
// times does not mean that nothing waits.
func TestContentionBeforeContainersAreMeasured(t *testing.T) {
	waits := `"psi":{"some":{"total":5,"avg60":90,"avg300":80}}`
	text := `{"node":{"cpu":{` + at + `,"usageNanoCores":2000000000,` + psiOK + `},"memory":` + memOK + `},"pods":[{"podRef":{"namespace":"shop","name":"p"},` +
		`"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":5000000000},"memory":` + memOK + `,"containers":[{"name":"main","cpu":{` + at + `,%s` + waits + `}}]}]}`
	contention := func(text string) (all []float64) {
		pod := aPod("shop", "p")
		pod.CPULimits = pod.CPULimits.With("", 1000)
		for _, reading := range reportOf(t, aNode("n1", pod), text).readings {
			if reading.Metric == usage.CPUContention {
				all = append(all, reading.Value)
			}
		}
		return all
	}
	if got := contention(fmt.Sprintf(text, "")); got != nil {
		t.Errorf("contention %v of containers without usage, want none", got)
	}
	// The pod's own zero does not hide that its limit throttles it.
	if got := contention(fmt.Sprintf(text, `"usageNanoCores":990000000,`)); !cmp.Equal(got, []float64{0, 0}) {
		t.Errorf("contention %v of a pod at its limit, want none that counts", got)
	}
}
