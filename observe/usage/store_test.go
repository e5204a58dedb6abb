package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
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
		"a MinWindow longer than avg_5m":    {change: func(c *Config) { c.MinWindow = Avg5m.Over + 1 }},
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

// A node's windows are the newest sample and the mean of its samples, its age counts from the
// newest measurement, and an unknown value has a reason.
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
			want: NodeUsage{Unknown: reasons.NoUsageSample, Measured: cpu(0, 0)},
		},
		"one sample is no window": {
			samples: []sample{{0, 900}},
			now:     1,
			want:    NodeUsage{Unknown: reasons.WindowTooShort, Age: time.Second, Measured: cpu(900, 900)},
		},
		"60 s are too short": {
			samples: []sample{{0, 100}, {60, 300}},
			now:     61,
			want:    NodeUsage{Unknown: reasons.WindowTooShort, Age: time.Second, Span: time.Minute, Measured: cpu(300, 200)},
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
			want:    NodeUsage{Unknown: reasons.UsageStale, Age: 91 * time.Second, Span: 75 * time.Second, Measured: cpu(100, 100)},
		},
		"after 90 s exactly it is known": {
			samples: []sample{{0, 100}, {75, 100}},
			now:     165,
			want:    NodeUsage{Age: 90 * time.Second, Span: 75 * time.Second, Measured: cpu(100, 100)},
		},
		"back after a gap the window starts anew": {
			samples: []sample{{0, 100}, {75, 100}, {600, 700}},
			now:     601,
			want:    NodeUsage{Unknown: reasons.WindowTooShort, Age: time.Second, Measured: cpu(700, 700)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
			for _, s := range tc.samples {
				store.Ingest(snapshot, readAt(s.second).node("n1", amounts(s.cpuMilli, 0)).Batch)
			}
			got := store.View(snapshot, at(tc.now), nil).Nodes[0]
			got = NodeUsage{Unknown: got.Unknown, Age: got.Age, Span: got.Span, Measured: got.Measured}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}
		})
	}
}

func cpu(last, avg int64) []cluster.Amounts {
	return []cluster.Amounts{AtLast: amounts(last, 0), AtAvg5m: amounts(avg, 0)}
}

// The ring keeps a whole window, even if samples arrive faster than expected.
func TestRingKeepsTheNewest(t *testing.T) {
	var r ring[point]
	const limit = 22
	for second := uint32(1); second <= 100; second++ {
		if !r.push(second, pack(second, amounts(int64(second), 0)), limit) {
			t.Fatalf("second %d was refused", second)
		}
	}
	if r.push(100, pack(100, amounts(1, 0)), limit) || r.push(99, pack(99, amounts(1, 0)), limit) {
		t.Error("a sample that is not newer was taken")
	}
	var got []uint32
	span := samplesSince(&r, 0, func(p point) { got = append(got, p.second) })
	if len(got) != limit || span != (limit-1)*time.Second {
		t.Errorf("kept %v over %v, want the last %d seconds", got, span, limit)
	}
	if newest, ok := r.newest(); !ok || newest.second != 100 {
		t.Errorf("newest is %v, want second 100", newest)
	}
}

// Packing rounds memory to a page, and the sums of a 16-TiB node fit.
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

// A source that repeats its last sample provides nothing new, so the node's usage ages although
// readings arrive.
func TestRepeatedSamplesAge(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	feed(store, snapshot, 0, 75, amounts(1000, 10), nil)
	for second := 90; second <= 165; second += 15 {
		r := readAt(second).measuredAt(75).node("n1", amounts(1000, 10))
		if got := counts(store.Ingest(snapshot, r.Batch)); len(got) > 0 {
			t.Errorf("second %d: %v, want no problems: the sample is old news, not wrong", second, got)
		}
		if got := node1(store, snapshot, second); !got.Sampled.Equal(at(75)) || got.Age != time.Duration(second-75)*time.Second {
			t.Errorf("second %d: sampled at %v, %v old, want %v: a repeated sample does not count", second, got.Sampled, got.Age, at(75))
		}
	}
	if got := store.View(snapshot, at(164), nil).Nodes[0]; !got.Known() {
		t.Errorf("at 164 s: %v, want known", got.Unknown)
	}
	if got := store.View(snapshot, at(170), nil).Nodes[0]; got.Unknown != reasons.UsageStale {
		t.Errorf("at 170 s: %q, want %q", got.Unknown, reasons.UsageStale)
	}
}

// The store does not grow beyond the size of the cluster, because it drops series together with
// their objects.
func TestIngestForgetsWhatIsGone(t *testing.T) {
	store := newStore(t)
	whole := snapshotOf(nodeWith("n1", aPod("a"), aPod("b")), nodeWith("n2"))
	store.Ingest(whole, readAt(0).node("n1", amounts(9, 9)).node("n2", amounts(9, 9)).pod("a", amounts(1, 1)).pod("b", amounts(1, 1)).Batch)
	if len(store.nodes) != 2 || len(store.order) != 2 {
		t.Fatalf("kept %d nodes and %d pods, want 2 and 2", len(store.nodes), len(store.order))
	}
	store.Ingest(snapshotOf(nodeWith("n1", aPod("b"))), readAt(15).Batch)
	if len(store.nodes) != 1 || len(store.order) != 1 {
		t.Errorf("kept %d nodes and %d pods, want 1 and 1", len(store.nodes), len(store.order))
	}
}

// A StatefulSet's replacement shares only its predecessor's name, not its
// samples or usage.
func TestNamesakeStartsAnew(t *testing.T) {
	store := newStore(t)
	before := snapshotOf(nodeWith("n1", aPod("db-0", owner("db"))))
	feed(store, before, 0, 300, amounts(5000, 100), map[string]cluster.Amounts{"db-0": amounts(4000, 50)})

	after := snapshotOf(nodeWith("n1", aPod("db-0", owner("db"), uid("second"), startedAt(305))))
	// metrics-server still serves a measurement of the predecessor.
	late := readAt(310).measuredAt(304).node("n1", amounts(5000, 100)).pod("db-0", amounts(4000, 50))
	store.Ingest(after, late.Batch)

	pod := store.View(after, at(311), nil).Nodes[0].Pods[0]
	// 85 % of a core and 70 % of 1 GiB, which is the estimate, because there is no sibling either
	want := PodUsage{Used: cluster.Amounts{850, 751619276}}
	if diff := cmp.Diff(want, pod, usedAlone()); diff != "" {
		t.Errorf("namesake (-want +got):\n%s", diff)
	}
}
