package annotations

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may not have the database

	"github.com/evenkeel/evenkeel/observe/usage"
)

// look is one of several Samples: when it is taken, and when and in which zone each node's stamp was
// written. Times are relative to noon.
type look struct {
	at      time.Duration // since noon
	stamps  []time.Duration
	zone    *time.Location
	taken   int
	problem usage.Cause
}

func TestTheZoneOfTheWritersClock(t *testing.T) {
	minute, hour := time.Minute, time.Hour
	tokyo := time.FixedZone("Tokyo", 9*60*60)
	many := func(n int, age time.Duration, others ...time.Duration) []time.Duration {
		for range n {
			others = append(others, age)
		}
		return others
	}
	cases := map[string]struct {
		key   string
		looks []look
	}{
		"8h05m in the future in UTC is Shanghai": {looks: []look{{stamps: []time.Duration{-3 * minute}, zone: shanghai, taken: 1}}},
		"a minute ago in UTC is UTC":             {looks: []look{{stamps: []time.Duration{-minute}, zone: time.UTC, taken: 1}}},
		"the writer's clock is fast by less than a minute": {looks: []look{
			{stamps: []time.Duration{50 * time.Second}, zone: time.UTC, taken: 1},
		}},
		"a zone without a candidate, ahead of all": {looks: []look{
			{stamps: many(3, -minute), zone: tokyo, problem: usage.Future},
		}},
		"a zone behind all: old, never fresh": {looks: []look{
			{stamps: many(3, -minute), zone: time.FixedZone("New York", -5*60*60), problem: usage.Stale},
		}},
		"a writer that is known to be in Shanghai and stopped 8 hours ago": {looks: []look{
			{stamps: []time.Duration{-minute}, zone: shanghai, taken: 1},
			{at: 7*hour + 59*minute, stamps: []time.Duration{-minute}, zone: shanghai, problem: usage.Stale},
			{at: 8 * hour, stamps: []time.Duration{-minute}, zone: shanghai, problem: usage.Stale},
			{at: 8*hour + 5*minute, stamps: []time.Duration{-minute}, zone: shanghai, problem: usage.Stale},
		}},
		"the trap: the same to a reader that has just started": {looks: []look{
			{at: 8 * hour, stamps: []time.Duration{-minute}, zone: shanghai, taken: 1},
			{at: 8*hour + 8*minute, stamps: []time.Duration{-minute}, zone: shanghai, problem: usage.Stale},
		}},
		"a reader that started too late for the trap takes the older one": {key: "cpu_usage_max_avg_1d", looks: []look{
			{at: 11*hour + 30*minute, stamps: []time.Duration{-minute}, zone: shanghai, problem: usage.Stale},
		}},
		"a writer that is seen to write in UTC is believed after it stopped": {key: "cpu_usage_max_avg_1d", looks: []look{
			{stamps: []time.Duration{-minute}, zone: time.UTC, taken: 1},
			{at: minute, stamps: []time.Duration{30 * time.Second}, zone: time.UTC, taken: 1},
			{at: 3 * hour, stamps: []time.Duration{30 * time.Second}, zone: time.UTC, taken: 1},
		}},
		"a writer that moves from UTC to Shanghai": {looks: []look{
			{stamps: []time.Duration{-minute}, zone: time.UTC, taken: 1},
			{at: 3 * minute, stamps: []time.Duration{2 * minute}, zone: time.UTC, taken: 1},
			{at: 6 * minute, stamps: []time.Duration{5 * minute}, zone: shanghai, taken: 1},
		}},
		"and back: lost until it has written twice": {looks: []look{
			{stamps: []time.Duration{-minute}, zone: shanghai, taken: 1},
			{at: 3 * minute, stamps: []time.Duration{2 * minute}, zone: time.UTC, problem: usage.Stale},
			{at: 6 * minute, stamps: []time.Duration{5 * minute}, zone: time.UTC, taken: 1},
		}},
		"one wrong clock of forty does not decide": {looks: []look{
			{stamps: many(39, -minute, 5*hour), zone: time.UTC, taken: 39, problem: usage.Future},
		}},
		"a stamp from the next century decides nothing": {looks: []look{
			{stamps: many(2, -minute, 100*365*24*hour), zone: time.UTC, taken: 2, problem: usage.Future},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var now time.Time
			s := newSource(t, Config{})
			s.now = func() time.Time { return now }
			key := tc.key
			if key == "" {
				key = "cpu_usage_avg_5m"
			}
			for i, l := range tc.looks {
				now = noon.Add(l.at)
				nodes := alike(len(l.stamps), "n", "", "")
				for j, n := range nodes {
					n.Node.UsageAnnotations = map[string]string{key: Format(38, Fraction, noon.Add(l.stamps[j]), l.zone)}
				}
				batch := sample(t, s, nodes...)
				if got := readings(batch); got != l.taken {
					t.Errorf("look %d: %d taken, want %d; problems: %v", i, got, l.taken, batch.Problems)
				}
				if l.problem != "" && batch.Problems[l.problem].Count == 0 {
					t.Errorf("look %d: nothing is %s; problems: %v", i, l.problem, batch.Problems)
				}
			}
		})
	}
}

// Whatever the zone, a reading never appears fresher than it is by more than the skew, except in
// the few minutes in which a stamp fits two zones.
func TestNeverFresherThanItIs(t *testing.T) {
	for offset := -12 * time.Hour; offset <= 14*time.Hour; offset += 30 * time.Minute {
		for age := time.Duration(0); age <= 24*time.Hour; age += 7 * time.Minute {
			zone := time.FixedZone("", int(offset/time.Second))
			batch := sample(t, newSource(t, Config{}), node("a", map[string]string{
				"cpu_usage_avg_5m": Format(38, Fraction, noon.Add(-age), zone),
			}))
			seen := age - offset // the age to a reader that trusts the Z
			shanghaiSeen := seen + 8*time.Hour
			inTrap := offset > 0 && (seen >= -time.Minute && seen < 8*time.Minute || offset > 8*time.Hour && shanghaiSeen < 8*time.Minute)
			if readings(batch) == 0 || inTrap {
				continue
			}
			if got := noon.Sub(batch.Nodes[0].Readings[0].At); got < age-skew {
				t.Errorf("offset %v: %v old, read as %v", offset, age, got)
			}
		}
	}
}

func TestAnHourThatComesTwiceIsTheEarlier(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	value, _ := Parse("0.38000,2026-10-25T02:30:00Z") // 02:30 occurs in summer time, and again an hour later
	want := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	if got := value.In(berlin); !got.Equal(want) {
		t.Errorf("got %v, want %v", got.UTC(), want)
	}
}
