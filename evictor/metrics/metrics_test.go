package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/evenkeel/evenkeel/reasons"
)

// However many namespaces there are, the number of series is bounded. The namespaces beyond the
// bound are counted together.
func TestNamespacesAreBounded(t *testing.T) {
	m := New(prometheus.NewRegistry())
	for i := range 3 * mostNamespaces {
		for range 2 {
			m.Evicted(fmt.Sprintf("ns-%d", i), "triggered by p/RealUsageLowNodeUtilization: NodeHot", "", false)
		}
	}
	if got := testutil.CollectAndCount(m.evictions); got != mostNamespaces+1 {
		t.Errorf("%d series, want %d", got, mostNamespaces+1)
	}
	first := testutil.ToFloat64(m.evictions.WithLabelValues("ns-0", "RealUsageLowNodeUtilization", success))
	others := testutil.ToFloat64(m.evictions.WithLabelValues(otherNamespaces, "RealUsageLowNodeUtilization", success))
	if first != 2 || others != 4*mostNamespaces {
		t.Errorf("%v in the first namespace and %v in others, want 2 and %d", first, others, 4*mostNamespaces)
	}
}

func TestAskedBy(t *testing.T) {
	for words, want := range map[string][2]string{
		"triggered by default/RealUsageLowNodeUtilization: " + string(reasons.NodeHot): {"RealUsageLowNodeUtilization", string(reasons.NodeHot)},
		"triggered by /PodLifeTime: ":         {"PodLifeTime", ""},
		"triggered by p/Own: one: two\nthree": {"Own", "one: two\nthree"},
		"triggered by p/: why":                {"", ""},
		"":                                    {"", ""},
	} {
		if plugin, why := AskedBy(words); plugin != want[0] || why != want[1] {
			t.Errorf("%q is by %q because of %q, want %q", words, plugin, why, want)
		}
	}
}
