package safeguards

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

// crowd returns as many moves of the last two hours as a ledger remembers, from 500 owners on 200
// nodes.
func crowd() Facts {
	moves := make([]ledger.Move, 2000)
	for i := range moves {
		moves[i] = move(i, judged(2*time.Hour-time.Duration(i)*3*time.Second, i%3 > 0),
			owned(fmt.Sprintf("rs-%d", i%500)), in(fmt.Sprintf("ns-%d", i%50)), from(fmt.Sprintf("node-%d", i%200)), pool(fmt.Sprintf("pool-%d", i%4)))
	}
	f := facts(moves...)
	f.Replacement = func(*ledger.Move) ledger.Replacement { return ledger.Replacement{Exists: true, Ready: true} }
	f.Calls = calls("....................", time.Minute)
	return f
}

// BenchmarkAt makes a verdict from 2,000 remembered moves.
func BenchmarkAt(b *testing.B) {
	rules, f := New(config(func(c *Config) { c.MaxPerHour = 5000 })), crowd()
	b.ReportAllocs()
	for b.Loop() {
		rules.At(f, noon)
	}
}

// BenchmarkRefuse5000 checks whether each of 5,000 pods may be moved, as a cycle does.
func BenchmarkRefuse5000(b *testing.B) {
	v := New(config(func(c *Config) { c.MaxPerHour, c.Cooldown = 5000, Cooldown{Base: time.Hour, Max: 6 * time.Hour} })).At(crowd(), noon)
	intents := make([]ledger.Intent, 5000)
	refused := 0
	for i := range intents {
		intents[i] = move(10_000+i, owned(fmt.Sprintf("rs-%d", i%1000)), in(fmt.Sprintf("ns-%d", i%50)), from(fmt.Sprintf("node-%d", i%400))).Intent
		if reason, _ := v.Refuse(&intents[i]); reason != "" {
			refused++
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range intents {
			v.Refuse(&intents[i])
		}
	}
	b.ReportMetric(float64(refused), "refused")
}

// BenchmarkPace estimates the pace of 2,000 moves off 100 nodes. In one case an hour's limit allows
// all of them, in the other they are far from complete within a day and are followed to the
// horizon.
func BenchmarkPace(b *testing.B) {
	for _, perHour := range []int{2000, 50} {
		rules, f := New(config(func(c *Config) { c.MaxPerHour = perHour })), crowd()
		q := &Queue{Interval: 200 * time.Millisecond, Deadline: 10 * time.Minute, PerCycle: 100, Next: func(ended time.Time) time.Time { return ended.Add(5 * time.Minute) }}
		for i := range 2000 {
			owner := fmt.Sprintf("rs-%d", i%700)
			in := move(10_000+i, owned(owner), in(fmt.Sprintf("ns-%d", i%50)), from(fmt.Sprintf("node-%d", i%100))).Intent
			q.Moves = append(q.Moves, Queued{Intent: in, Group: owner, AtOnce: 1, Takes: time.Duration(20+i%7) * time.Second, Reason: "OwnerPodsUnavailable"})
		}
		b.Run(fmt.Sprintf("hourly=%d", perHour), func(b *testing.B) {
			for b.Loop() {
				if got := rules.Pace(f, q, noon); len(got) != 100 {
					b.Fatal(len(got))
				}
			}
		})
	}
}
