package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

func TestConfigIsChecked(t *testing.T) {
	cases := map[string]struct {
		change func(*Config)
		ok     bool
	}{
		"as shipped":                        {change: func(*Config) {}, ok: true},
		"a window from the first sample on": {change: func(c *Config) { c.MinWindow = 0 }, ok: true},
		"no interval":                       {change: func(c *Config) { c.SampleInterval = 0 }},
		"no age":                            {change: func(c *Config) { c.MaxAge = 0 }},
		"a negative window":                 {change: func(c *Config) { c.MinWindow = -1 }},
		"a window longer than what is kept": {change: func(c *Config) { c.MinWindow = WindowLength + 1 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := testConfig()
			tc.change(&config)
			if _, err := NewStore(config, epoch()); (err == nil) != tc.ok {
				t.Errorf("NewStore: %v, want ok=%v", err, tc.ok)
			}
		})
	}
}

// A node's windows are its samples' newest and mean, its age counts from when the newest arrived, and what is not known
// has a reason.
func TestNodeWindows(t *testing.T) {
	type sample struct {
		second   int
		cpuMilli int64
	}
	cases := map[string]struct {
		samples []sample
		now     int
		want    NodeUsage // of CPU
	}{
		"never measured": {
			now:  100,
			want: NodeUsage{Unknown: NoSample},
		},
		"one sample is no window": {
			samples: []sample{{0, 900}},
			now:     1,
			want:    NodeUsage{Unknown: ShortWindow, Age: time.Second, Measured: cpu(900, 900)},
		},
		"60 s are too short": {
			samples: []sample{{0, 100}, {60, 300}},
			now:     61,
			want:    NodeUsage{Unknown: ShortWindow, Age: time.Second, Span: time.Minute, Measured: cpu(300, 200)},
		},
		"75 s are enough for a partial window": {
			// (100 + 200 + 600) / 3
			samples: []sample{{0, 100}, {45, 200}, {75, 600}},
			now:     76,
			want:    NodeUsage{Age: time.Second, Span: 75 * time.Second, Measured: cpu(600, 300)},
		},
		"samples older than the window do not count": {
			// (200 + 600) / 2
			samples: []sample{{0, 9000}, {200, 200}, {310, 600}},
			now:     311,
			want:    NodeUsage{Age: time.Second, Span: 110 * time.Second, Measured: cpu(600, 400)},
		},
		"after 90 s without a sample the node is unknown": {
			samples: []sample{{0, 100}, {75, 100}},
			now:     166,
			want:    NodeUsage{Unknown: StaleSample, Age: 91 * time.Second, Span: 75 * time.Second, Measured: cpu(100, 100)},
		},
		"after 90 s exactly it is known": {
			samples: []sample{{0, 100}, {75, 100}},
			now:     165,
			want:    NodeUsage{Age: 90 * time.Second, Span: 75 * time.Second, Measured: cpu(100, 100)},
		},
		"back after a gap the window starts anew": {
			samples: []sample{{0, 100}, {75, 100}, {600, 700}},
			now:     601,
			want:    NodeUsage{Unknown: ShortWindow, Age: time.Second, Measured: cpu(700, 700)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
			for _, s := range tc.samples {
				store.Ingest(readAt(s.second).node("n1", amounts(s.cpuMilli, 0)).Batch, snapshot)
			}
			got := store.View(snapshot, at(tc.now), nil).Nodes[0]
			got = NodeUsage{Unknown: got.Unknown, Age: got.Age, Span: got.Span, Measured: got.Measured}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}
		})
	}
}

func cpu(last, avg int64) WindowAmounts {
	return WindowAmounts{Last: amounts(last, 0), Avg5m: amounts(avg, 0)}
}

// The ring keeps a whole window, whatever arrives in excess of the expected pace.
func TestRingKeepsTheNewest(t *testing.T) {
	var r ring
	const limit = 22
	for second := uint32(1); second <= 100; second++ {
		if !r.push(pack(second, amounts(int64(second), 0)), limit) {
			t.Fatalf("second %d was refused", second)
		}
	}
	if r.push(pack(100, amounts(1, 0)), limit) || r.push(pack(99, amounts(1, 0)), limit) {
		t.Error("a sample that is not newer was taken")
	}
	var got []uint32
	span := r.since(0, func(p point) { got = append(got, p.second) })
	if len(got) != limit || span != (limit-1)*time.Second {
		t.Errorf("kept %v over %v, want the last %d seconds", got, span, limit)
	}
	if newest, ok := r.newest(); !ok || newest.second != 100 {
		t.Errorf("newest is %v, want second 100", newest)
	}
}

