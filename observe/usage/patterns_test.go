package usage

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/observe/forecast"
)

// These are the sizes of the header and of an entry of stored patterns, in bytes.
const (
	patternsHeader = 4 + 4 + 8
	patternBytes   = 8 + forecast.PatternSize + 1
)

// The next process knows the patterns that a process has learned, by workload name and to within a
// thousandth. They stay unchanged while the next process has learned less itself.
func TestPatternsSurvive(t *testing.T) {
	before := newStore(t, hourly)
	want := hours(t, before, 1, 4, "a").Nodes[0].Pods[0].Pattern
	if want.Pattern == nil {
		t.Fatal("nothing recurs")
	}
	after := newStore(t, hourly)
	if err := after.AdoptPatterns(before.Patterns(math.MaxInt), at(4*3600)); err != nil {
		t.Fatal(err)
	}
	got := hours(t, after, 4, 5, "b").Nodes[0].Pods[0].Pattern
	if got.Pattern == nil {
		t.Fatal("nothing recurs in the other process")
	}
	for part := range want.Means {
		if math.Abs(float64(got.Means[part]-want.Means[part])) > 1+0.05*float64(want.Means[part]) {
			t.Fatalf("the means were %v, and are %v", want.Means, got.Means)
		}
	}
	if got.Periods < want.Periods {
		t.Errorf("it was seen for %d periods, before for %d", got.Periods, want.Periods)
	}
}

func TestPatternsThatAreNotAdopted(t *testing.T) {
	known := newStore(t, hourly)
	hours(t, known, 1, 4, "a")
	data := known.Patterns(math.MaxInt)
	for name, tc := range map[string]struct {
		config func(*Config)
		now    time.Time
		data   []byte
		fails  bool
	}{
		"nothing":            {hourly, at(4 * 3600), nil, false},
		"of four hours ago":  {hourly, at(8 * 3600), data, false},
		"of the future":      {hourly, at(0), data, false},
		"of another period":  {func(c *Config) { c.Recurs.Period = 2 * time.Hour }, at(4 * 3600), data, false},
		"with detection off": {func(*Config) {}, at(4 * 3600), data, false},
		"cut off":            {hourly, at(4 * 3600), data[:len(data)-1], true},
		"a header cut off":   {hourly, at(4 * 3600), data[:7], true},
		"of another version": {hourly, at(4 * 3600), append([]byte{9}, data[1:]...), true},
		"with an invalid number": {hourly, at(4 * 3600), func() []byte {
			odd := append([]byte(nil), data...)
			binary.LittleEndian.PutUint32(odd[patternsHeader+8+4:], math.Float32bits(float32(math.NaN())))
			return odd
		}(), true},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, tc.config)
			if err := store.AdoptPatterns(tc.data, tc.now); (err != nil) != tc.fails {
				t.Errorf("error: %v, want one: %v", err, tc.fails)
			}
			if n := len(store.owners.known); n != 0 {
				t.Errorf("%d workloads were adopted", n)
			}
		})
	}
}

// If there is not enough space for all workloads, those whose usage varies most are kept.
func TestPatternsThatFit(t *testing.T) {
	store := newStore(t, hourly)
	hours(t, store, 1, 4, "a")
	var varied Workload
	for key := range store.owners.known {
		varied = key
	}
	var r forecast.Recurrence
	for part := int64(1); part < 3*forecast.Parts; part++ {
		r.Add(part, 500+part%2)
	}
	store.owners.known[varied+1] = &workload{Recurrence: r}
	data := store.Patterns(patternsHeader + patternBytes + 5)
	if len(data) != patternsHeader+patternBytes {
		t.Fatalf("%d bytes", len(data))
	}
	if got := Workload(binary.LittleEndian.Uint64(data[patternsHeader:])); got != varied {
		t.Errorf("workload %x is kept, want %x", got, varied)
	}
	if data := newStore(t, hourly).Patterns(1000); data != nil {
		t.Errorf("of nothing there are %d bytes", len(data))
	}
}

func FuzzAdoptPatterns(f *testing.F) {
	known := newStore(f, hourly)
	r := forecast.Recurrence{}
	for part := int64(1); part < 3*forecast.Parts; part++ {
		r.Add(part, part*part%977)
	}
	known.owners.known[7] = &workload{Recurrence: r}
	known.owners.part = known.config.Recurs.Part(at(0).Unix())
	f.Add(known.Patterns(math.MaxInt))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := newStore(t, hourly)
		if err := store.AdoptPatterns(data, at(0)); err != nil {
			if len(store.owners.known) > 0 {
				t.Fatal("half of it was adopted")
			}
			return
		}
		for _, known := range store.owners.known {
			p := known.Pattern()
			for _, m := range p.Means {
				if !(m >= 0) || math.IsInf(float64(m), 0) {
					t.Fatalf("%+v", p)
				}
			}
			known.Add(1, 5)
			known.Finish(2, 0)
		}
	})
}
