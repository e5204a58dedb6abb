package sim

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// Results and the oracle judge how full a node is as production does: system usage that is covered
// by the reserve does not count.
func TestResultsCountTheReserveOnce(t *testing.T) {
	const gib = 1 << 30
	for name, tc := range map[string]struct {
		capacity, maxUsage, system cluster.Amounts
		hugePages                  int64
		want                       cluster.Percents
	}{
		"within the reserve":                   {cluster.Amounts{940, 3 * gib}, cluster.Amounts{2000, 4 * gib}, cluster.Amounts{1060, gib}, 0, cluster.Percents{0, 0}},
		"beyond the reserve":                   {cluster.Amounts{1000, 2 * gib}, cluster.Amounts{2000, 4 * gib}, cluster.Amounts{1500, 3 * gib}, 0, cluster.Percents{50, 50}},
		"huge pages that the usage leaves out": {cluster.Amounts{1000, 120 * gib}, cluster.Amounts{1000, 256 * gib}, cluster.Amounts{0, 20 * gib}, 128 * gib, cluster.Percents{0, 10}},
		"huge pages that the usage includes":   {cluster.Amounts{1000, 120 * gib}, cluster.Amounts{1000, 256 * gib}, cluster.Amounts{0, 148 * gib}, 128 * gib, cluster.Percents{0, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := &Fleet{
				Nodes: 1, Capacity: tc.capacity,
				machines: []machine{{capacity: tc.capacity, maxUsage: tc.maxUsage, hugePages: tc.hugePages, system: []cluster.Amounts{tc.system}}},
			}
			m := newMeter(fleet)
			m.end(&world{})
			if got := m.demands[0][0]; got != tc.want {
				t.Errorf("%v%% of the node are used, want %v%%", got, tc.want)
			}
			o := oracle{world: &world{fleet: fleet}, steps: 1}
			if nodes, _ := o.coming(0); nodes[0] != tc.want {
				t.Errorf("the oracle reads a usage of %v%%, want %v%%", nodes[0], tc.want)
			}
		})
	}
}
