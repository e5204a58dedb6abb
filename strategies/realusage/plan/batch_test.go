package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// shared distributes the pods of the first node over the given number of owners, in the order of
// their names, so the first owner has the first pods.
func shared(in Input, owners int) Input {
	pods := in.Nodes[0].Pods
	in.Residents = Residents{}
	for i := range pods {
		owner := fmt.Sprintf("rs-%d", i*owners/len(pods))
		pods[i].Pod.Owner = cluster.Owner{Kind: "ReplicaSet", Name: owner, UID: owner}
		in.Residents.count(strategies.Owner{Namespace: "ns", UID: owner}, 0, 1)
	}
	return in
}

func byOwner(moves []strategies.Move) map[string]int {
	of := map[string]int{}
	for i := range moves {
		of[moves[i].Owner.UID]++
	}
	return of
}

// A batch of moves off a node takes equally many pods of each owner, as far as their pods are
// similar.
func TestBatchesAreSpreadOverOwners(t *testing.T) {
	cases := map[string]struct {
		in   Input
		want map[string]int
	}{
		"40 equal pods of four owners, of which 12 leave": {
			in:   shared(dense(92*640, 40, 4), 4),
			want: map[string]int{"rs-0": 3, "rs-1": 3, "rs-2": 3, "rs-3": 3},
		},
		"of which 10 leave": {
			in:   shared(dense(86*640, 40, 4), 4),
			want: map[string]int{"rs-0": 3, "rs-1": 2, "rs-2": 3, "rs-3": 2}, // which two owners give one more is arbitrary
		},
		"as many as the owners have in the hour": {
			in: func() Input {
				in := shared(dense(92*640, 40, 4), 4)
				in.Beside = atMost(3, 99)
				return in
			}(),
			want: map[string]int{"rs-0": 3, "rs-1": 3, "rs-2": 3, "rs-3": 3},
		},
		"as many as a cycle may make": {
			in: func() Input {
				in := shared(dense(92*640, 40, 4), 4)
				in.MaxMoves = 8
				return in
			}(),
			want: map[string]int{"rs-0": 2, "rs-1": 2, "rs-2": 2, "rs-3": 2},
		},
		"in a namespace that has moves left for them, but not for all": {
			in: func() Input {
				in := shared(dense(92*640, 40, 4), 4)
				in.Beside = atMost(99, 14)
				return in
			}(),
			want: map[string]int{"rs-0": 3, "rs-1": 3, "rs-2": 3, "rs-3": 3},
		},
		"in a namespace that has moves left for fewer": {
			in: func() Input {
				in := shared(dense(92*640, 40, 4), 4)
				in.Beside = atMost(99, 8)
				return in
			}(),
			want: map[string]int{"rs-0": 2, "rs-1": 2, "rs-2": 2, "rs-3": 2},
		},
		"those that cost more stay": {
			in: func() Input {
				in := shared(dense(92*640, 40, 4), 4)
				for i := range 20 {
					in.Nodes[0].Pods[i].Disruption.Quarters = 8
				}
				return in
			}(),
			want: map[string]int{"rs-2": 6, "rs-3": 6},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan := New(tc.in)
			if diff := cmp.Diff(tc.want, byOwner(plan.Moves)); diff != "" {
				t.Errorf("moves by owner (-want +got), node: %q:\n%s", plan.Nodes[0].Reason, diff)
			}
		})
	}
}

// If an owner has fewer moves left in the hour than its pods would be chosen for, pods of other
// owners are moved instead, and the node is cooled at once.
func TestOwnersHoursDoNotHoldUpRelief(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		owners, limit := 2+rng.IntN(8), 1+rng.IntN(6)
		in := dense((70+rng.Int64N(25))*640, owners*10, 4)
		for i := range in.Nodes[0].Pods {
			in.Nodes[0].Pods[i].Usage[cluster.CPU] += rng.Int64N(40) - 20
		}
		in = shared(in, owners)
		unbounded := New(in)
		in.Beside = atMost(limit, 1000)
		plan := New(in)
		of := byOwner(plan.Moves)
		if most := slices.Max(append(slices.Collect(maps.Values(of)), 0)); most > limit {
			t.Fatalf("%d moves of one owner, at most %d", most, limit)
		}
		enough := owners*limit > len(unbounded.Moves) // one more is needed, because sizes differ
		if enough && plan.Nodes[0].Reason == reasons.OwnerMovesPerHour {
			t.Errorf("%d owners with %d moves each, %d are needed: %d made, and the node stays hot", owners, limit, len(unbounded.Moves), len(plan.Moves))
		}
	}
}
