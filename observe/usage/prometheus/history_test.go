package prometheus

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
)

func TestHistory(t *testing.T) {
	series := func(node string, values ...string) map[string]any {
		points := [][]any{}
		for i, value := range values {
			if value != "" {
				points = append(points, []any{float64(epoch().Unix() - 60 + int64(30*i)), value})
			}
		}
		return map[string]any{"metric": map[string]string{"node": node}, "values": points}
	}
	server := newFake(t, map[string]string{
		nodeCPU:    success("matrix", []any{series("n1", "1", "2", "NaN"), series("n2", "", "4", "5"), series("n2", "", "4.1", "50")}),
		nodeMemory: success("matrix", []any{series("n1", "100", "200", "300"), series("n9", "1", "1", "1")}),
	})
	server.before = func(_ http.ResponseWriter, r *http.Request) bool {
		got := []string{r.URL.Path, r.FormValue("start"), r.FormValue("end"), r.FormValue("step")}
		start := strconv.FormatInt(epoch().Unix()-60, 10) + ".000"
		if diff := cmp.Diff([]string{"/api/v1/query_range", start, stamp(0) + ".000", "30.000"}, got); diff != "" {
			t.Errorf("question (-want +got):\n%s", diff)
		}
		return false
	}
	source := newSource(t, configFor(server.URL))
	got, err := source.History(t.Context(), clusterOf(2), epoch().Add(-time.Minute), 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]float64{
		{"n1 cpu last": 1000, "n1 memory last": 100},
		{"n1 cpu last": 2000, "n1 memory last": 200, "n2 cpu last": 4000},
		{"n1 memory last": 300},
	}
	var all []map[string]float64
	for i, batch := range got {
		at := epoch().Add(time.Duration(i-2) * 30 * time.Second)
		if !batch.Received.Equal(at) || !batch.Nodes[0].Readings[0].At.Equal(at) || batch.Source != Name {
			t.Errorf("batch %d is of %v, want %v", i, batch.Received, at)
		}
		all = append(all, values(batch))
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// However far back it reaches and however fine it is, a history never has more than 200 steps and
// always covers the whole range.
func TestGridIsBounded(t *testing.T) {
	for _, length := range []time.Duration{0, time.Second, 199 * time.Second, 200 * time.Second, time.Hour, 24*time.Hour + time.Nanosecond} {
		for _, step := range []time.Duration{-1, 0, time.Millisecond, 15 * time.Second, time.Minute, 48 * time.Hour} {
			for _, most := range []int{0, 1, 2, maxSteps} {
				g := newGrid(epoch().Add(-length), epoch(), step, most)
				last := g.at(g.steps - 1)
				if g.steps < 1 || g.steps > max(most, 1) || g.step < minStep || g.step < step || last.After(epoch()) {
					t.Fatalf("%v by %v, at most %d: %+v ends %v", length, step, most, g, last)
				}
				if epoch().Sub(last) > g.step {
					t.Fatalf("%v by %v, at most %d: %+v misses the last %v", length, step, most, g, epoch().Sub(last))
				}
			}
		}
	}
	if g := newGrid(epoch().Add(time.Second), epoch(), time.Second, maxSteps); g.steps != 0 {
		t.Errorf("a time to come has %d steps", g.steps)
	}
}

// Metrics that are queried only as whole windows have no history.
func TestNoHistory(t *testing.T) {
	config := configFor("http://localhost:1")
	config.Metrics = []usage.Metric{"disk"}
	config.Queries.Nodes = map[usage.Metric]Query{"disk": {Windows: map[usage.Window]string{usage.Avg5m: "rate(x[5m])"}}}
	got, err := newSource(t, config).History(t.Context(), clusterOf(1), epoch().Add(-time.Hour), time.Minute)
	if len(got) != 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
