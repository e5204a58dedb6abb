package settings

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// The hourly limits are those of the policy. The shipped ones suit clusters of all sizes, and a
// number is used as it is.
func TestMovesAnHour(t *testing.T) {
	now := time.Now()
	number, percent := intstr.FromInt32, intstr.FromString
	for name, tc := range map[string]struct {
		change     func(*policy.Eviction)
		pods       int
		all, owner int // allowed moves in all, and of an owner with half of the pods; -1 without a limit
	}{
		"shipped, 3 nodes":     {pods: 90, all: 50, owner: 22},
		"shipped, 50 nodes":    {pods: 1_500, all: 75, owner: 375},
		"shipped, 5,000 nodes": {pods: 150_000, all: 2000, owner: 2000},
		"numbers": {
			change: func(e *policy.Eviction) { e.MaxMovesPerHour, e.MaxMovesPerHourOfOwner = number(300), number(7) },
			pods:   90, all: 300, owner: 7,
		},
		"no bounds": {
			change: func(e *policy.Eviction) { e.MaxMovesPerHour, e.MaxMovesPerHourOfOwner = number(0), number(0) },
			pods:   90, all: -1, owner: -1,
		},
		"other percentages": {
			change: func(e *policy.Eviction) {
				e.MaxMovesPerHour, e.MaxMovesPerHourOfOwner = percent("100%"), percent("1%")
			},
			pods: 900, all: 900, owner: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy.Default(kinds.All)
			if tc.change != nil {
				tc.change(&p.Eviction)
			}
			set, err := Evicting(&p.Eviction)
			if err != nil {
				t.Fatal(err)
			}
			of := safeguards.Whose{Namespace: "ns", OwnerUID: "rs"}
			facts := safeguards.Facts{Pods: &safeguards.Census{
				All: tc.pods, Namespaces: map[string]int{"ns": tc.pods}, Owners: map[safeguards.Whose]int{of: tc.pods / 2},
			}}
			v := set.Safeguards.At(facts, now)
			if left := v.Left(); left != tc.all {
				t.Errorf("%d moves may be made, want %d", left, tc.all)
			}
			used := max(tc.owner, 0)
			for n, want := range map[int]reasons.Reason{used - 1: "", used: reasons.OwnerMovesPerHour} {
				if tc.owner < 0 {
					n, want = 5_000, ""
				}
				// The owner's namespace may use all moves of the hour, and its limit is checked
				// second.
				if got, _ := v.Beside(of, n, 0); got != want {
					t.Errorf("after %d moves of the owner: %q, want %q", n, got, want)
				}
			}
		})
	}
}

// The limits also apply to moves of other processes in the ledger.
func TestMovesAnHourOfAnotherProcess(t *testing.T) {
	now, p := time.Now(), policy.Default(kinds.All)
	set, err := Evicting(&p.Eviction)
	if err != nil {
		t.Fatal(err)
	}
	facts := safeguards.Facts{Pods: &safeguards.Census{}} // nothing has been observed yet
	for range 2 {
		facts.Ended = append(facts.Ended, ledger.Move{
			Intent: ledger.Intent{Namespace: "ns", Owner: cluster.Owner{UID: "rs"}}, State: ledger.Landed, Evicted: now.Add(-50 * time.Minute), Ended: now.Add(-50 * time.Minute),
		})
	}
	if got, _ := set.Safeguards.At(facts, now).Owner("ns", "rs"); got != reasons.OwnerMovesPerHour {
		t.Errorf("an owner that was moved twice: %q, want %q", got, reasons.OwnerMovesPerHour)
	}
	if got, _ := set.Safeguards.At(facts, now.Add(11*time.Minute)).Owner("ns", "rs"); got != "" {
		t.Errorf("an hour later: %q", got)
	}
}

// Values that were not validated do not mean "unlimited".
func TestInvalidMovesPerHour(t *testing.T) {
	for _, set := range []func(*policy.Eviction){
		func(e *policy.Eviction) { e.MaxMovesPerHour = intstr.FromString("many") },
		func(e *policy.Eviction) { e.MaxMovesPerHourOfOwner = intstr.FromString("") },
	} {
		p := policy.Default(kinds.All)
		set(&p.Eviction)
		if _, err := Evicting(&p.Eviction); err == nil {
			t.Error("no error")
		}
	}
}
