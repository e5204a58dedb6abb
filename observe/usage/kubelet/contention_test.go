package kubelet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// psiOK is what a kernel with PSI reports.
const psiOK = `"psi":{"some":{"total":5,"avg60":7,"avg300":6}}`

// aContainer returns one container's stats with the given CPU usage and PSI.
func aContainer(name string, usedMilli int, waits string) string {
	return fmt.Sprintf(`{"name":%q,"cpu":{%s,"usageNanoCores":%d000000,"psi":{"some":%s}}}`, name, at, usedMilli, waits)
}

// The cases show which containers make their node contended, and when contention is unknown.
func TestContentionOfANode(t *testing.T) {
	waits := func(percent int) string {
		return fmt.Sprintf(`{"total":9,"avg10":1,"avg60":%d,"avg300":%d}`, percent, percent/2)
	}
	pod := func(name string, usedMilli int, containers ...string) string {
		return fmt.Sprintf(`{"podRef":{"namespace":"shop","name":%q},"cpu":{%s,"usageNanoCores":%d000000},"memory":%s,"containers":[%s]}`,
			name, at, usedMilli, memOK, strings.Join(containers, ","))
	}
	contended := func(last, avg5m float64) []usage.Reading {
		return []usage.Reading{
			{Metric: usage.CPUContention, Window: usage.Last, At: noon, Value: last},
			{Metric: usage.CPUContention, Window: usage.Avg5m, At: noon, Value: avg5m},
		}
	}
	cases := map[string]struct {
		nodePSI  string
		pods     []string
		want     []usage.Reading
		problems map[usage.Cause]string
	}{
		"containers that wait for each other": {
			pods: []string{pod("p", 1800, aContainer("main", 900, waits(40)), aContainer("side", 900, waits(40)))}, want: contended(40, 20),
		},
		"one that its own limit makes wait does not count": {
			pods: []string{pod("limited", 1900, aContainer("main", 960, waits(90)), aContainer("free", 940, waits(4)))}, want: contended(4, 2),
		},
		"below its limit it counts": {
			pods: []string{pod("limited", 1900, aContainer("main", 899, waits(90)))}, want: contended(90, 45),
		},
		"at the limit of the pod none counts": {
			pods: []string{pod("whole", 1990, aContainer("main", 1000, waits(90)), aContainer("side", 990, waits(80)))}, want: contended(0, 0),
		},
		"a container that hardly runs does not count": {
			pods: []string{pod("p", 1000, aContainer("main", 900, waits(40)), aContainer("idle", 49, waits(0)), aContainer("idle2", 1, waits(0)))}, want: contended(40, 20),
		},
		"a starved container counts although it hardly runs": {
			pods: []string{pod("p", 1000, aContainer("main", 10, waits(90)), aContainer("idle", 49, waits(4)))}, want: contended(90, 45),
		},
		"nobody runs": {
			pods: []string{pod("p", 1, aContainer("main", 1, waits(0)))}, want: contended(0, 0),
		},
		"no container has PSI": {
			pods: []string{pod("p", 900, `{"name":"main","cpu":`+cpuOK+`}`)},
		},
		"containers without CPU": {
			pods: []string{pod("p", 900, `{"name":"main"}`, `{"name":"other","cpu":null}`, `null`)},
		},
		"no pod": {},
		"a kernel without PSI is not without contention": {
			nodePSI: `"psi":{"some":{"total":0,"avg60":0,"avg300":0}}`,
			pods:    []string{pod("p", 900, aContainer("main", 900, `{"total":0,"avg60":0,"avg300":0}`))},
		},
		"pods that the snapshot lacks do not count": {
			pods:     []string{pod("elsewhere", 900, aContainer("main", 900, waits(80)))},
			problems: map[usage.Cause]string{usage.UnmatchedPod: `pod "shop/elsewhere"`},
		},
		"stats of an ended container are old": {
			pods: []string{pod("p", 900, strings.Replace(aContainer("main", 900, waits(80)), "12:00:00", "11:58:59", 1), aContainer("new", 900, waits(2)))},
			want: contended(2, 1),
		},
		"more than all of the time": {
			pods:     []string{pod("p", 900, aContainer("main", 900, waits(101)), aContainer("side", 900, waits(8)))},
			want:     contended(8, 4),
			problems: map[usage.Cause]string{usage.Absurd: `a container of pod "shop/p" has waited for 101% and 50% of the time`},
		},
		"less than none": {
			pods:     []string{pod("p", 900, aContainer("main", 900, waits(-4)))},
			want:     contended(0, 0),
			problems: map[usage.Cause]string{usage.Absurd: `has waited for -4%`},
		},
		"usage that is no amount": {
			pods: []string{pod("p", 900, `{"name":"main","cpu":{`+at+`,"usageNanoCores":-900000000,`+psiOK+`}}`)}, want: contended(0, 0),
		},
		"two pods with the same name": {
			pods:     []string{pod("p", 900, aContainer("main", 900, waits(80))), pod("p", 900, aContainer("main", 900, waits(80)))},
			problems: map[usage.Cause]string{usage.Duplicate: `pod "shop/p"`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			limited, whole := aPod("shop", "limited"), aPod("shop", "whole")
			limited.CPULimits, whole.CPULimits = limited.CPULimits.With("main", 1000), whole.CPULimits.With("", 2000)
			node := aNode("n1", limited, aPod("shop", "p"), whole)
			if tc.nodePSI == "" {
				tc.nodePSI = psiOK
			}
			// The node follows its pods, which is an order that a kubelet may use.
			got := reportOf(t, node, `{"pods":[`+strings.Join(tc.pods, ",")+`],"node":{"cpu":{`+at+`,"usageNanoCores":2000000000,`+tc.nodePSI+`},"memory":`+memOK+`}}`)
			var readings []usage.Reading
			for _, reading := range got.readings {
				if reading.Metric == usage.CPUContention {
					readings = append(readings, reading)
				}
			}
			if diff := cmp.Diff(tc.want, readings); diff != "" {
				t.Errorf("contention (-want +got):\n%s", diff)
			}
			wantProblems(t, tc.problems, got.problems)
		})
	}
}

