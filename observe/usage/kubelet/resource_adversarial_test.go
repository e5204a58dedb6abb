package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// A text with an error in a relevant line is rejected with a reason.
func TestInvalidExposition(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"nothing":                {"", "no metrics of nodes or pods"},
		"a login page":           {"<html>\n<body>log in</body>\n</html>\n", "no metrics of nodes or pods"},
		"of something else":      {"up 1\n# a comment\n\n", "no metrics of nodes or pods"},
		"a kubelet's own error":  {"scrape_error 1\nresource_scrape_error 1\n", "no metrics of nodes or pods"},
		"cut off in a number":    {"node_memory_working_set_bytes 1\nnode_cpu_usage_seconds_total 12", "unexpected EOF"},
		"given twice":            {"node_cpu_usage_seconds_total 1\nnode_cpu_usage_seconds_total 2\n", "is given twice"},
		"no value":               {"node_cpu_usage_seconds_total \n", "lacks a value"},
		"a word":                 {"node_cpu_usage_seconds_total many\n", `has the value "many"`},
		"an invalid time":        {"node_cpu_usage_seconds_total 1 noon\n", `has the time "noon"`},
		"seconds with fractions": {"node_cpu_usage_seconds_total 1 1.5\n", `has the time "1.5"`},
		"an exemplar":            {"node_cpu_usage_seconds_total 1 2 # {} 3\n", "lacks a value or a time"},
		"labels without end":     {"pod_cpu_usage_seconds_total{namespace=\"shop\" 1\n", "unterminated label list"},
		"a label without end":    {"pod_cpu_usage_seconds_total{namespace=\"shop\\\" 1\n", "unterminated label"},
		"a line without end":     {"node_cpu_usage_seconds_total " + strings.Repeat("1", 2*maxLine), "token too long"},
		"OpenMetrics' end":       {"# EOF\n", "no metrics of nodes or pods"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := decodeExposition(strings.NewReader(tc.text), aNode("n1", aPod("shop", "p")))
			if err == nil || !strings.Contains(err.Error(), tc.want) || got != nil {
				t.Errorf("%+v, error %v, want %q in it", got, err, tc.want)
			}
		})
	}
}

// Invalid values are left out and counted. A pod of another node is counted once.
func TestExpositionOfOddValues(t *testing.T) {
	node := aNode("n1", aPod("shop", "p"))
	text := `node_cpu_usage_seconds_total NaN
node_memory_working_set_bytes +Inf
pod_cpu_usage_seconds_total{namespace="shop",pod="p"} -1
pod_memory_working_set_bytes{namespace="shop",pod="p"} 5
container_cpu_usage_seconds_total{container="a\"b\\",namespace="other",pod="x"} 1
pod_cpu_usage_seconds_total{namespace="other",pod="x"} 1
pod_memory_working_set_bytes{namespace="other",pod="x"} 1
`
	x, err := decodeExposition(strings.NewReader(text), node)
	if err != nil {
		t.Fatal(err)
	}
	report, _ := rated(node, x, nil, clock)
	if len(report.readings)+len(report.pods) != 0 {
		t.Errorf("%+v, want nothing", report)
	}
	if got := report.problems; got[usage.Absurd].Count != 3 || got[usage.UnmatchedPod].Count != 1 || len(got) != 2 {
		t.Errorf("problems %v, want 3 absurd values and a stranger", got)
	}
}

// FuzzExposition verifies that reading any answer of a kubelet ends with an
// error or with valid amounts.
func FuzzExposition(f *testing.F) {
	f.Add(exposed(1, 1, noon), exposed(2, 2, noon.Add(time.Minute)))
	f.Add("pod_cpu_usage_seconds_total{pod=\"p\",namespace=\"shop\"} 1e308\n", "pod_cpu_usage_seconds_total{pod=\"p\",namespace=\"shop\"} -0\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		node := aNode("n1", aPod("shop", "p"))
		var kept counters
		for i, text := range []string{first, second} {
			x, err := decodeExposition(strings.NewReader(text), node)
			if err != nil {
				continue
			}
			var report *report
			report, kept = rated(node, x, kept, noon.Add(time.Duration(i)*time.Minute))
			verifyReport(t, report)
		}
	})
}
