package usage

import (
	"testing"
	"time"
	"unsafe"

	"github.com/evenkeel/evenkeel/reasons"
)

// steppedBack returns t as time.Now would return it if the wall clock had been
// set back before: its monotonic reading is ahead.
func steppedBack(t time.Time, by time.Duration) time.Time {
	inside := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	inside.ext += int64(by)
	return t
}

// When the clocks of a cluster are set back, samples are judged by the wall clock by which they are
// dated: those taken after the step are fresh.
func TestSamplesAreFreshAfterAStepBack(t *testing.T) {
	for by, shifted := range map[time.Duration]bool{90 * time.Second: true, 91 * time.Second: false, 2 * time.Minute: true, time.Hour: true, 61 * time.Minute: false} {
		begin := time.Now()
		if before := begin; steppedBack(begin.Add(15*time.Second-by), by).Sub(before) != 15*time.Second {
			t.Fatal("times have another form than this test supposes")
		}
		store, err := NewStore(testConfig(), begin)
		if err != nil {
			t.Fatal(err)
		}
		snapshot := snapshotOf(nodeWith("n1"))
		read := func(now time.Time) *NodeUsage {
			batch := Batch{Source: "test", Received: now, Nodes: []NodeSample{{Name: "n1", Readings: LastReadings(now.Round(0), amounts(1000, 100))}}}
			store.Ingest(snapshot, batch)
			return &store.View(snapshot, now, nil).Nodes[0]
		}
		now := begin
		for range 20 {
			now = now.Add(15 * time.Second)
			if got := read(now); got.Age != 0 {
				t.Fatalf("%v: age %v before the step", by, got.Age)
			}
		}
		want := reasons.WindowTooShort // the store starts over
		if shifted {
			store.Shift(-by)
			want = ""
		}
		for i := range 8 {
			after := steppedBack(now.Add(time.Duration(i+1)*15*time.Second-by), by)
			if i >= 5 {
				want = ""
			}
			if got := read(after); got.Unknown != want || got.Age != 0 || got.Measured[AtLast] != amounts(1000, 100) {
				t.Fatalf("%v: the sample %d after the step is %v old, the node unknown for %q, want %q", by, i, got.Age, got.Unknown, want)
			}
		}
	}
}