// Containers are decoded only if contention is needed.
func TestContainersAreReadOnlyIfWanted(t *testing.T) {
	node, text := manyPods(3), fullSummary(t, 3)
	s, err := decodeSummary(bytes.NewReader(text), newScanner(), node, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.pods {
		if s.pods[i].psi || s.pods[i].waits != nil {
			t.Errorf("pod %d has waits %v", i, s.pods[i].waits)
		}
	}
}

// A pod with impossibly many containers takes bounded memory.
func TestContainersAreBounded(t *testing.T) {
	one := aContainer("c", 900, `{"avg60":50,"avg300":50}`)
	text := `{"node":{"cpu":` + cpuOK + `},"pods":[{"podRef":{"namespace":"shop","name":"p"},"containers":[` + strings.Repeat(one+",", 3*maxContainers) + one + `]}]}`
	s, err := decodeSummary(strings.NewReader(text), newScanner(), aNode("n1", aPod("shop", "p")), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.pods[0].waits); got != maxContainers {
		t.Errorf("%d containers are kept, want %d", got, maxContainers)
	}
}

// A source reads containers only if the policy has lines for contention.
func TestSourceReadsContentionOnlyIfNeeded(t *testing.T) {
	for name, metrics := range map[string][]usage.Metric{"asked for": {usage.CPU, usage.CPUContention}, "not asked for": {usage.CPU}} {
		t.Run(name, func(t *testing.T) {
			k := newKubelets(t)
			node := k.add(manyPods(2), body(string(fullSummary(t, 2))))
			batch, err := k.source(func(s *settings) { s.Metrics = metrics }).Sample(t.Context(), snapshotOf(node))
			if err != nil {
				t.Fatal(err)
			}
			var got []float64
			for _, reading := range batch.Nodes[0].Readings {
				if reading.Metric == usage.CPUContention {
					got = append(got, reading.Value)
				}
			}
			var want []float64
			if len(metrics) == 2 {
				want = []float64{2.25, 3.75}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("contention (-want +got):\n%s", diff)
			}
		})
	}
}