// Packing rounds memory to a page and keeps a 16-TiB node's sums.
func TestPackRoundTrip(t *testing.T) {
	cases := map[string]struct{ in, want cluster.Amounts }{
		"nothing":            {amounts(0, 0), amounts(0, 0)},
		"half a page up":     {cluster.Amounts{1, 2048}, cluster.Amounts{1, 4096}},
		"less than half":     {cluster.Amounts{1, 2047}, cluster.Amounts{1, 0}},
		"negative is zero":   {cluster.Amounts{-5, -5}, cluster.Amounts{}},
		"12 TiB":             {cluster.Amounts{896_000, 12 << 40}, cluster.Amounts{896_000, 12 << 40}},
		"beyond what fits":   {cluster.Amounts{1 << 40, 1 << 60}, cluster.Amounts{1<<32 - 1, (1<<32 - 1) * memoryUnit}},
		"a core and 300 MiB": {amounts(1000, 300), amounts(1000, 300)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := pack(1, tc.in).amounts(); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// What a Batch brings beyond new samples of known things is counted and left out.
func TestIngestSkips(t *testing.T) {
	snapshot := snapshotOf(nodeWith("n1", aPod("a"), aPod("late", startedAt(100))))
	cases := map[string]struct {
		batch *readings
		want  Skipped
	}{
		"nothing wrong": {
			batch: readAt(200).node("n1", amounts(1000, 10)).pod("a", amounts(500, 5)).pod("late", amounts(1, 1)),
		},
		"things nobody knows": {
			batch: readAt(200).node("other", amounts(1, 1)).pod("ghost", amounts(1, 1)),
			want:  Skipped{Unmatched: 2},
		},
		"twice in one batch": {
			batch: readAt(200).node("n1", amounts(1, 1)).node("n1", amounts(2, 2)).pod("a", amounts(1, 1)).pod("a", amounts(2, 2)),
			want:  Skipped{Duplicate: 2},
		},
		"negative": {
			batch: readAt(200).node("n1", cluster.Amounts{-1, 0}).pod("a", cluster.Amounts{0, -1}),
			want:  Skipped{Absurd: 2},
		},
		"a node of 32 cores that uses 129": {
			batch: readAt(200).node("n1", amounts(132_000, 0)),
			want:  Skipped{Absurd: 1},
		},
		"a pod that uses four times its node": {
			batch: readAt(200).node("n1", amounts(100, 0)).pod("a", amounts(132_000, 0)),
			want:  Skipped{Absurd: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, newStore(t).Ingest(tc.batch.Batch, snapshot)); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

// A sample is judged by its own time when it arrives: too old and too new are both left out.
func TestIngestSkipsStaleAndFuture(t *testing.T) {
	snapshot := snapshotOf(nodeWith("n1"))
	cases := map[string]struct {
		measured int
		want     Skipped
	}{
		"90 s old":        {measured: 110},
		"91 s old":        {measured: 109, want: Skipped{Stale: 1}},
		"90 s in advance": {measured: 290},
		"91 s in advance": {measured: 291, want: Skipped{Future: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			batch := Batch{Received: at(200), Nodes: []NodeSample{{"n1", Sample{at(tc.measured), amounts(1, 1)}}}}
			if diff := cmp.Diff(tc.want, newStore(t).Ingest(batch, snapshot)); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

// A source that repeats its last sample brings nothing new: the node ages although readings arrive.
func TestRepeatedSamplesAge(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	feed(store, snapshot, 0, 75, amounts(1000, 10), nil)
	for second := 90; second <= 165; second += 15 {
		r := readAt(75).node("n1", amounts(1000, 10))
		r.Received = at(second)
		if got := store.Ingest(r.Batch, snapshot); got != (Skipped{}) && second < 165 {
			t.Errorf("second %d: skipped %+v, want none: the sample is old news, not wrong", second, got)
		}
	}
	if got := store.View(snapshot, at(164), nil).Nodes[0]; !got.Known() {
		t.Errorf("at 164 s: %v, want known", got.Unknown)
	}
	if got := store.View(snapshot, at(170), nil).Nodes[0]; got.Unknown != StaleSample {
		t.Errorf("at 170 s: %q, want %q", got.Unknown, StaleSample)
	}
}

// The store is bounded by the cluster: series end with what they are about.
func TestIngestForgetsWhatIsGone(t *testing.T) {
	store := newStore(t)
	both := snapshotOf(nodeWith("n1", aPod("a"), aPod("b")), nodeWith("n2"))
	store.Ingest(readAt(0).node("n1", amounts(9, 9)).node("n2", amounts(9, 9)).pod("a", amounts(1, 1)).pod("b", amounts(1, 1)).Batch, both)
	if len(store.nodes) != 2 || len(store.pods) != 2 {
		t.Fatalf("kept %d nodes and %d pods, want 2 and 2", len(store.nodes), len(store.pods))
	}
	store.Ingest(readAt(15).Batch, snapshotOf(nodeWith("n1", aPod("b"))))
	if len(store.nodes) != 1 || len(store.pods) != 1 {
		t.Errorf("kept %d nodes and %d pods, want 1 and 1", len(store.nodes), len(store.pods))
	}
}

// A StatefulSet's replacement has its predecessor's name and nothing else of it: neither its samples nor its usage.
func TestNamesakeStartsAnew(t *testing.T) {
	store := newStore(t)
	before := snapshotOf(nodeWith("n1", aPod("db-0", owner("db"))))
	feed(store, before, 0, 300, amounts(5000, 100), map[string]cluster.Amounts{"db-0": amounts(4000, 50)})

	after := snapshotOf(nodeWith("n1", aPod("db-0", owner("db"), uid("second"), startedAt(305))))
	// metrics-server still serves what it measured of the predecessor.
	late := readAt(304).node("n1", amounts(5000, 100)).pod("db-0", amounts(4000, 50))
	late.Received = at(310)
	store.Ingest(late.Batch, after)

	pod := store.View(after, at(311), nil).Nodes[0].Pods[0]
	// 85 % of a core and 70 % of 1 GiB: the estimate, because there is no sibling either.
	want := PodUsage{Used: Every(cluster.Amounts{850, 751619276})}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("namesake (-want +got):\n%s", diff)
	}
}
