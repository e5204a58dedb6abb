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
			m.Evicted(fmt.Sprintf("ns-%d", i), "triggered by p/RealUsageLowNodeUtilization: NodeHot", "")
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

func TestPluginOf(t *testing.T) {
	for words, want := range map[string]string{
		"triggered by default/RealUsageLowNodeUtilization: " + string(reasons.NodeHot): "RealUsageLowNodeUtilization",
		"triggered by /PodLifeTime: ": "PodLifeTime",
		"triggered by p/: why":        "",
		"":                            "",
	} {
		if got := PluginOf(words); got != want {
			t.Errorf("%q is by %q, want %q", words, got, want)
		}
	}
}
