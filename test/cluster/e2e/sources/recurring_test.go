package sources

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

const (
	// The shortest period that a policy allows represents a day.
	recurs     = 5 * time.Minute
	burstAfter = 2 * time.Minute // from the start of each period
	burstLasts = 75 * time.Second
	evictLine  = 65.0
)

// recurring is a Deployment with high usage during a quarter of each period.
type recurring struct {
	*stage.Fixture

	began time.Time
	busy  map[string]bool // the last usage that was set, by pod name
}

// within returns the number of the current period, starting at 0, and whether it is time for its
// burst.
func (r *recurring) within(at time.Time) (period int, burst bool) {
	into := at.Sub(r.began)
	period = int(into / recurs)
	into %= recurs
	return period, into >= burstAfter && into < burstAfter+burstLasts
}

// drive sets the current usage of each pod.
func (r *recurring) drive(ctx context.Context) {
	r.T.Helper()
	_, burst := r.within(time.Now())
	for _, pod := range r.Pods(ctx, "report") {
		if told, ok := r.busy[pod.Name]; ok && told == burst || pod.DeletionTimestamp != nil {
			continue
		}
		usage := cluster.Resources{CPU: "500m"}
		if burst {
			usage.CPU = "11"
		}
		if err := r.SetUsage(ctx, "shop", pod.Name, usage); err == nil { // on an error, the pod has just been deleted
			r.busy[pod.Name] = burst
		}
	}
}

// newRecurring places the given number of pods on each node, starts driving them, and starts serve.
func newRecurring(t *testing.T, on map[string]int) *recurring {
	r := &recurring{Fixture: stage.New(t), busy: map[string]bool{}}
	nodes, err := r.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Place(t.Context(),
		cluster.Placement{Workload: stage.Workload("report", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "500m", Memory: "1Gi"}), On: on},
		cluster.Placement{Workload: stage.Workload("web", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "1", Memory: "1Gi"}), On: stage.On(1, nodes...)},
	)
	if err != nil {
		t.Fatal(err)
	}
	r.began = time.Now()
	setting := plainKubelets(t, r.Fixture)
	r.Serve(r.Policy(stage.RealUsage, "---\napiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"+
		"usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 25s, sources: [{type: Kubelet"+setting+"}]}\n"+
		"hot: {consecutiveSamples: 2, minWindow: 15s, startup: 0s}\n"+
		// The required saving applies to the quarter of an hour in which the pattern was seen.
		"eviction: {maxMovesPerHourOfOwner: 0, ownerSettle: 0s, cycleDeadline: 3m, minHotTimeSaved: 30s, forecastPeriod: "+recurs.String()+"}\n"))
	return r
}

// play drives the pods for the given number of periods, and returns the highest usage of any node
// in each.
func (r *recurring) play(periods int) (highest []float64) {
	r.T.Helper()
	highest = make([]float64, periods)
	r.Eventually(time.Duration(periods+1)*recurs, "all periods are over", func(ctx context.Context) bool {
		period, _ := r.within(time.Now())
		if period >= periods {
			return true
		}
		r.drive(ctx)
		loads, err := r.NodeUsage(ctx)
		if err != nil {
			r.T.Fatal(err)
		}
		for _, load := range loads {
			highest[period] = max(highest[period], load.CPUPercent)
		}
		return false
	})
	return highest
}

// Two pods of one node have a burst at the same time of each period. Before the third burst, in a
// quiet time, Evenkeel makes one move to a node that has space for the burst. The node is not hot
// in any five-minute window.
//
//	node-0: 2 × 11 + 1 = 23 of 32 cores = 71.9 % in the burst
//	node-1:     11 + 1 = 12             = 37.5 %, with one more 71.9 %
//	node-2, node-3:  1                  =  3.1 %
//
//e2e:tier all
func TestRecurringBurstIsRelievedAhead(t *testing.T) {
	r := newRecurring(t, map[string]int{"node-0": 2, "node-1": 1})
	mark := r.Mark()
	highest := r.play(4)
	evictions := r.Granted(mark)
	t.Logf("the fullest node of each period: %.1f %%; evictions: %+v", highest, evictions)
	if len(evictions) != 1 {
		t.Fatalf("%d evictions, want 1", len(evictions))
	}
	second, third := recurs+burstAfter+burstLasts, 2*recurs+burstAfter
	if after := evictions[0].At.Sub(r.began); after < second || after > third {
		t.Errorf("the eviction was %v after the beginning, want it between the second burst and the third: after %v to %v", after, second, third)
	}
	for period, percent := range highest {
		if hot := percent > evictLine; hot != (period < 2) {
			t.Errorf("in period %d the fullest node used %.1f %%", period+1, percent)
		}
	}
	var on []string
	for _, pod := range r.Pods(t.Context(), "report") {
		on = append(on, pod.Spec.NodeName)
	}
	slices.Sort(on)
	if len(slices.Compact(slices.Clone(on))) != 3 {
		t.Errorf("the pods are on %v, want each on a node of its own", on)
	}
}

// If all nodes are full at the same time of each period, nothing is moved before or during that
// time.
//
//e2e:tier all
func TestFleetWidePeakEvictsNothing(t *testing.T) {
	r := newRecurring(t, map[string]int{"node-0": 2, "node-1": 2, "node-2": 2, "node-3": 2})
	mark := r.Mark()
	highest := r.play(4)
	if evictions := r.Granted(mark); len(evictions) != 0 {
		t.Errorf("evictions: %+v, want none", evictions)
	}
	if lowest := slices.Min(highest); lowest < evictLine {
		t.Errorf("the fullest node of each period: %.1f %%, want all above %v %%", highest, evictLine)
	}
}
