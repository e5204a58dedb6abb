package safeguards

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// waiting returns n moves off a node, whose owners take turns.
func waiting(n int, node string, owners int) (moves []Queued) {
	for i := range n {
		m := move(len(node)*10_000+i, from(node), owned(fmt.Sprintf("%s-%d", node, i%owners)))
		moves = append(moves, Queued{Intent: m.Intent})
	}
	return moves
}

// grouped limits how many of an owner's waiting moves may be in progress at a time.
func grouped(moves []Queued, atOnce int, takes time.Duration) []Queued {
	for i := range moves {
		moves[i].Group, moves[i].AtOnce, moves[i].Takes, moves[i].Reason = moves[i].Owner.UID, atOnce, takes, reasons.OwnerPodsUnavailable
	}
	return moves
}

func apart(d time.Duration) func(time.Time) time.Time {
	return func(ended time.Time) time.Time { return ended.Add(d) }
}

// The cases show when the moves of a relief are made at the earliest, and what delays them.
func TestPace(t *testing.T) {
	in := func(d time.Duration) time.Time { return noon.Add(d) }
	cases := map[string]struct {
		config func(*Config)
		moves  []ledger.Move
		pods   *Census
		queue  Queue
		want   map[string]*Pace
	}{
		"nothing bounds them": {
			queue: Queue{Moves: waiting(40, "a", 4), Interval: 200 * time.Millisecond},
			want:  map[string]*Pace{"a": {Moves: 40, Now: 40, Last: in(7800 * time.Millisecond)}},
		},
		"as many in an hour as are left, and the rest when the first grow old": {
			config: func(c *Config) { c.MaxPerHour = 50 },
			moves:  several(38, landed(20*time.Minute)),
			queue:  Queue{Moves: waiting(125, "a", 125)},
			want: map[string]*Pace{"a": {Moves: 125, Now: 12, Last: in(160 * time.Minute), Bound: Bound{
				Reason: reasons.MovesPerHour, Limit: 50, Left: 12, Holds: 160 * time.Minute,
			}}},
		},
		"a share of few pods": {
			config: func(c *Config) { c.MaxPercentPerHour = 5 },
			pods:   &Census{All: 250, Namespaces: map[string]int{"ns": 250}},
			queue:  Queue{Moves: waiting(125, "a", 125)},
			want: map[string]*Pace{"a": {Moves: 125, Now: 50, Last: in(2 * time.Hour), Bound: Bound{
				Reason: reasons.MovesPerHour, Limit: 50, Left: 50, Holds: 2 * time.Hour,
			}}},
		},
		"one of several namespaces": {
			config: func(c *Config) { c.MaxPercentPerHour = 5 },
			pods:   &Census{All: 250, Namespaces: map[string]int{"ns": 100, "other": 150}},
			queue:  Queue{Moves: waiting(60, "a", 60)},
			want: map[string]*Pace{"a": {Moves: 60, Now: 25, Last: in(2 * time.Hour), Bound: Bound{
				Reason: reasons.NamespaceMovesPerHour, Limit: 25, Left: 25, Holds: 2 * time.Hour,
			}}},
		},
		"one owner delays no other moves": {
			config: func(c *Config) { c.MaxPercentPerHourOfOwner = 50 },
			pods:   &Census{All: 250, Owners: map[Whose]int{{"ns", "a-0"}: 6, {"ns", "b-0"}: 100}},
			queue:  Queue{Moves: append(waiting(5, "a", 1), waiting(5, "b", 1)...)},
			want: map[string]*Pace{
				"a": {Moves: 5, Now: 3, Last: in(time.Hour), Bound: Bound{Reason: reasons.OwnerMovesPerHour, Limit: 3, Left: 3, Holds: time.Hour}},
				"b": {Moves: 5, Now: 5, Last: noon},
			},
		},
		"a node pool": {
			config: func(c *Config) { c.MaxPerHourOfPool = 10 },
			moves:  several(4, landed(59*time.Minute)),
			queue:  Queue{Moves: waiting(10, "a", 10)},
			want: map[string]*Pace{"a": {Moves: 10, Now: 6, Last: in(5 * time.Minute), Bound: Bound{
				Reason: reasons.NodePoolMovesPerHour, Limit: 10, Left: 6, Holds: 5 * time.Minute,
			}}},
		},
		"as many as a cycle makes": {
			queue: Queue{Moves: waiting(25, "a", 25), PerCycle: 10},
			want: map[string]*Pace{"a": {Moves: 25, Now: 10, Last: in(10 * time.Minute), Bound: Bound{
				Reason: reasons.MoveLimit, Limit: 10, Holds: 10 * time.Minute,
			}}},
		},
		"as many as leave one node in a cycle": {
			queue: Queue{Moves: append(waiting(6, "a", 6), waiting(3, "b", 3)...), PerNode: 3},
			want: map[string]*Pace{
				"a": {Moves: 6, Now: 3, Last: in(5 * time.Minute), Bound: Bound{Reason: reasons.EvictionLimit, Limit: 3, Holds: 5 * time.Minute}},
				"b": {Moves: 3, Now: 3, Last: noon},
			},
		},
		"two of an owner at once, within one cycle": {
			queue: Queue{Moves: grouped(waiting(6, "a", 1), 2, 30*time.Second), Deadline: 10 * time.Minute},
			want: map[string]*Pace{"a": {Moves: 6, Now: 6, Last: in(time.Minute), Bound: Bound{
				Reason: reasons.OwnerPodsUnavailable, Limit: 2, Holds: time.Minute,
			}}},
		},
		"spread over owners, in a fraction of the time": {
			queue: Queue{Moves: grouped(waiting(6, "a", 3), 2, 30*time.Second), Deadline: 10 * time.Minute},
			want:  map[string]*Pace{"a": {Moves: 6, Now: 6, Last: noon}},
		},
		"replacements that come after the end of a cycle": {
			queue: Queue{Moves: grouped(waiting(3, "a", 1), 1, 3*time.Minute), Deadline: 2 * time.Minute},
			want: map[string]*Pace{"a": {Moves: 3, Now: 1, Last: in(10 * time.Minute), Bound: Bound{
				Reason: reasons.OwnerPodsUnavailable, Limit: 1, Holds: 10 * time.Minute,
			}}},
		},
		"a node that settles": {
			moves: []ledger.Move{move(1, landed(30*time.Second))},
			queue: Queue{Moves: waiting(1, "hot", 1)},
			want: map[string]*Pace{"hot": {Moves: 1, Last: in(5 * time.Minute), Bound: Bound{
				Reason: reasons.NodeSettling, Holds: 5 * time.Minute,
			}}},
		},
		"moves in flight count and are assumed to land": {
			config: func(c *Config) { c.MaxPerHour, c.Breaker.MaxPending = 3, 0 },
			moves:  []ledger.Move{move(1, evicted(10*time.Minute)), move(2, intended)},
			queue:  Queue{Moves: waiting(2, "a", 2)},
			want: map[string]*Pace{"a": {Moves: 2, Now: 1, Last: in(50 * time.Minute), Bound: Bound{
				Reason: reasons.MovesPerHour, Limit: 3, Left: 1, Holds: 50 * time.Minute,
			}}},
		},
		"evicting is not allowed until later": {
			queue: Queue{Moves: waiting(2, "a", 2), Open: func(at time.Time) (bool, string, time.Time) {
				opens := in(90 * time.Minute)
				return !at.Before(opens), "blackout", opens
			}},
			want: map[string]*Pace{"a": {Moves: 2, Last: in(90 * time.Minute), Bound: Bound{Reason: reasons.OutsideWindow, Holds: 90 * time.Minute}}},
		},
		"beyond the horizon": {
			config: func(c *Config) { c.MaxPerHour = 1 },
			queue:  Queue{Moves: waiting(30, "a", 30)},
			want: map[string]*Pace{"a": {Moves: 30, Now: 1, Last: in(24 * time.Hour), Later: true, Bound: Bound{
				Reason: reasons.MovesPerHour, Limit: 1, Left: 1, Holds: 24 * time.Hour,
			}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := facts(tc.moves...)
			f.Pods = tc.pods
			if tc.queue.Next == nil {
				tc.queue.Next = apart(5 * time.Minute)
			}
			c := config(func(c *Config) { c.NodeSettle = time.Minute })
			if tc.config != nil {
				tc.config(&c)
			}
			if diff := cmp.Diff(tc.want, New(c).Pace(f, &tc.queue, noon)); diff != "" {
				t.Errorf("pace (-want +got):\n%s", diff)
			}
		})
	}
}

// However many moves there are, and however often cycles run, the estimate takes little time.
func TestPaceIsBounded(t *testing.T) {
	queue := Queue{Moves: waiting(5_000, "a", 5_000), PerCycle: 1, Next: apart(time.Second)}
	pace := New(config()).Pace(facts(several(2_000, landed(10*time.Minute))...), &queue, noon)["a"]
	if !pace.Later || !pace.Last.After(noon) || pace.Last.Sub(noon) > time.Hour {
		t.Errorf("followed until %v", pace.Last)
	}
}

// The estimate does not change the facts of the process that requests it.
func TestPaceLeavesFactsAlone(t *testing.T) {
	f := facts(move(1, landed(time.Minute)), move(2, evicted(time.Minute)), move(3, intended))
	before := facts(move(1, landed(time.Minute)), move(2, evicted(time.Minute)), move(3, intended))
	queue := Queue{Moves: waiting(5, "a", 2), Next: apart(time.Minute)}
	New(config()).Pace(f, &queue, noon)
	if diff := cmp.Diff(before, f, cmp.AllowUnexported(ledger.Move{})); diff != "" {
		t.Errorf("facts (-before +after):\n%s", diff)
	}
}
