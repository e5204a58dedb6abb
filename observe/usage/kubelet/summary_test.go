package kubelet

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

func reportOf(t *testing.T, node *cluster.NodePods, text string) *report {
	t.Helper()
	s, err := decodeSummary(strings.NewReader(text), newScanner(), node, true)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := summarized(node, s, nil)
	return got
}

// A summary in the documented format yields the node's usage, the known pods, and a list of what is
// left out.
func TestSummaryOfTheDocumentedFormat(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	node := aNode("n1", aPod("shop", "idle"), aPod("shop", "new"), aPod("shop", "unseen"), aPod("shop", "web-0"))
	got := reportOf(t, node, string(text))
	avg5m := func(metric usage.Metric, at time.Time, value float64) usage.Reading {
		return usage.Reading{Metric: metric, Window: usage.Avg5m, At: at, Value: value}
	}
	memoryAt, ioAt := noon.Add(-time.Second), noon.Add(-3*time.Second)
	wantReadings := []usage.Reading{
		last(usage.CPU, noon, 1234.5),
		last(usage.Memory, memoryAt, 4*gib), // 16 GiB minus 12 available
		last(usage.CPUPressure, noon, 7.5), avg5m(usage.CPUPressure, noon, 5.25),
		last(usage.MemoryPressure, memoryAt, 0), avg5m(usage.MemoryPressure, memoryAt, 0), // CPU has waited, so this is a real zero
		last(usage.IOPressure, ioAt, 0.5), avg5m(usage.IOPressure, ioAt, 0.6),
	}
	if diff := cmp.Diff(wantReadings, got.readings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	wantPods := []usage.PodSample{
		podSample("shop", "idle", noon.Add(-4*time.Second), 0, 512000),
		podSample("shop", "web-0", noon.Add(-6*time.Second), 701, 810000000), // as old as the older of the two
	}
	if diff := cmp.Diff(wantPods, got.pods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	wantProblems := usage.Problems{
		usage.Unreadable:   {Count: 1, Examples: []string{`pod "shop/new": no CPU usage yet`}},
		usage.UnmatchedPod: {Count: 1, Examples: []string{`pod "shop/elsewhere" on node "n1"`}},
	}
	if diff := cmp.Diff(wantProblems, got.problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// JSON marshalled from Kubernetes' own types is fully understood, even if it arrives in pieces.
func TestSummaryOfTheKubeletsTypes(t *testing.T) {
	node, text := manyPods(3), fullSummary(t, 3)
	whole, err := decodeSummary(bytes.NewReader(text), newScanner(), node, true)
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := decodeSummary(iotest.OneByteReader(bytes.NewReader(text)), newScanner(), node, true)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := summarized(node, whole, nil)
	parts, _ := summarized(node, pieces, nil)
	if diff := cmp.Diff(got, parts, cmp.AllowUnexported(report{})); diff != "" {
		t.Errorf("in pieces (-whole +pieces):\n%s", diff)
	}
	if len(got.readings) != 10 || got.problems != nil {
		t.Errorf("readings %v, problems %v; want 10 readings and no problem", got.readings, got.problems)
	}
	want := podSample("shop", "pod-1", noon, 101, 2*gib) // 100.5 m rounded up
	if diff := cmp.Diff(want, got.pods[1]); diff != "" {
		t.Errorf("second pod (-want +got):\n%s", diff)
	}
}

const (
	at    = `"time":"2026-03-01T12:00:00Z"`
	cpuOK = `{` + at + `,"usageNanoCores":2000000000}`
	memOK = `{` + at + `,"workingSetBytes":1073741824}`
)

// The cases show how a node's readings are derived, and when there are none.
func TestSummaryOfANode(t *testing.T) {
	cpu2, mem1 := last(usage.CPU, noon, 2000), last(usage.Memory, noon, gib)
	cases := map[string]struct {
		node     string
		capacity int64 // of memory; -1 if unknown
		want     []usage.Reading
		problems map[usage.Cause]string
	}{
		"the working set, if available memory is not stated": {
			node: `"cpu":` + cpuOK + `,"memory":` + memOK, want: []usage.Reading{cpu2, mem1},
		},
		"available memory counts before the working set": {
			node: `"cpu":` + cpuOK + `,"memory":{` + at + `,"workingSetBytes":1,"availableBytes":8589934592}`,
			want: []usage.Reading{cpu2, last(usage.Memory, noon, 8*gib)},
		},
		"available memory without a capacity is meaningless": {
			node: `"cpu":` + cpuOK + `,"memory":{` + at + `,"workingSetBytes":1073741824,"availableBytes":5}`, capacity: -1,
			want: []usage.Reading{cpu2, mem1},
		},
		"more available than there is": {
			node: `"cpu":` + cpuOK + `,"memory":{` + at + `,"workingSetBytes":1073741824,"availableBytes":18446744073709551000}`,
			want: []usage.Reading{cpu2}, problems: map[usage.Cause]string{usage.Contradictory: "bytes of memory are available"},
		},
		"CPU not measured yet": {
			node: `"cpu":{` + at + `,"usageCoreNanoSeconds":5},"memory":` + memOK,
			want: []usage.Reading{mem1}, problems: map[usage.Cause]string{usage.Unreadable: "no usageNanoCores"},
		},
		"CPU null": {
			node: `"cpu":{` + at + `,"usageNanoCores":null},"memory":` + memOK,
			want: []usage.Reading{mem1}, problems: map[usage.Cause]string{usage.Unreadable: "no usageNanoCores"},
		},
		"zero next to the counter since boot means that the kubelet does not know": {
			node: `"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":975000000000000},"memory":` + memOK,
			want: []usage.Reading{mem1}, problems: map[usage.Cause]string{usage.Unreadable: "has not measured CPU usage yet"},
		},
		"zero without a counter is zero": {
			node: `"cpu":{` + at + `,"usageNanoCores":0},"memory":{` + at + `,"workingSetBytes":0}`,
			want: []usage.Reading{last(usage.CPU, noon, 0), last(usage.Memory, noon, 0)},
		},
		"no memory": {
			node: `"cpu":` + cpuOK + `,"memory":null`,
			want: []usage.Reading{cpu2}, problems: map[usage.Cause]string{usage.Unreadable: "neither availableBytes nor workingSetBytes"},
		},
		"negative": {
			node: `"cpu":{` + at + `,"usageNanoCores":-1},"memory":` + memOK,
			want: []usage.Reading{mem1}, problems: map[usage.Cause]string{usage.Absurd: "cpu is -1e-06"},
		},
		"never measured": {
			node: `"cpu":{"time":null,"usageNanoCores":5},"memory":` + memOK,
			want: []usage.Reading{mem1}, problems: map[usage.Cause]string{usage.Unreadable: "cpu has no time"},
		},
		"a kernel without PSI is not without pressure": {
			node: `"cpu":{` + at + `,"usageNanoCores":2000000000,"psi":{"some":{"total":0,"avg60":0,"avg300":0}}},"memory":{` + at +
				`,"workingSetBytes":1073741824,"psi":{"some":{"total":0,"avg60":0,"avg300":0}}}`,
			want: []usage.Reading{cpu2, mem1},
		},
		"pressure beyond all time": {
			node: `"cpu":{` + at + `,"usageNanoCores":2000000000,"psi":{"some":{"avg60":101}}},"memory":` + memOK,
			want: []usage.Reading{cpu2, mem1}, problems: map[usage.Cause]string{usage.Absurd: "cpu.pressure is 101%"},
		},
		"another machine at this address": {
			node:     `"nodeName":"n2","cpu":` + cpuOK + `,"memory":` + memOK,
			problems: map[usage.Cause]string{usage.UnmatchedNode: `"n2" answered`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			node := aNode("n1")
			if tc.capacity < 0 {
				node.Node.Capacity = cluster.Amounts{}
			}
			got := reportOf(t, node, `{"node":{`+tc.node+`}}`)
			if diff := cmp.Diff(tc.want, got.readings); diff != "" {
				t.Errorf("readings (-want +got):\n%s", diff)
			}
			wantProblems(t, tc.problems, got.problems)
		})
	}
}

// wantProblems checks that there is one problem per cause, and that its example contains a text.
func wantProblems(t *testing.T, want map[usage.Cause]string, got usage.Problems) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("problems %v, want those of %v", got, want)
	}
	for cause, example := range want {
		if got[cause].Count != 1 || !strings.Contains(got[cause].Examples[0], example) {
			t.Errorf("%s: %v, want one with %q", cause, got[cause], example)
		}
	}
}

// The cases show how a pod's sample is derived, and when there is none.
func TestSummaryOfAPod(t *testing.T) {
	ref := func(uid string) string { return `{"podRef":{"namespace":"shop","name":"p","uid":"` + uid + `"},` }
	full := `"cpu":` + cpuOK + `,"memory":` + memOK + `}`
	sample := []usage.PodSample{podSample("shop", "p", noon, 2000, gib)}
	cases := map[string]struct {
		node, pods string
		want       []usage.PodSample
		problems   map[usage.Cause]string
	}{
		"both amounts":              {pods: ref("uid-p") + full, want: sample},
		"a static pod's other UID":  {pods: ref("of the file") + full, want: sample},
		"reference after the stats": {pods: `{"cpu":` + cpuOK + `,"memory":` + memOK + `,"podRef":{"name":"p","namespace":"shop"}}`, want: sample},
		"no memory": {
			pods: ref("uid-p") + `"cpu":` + cpuOK + `}`, problems: map[usage.Cause]string{usage.Unreadable: "no memory usage"},
		},
		"its predecessor is listed as well": {
			pods: ref("older") + `"cpu":{` + at + `,"usageNanoCores":7},"memory":` + memOK + `},` + ref("uid-p") + full, want: sample,
		},
		"its predecessor is listed after it": {
			pods: ref("uid-p") + full + `,` + ref("older") + `"cpu":{` + at + `,"usageNanoCores":7},"memory":` + memOK + `}`, want: sample,
		},
		"two that could be it": {
			pods: ref("a") + full + `,` + ref("b") + full, problems: map[usage.Cause]string{usage.Duplicate: `pod "shop/p"`},
		},
		"of another node": {
			pods:     `{"podRef":{"namespace":"other","name":"p"},` + full,
			problems: map[usage.Cause]string{usage.UnmatchedPod: `pod "other/p"`},
		},
		"negative": {
			pods:     ref("uid-p") + `"cpu":{` + at + `,"usageNanoCores":-5000000},"memory":` + memOK + `}`,
			problems: map[usage.Cause]string{usage.Absurd: "-5 milli-cores"},
		},
		"never measured": {
			pods:     ref("uid-p") + `"cpu":{"usageNanoCores":5},"memory":` + memOK + `}`,
			problems: map[usage.Cause]string{usage.Unreadable: "no time"},
		},
		"huge": {
			pods: ref("uid-p") + `"cpu":{` + at + `,"usageNanoCores":1e300},"memory":` + memOK + `}`,
			want: []usage.PodSample{podSample("shop", "p", noon, mostOfOne, gib)},
		},
		"idle, and so are its containers": {
			pods: ref("uid-p") + `"containers":[{"name":"main","cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":3}},{"name":"other"}],` +
				`"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":4},"memory":` + memOK + `}`,
			want: []usage.PodSample{podSample("shop", "p", noon, 0, gib)},
		},
		"zero next to a counter that has run, and no container": {
			pods:     ref("uid-p") + `"containers":[],"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":4},"memory":` + memOK + `}`,
			problems: map[usage.Cause]string{usage.Unreadable: "no CPU usage yet"},
		},
		"zero next to a counter that has run, and no information on containers": {
			pods:     ref("uid-p") + `"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":4},"memory":` + memOK + `}`,
			problems: map[usage.Cause]string{usage.Unreadable: "no CPU usage yet"},
		},
		"zero next to a counter that has run, and unmeasured containers": {
			pods:     ref("uid-p") + `"containers":[{"name":"main"}],"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":4},"memory":` + memOK + `}`,
			problems: map[usage.Cause]string{usage.Unreadable: "no CPU usage yet"},
		},
		"zero from a kubelet that has just started": {
			node: `"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":4},"memory":` + memOK,
			pods: ref("uid-p") + `"cpu":{` + at + `,"usageNanoCores":0,"usageCoreNanoSeconds":4},"memory":` + memOK + `}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.node == "" {
				tc.node = `"cpu":` + cpuOK + `,"memory":` + memOK
			}
			got := reportOf(t, aNode("n1", aPod("shop", "p")), `{"node":{`+tc.node+`},"pods":[`+tc.pods+`]}`)
			if diff := cmp.Diff(tc.want, got.pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if tc.problems != nil || tc.want != nil {
				wantProblems(t, tc.problems, got.problems)
			}
		})
	}
}
