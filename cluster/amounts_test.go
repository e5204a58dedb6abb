package cluster

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPercentOf(t *testing.T) {
	cases := map[string]struct {
		used, whole Amounts
		want        Percents
	}{
		"a half and all":           {Amounts{500, 8}, Amounts{1000, 8}, Percents{50, 100}},
		"overcommitted":            {Amounts{3000, 0}, Amounts{1000, 8}, Percents{300, 0}},
		"something of nothing":     {Amounts{1, 0}, Amounts{0, 0}, Percents{100, 0}},
		"something of less":        {Amounts{1, 0}, Amounts{-5, -5}, Percents{100, 0}},
		"less than nothing is low": {Amounts{-500, 0}, Amounts{1000, 8}, Percents{-50, 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.used.PercentOf(tc.whole); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCeilingOf(t *testing.T) {
	inf := math.Inf(1)
	cases := map[string]struct {
		percents Percents
		whole    Amounts
		want     Amounts
	}{
		"60 % of 32 cores and 75 % of 256 GiB": {Percents{60, 75}, Amounts{32_000, 256 << 30}, Amounts{19_200, 192 << 30}},
		"fractions are rounded down":           {Percents{60, 33.3}, Amounts{1001, 1000}, Amounts{600, 333}},
		"57 % of 100 is 57":                    {Percents{57, 29}, Amounts{100, 100}, Amounts{57, 29}},
		"nothing":                              {Percents{0, 0}, Amounts{1000, 1000}, Amounts{}},
		"no line":                              {Percents{inf, inf}, Amounts{1000, 0}, Amounts{math.MaxInt64, math.MaxInt64}},
		"of nothing":                           {Percents{60, 100}, Amounts{0, 0}, Amounts{0, math.MaxInt64}},
		"no number":                            {Percents{math.NaN(), -5}, Amounts{1000, 1000}, Amounts{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.percents.CeilingOf(tc.whole); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// A ceiling divides amounts exactly as the percentage does.
func TestCeilingAgreesWithPercentages(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for range 20_000 {
		percent, whole := float64(rng.IntN(1000))/10, 1+rng.Int64N(1<<42)
		most := Percents{percent, percent}.CeilingOf(Amounts{whole, whole})[0]
		under, over := Amounts{most}.PercentOf(Amounts{whole})[0], Amounts{most + 1}.PercentOf(Amounts{whole})[0]
		if under > percent || over <= percent {
			t.Fatalf("%v %% of %d: %d is at %v %%, one more at %v %%", percent, whole, most, under, over)
		}
	}
}

func TestAmounts(t *testing.T) {
	a, b := Amounts{5, 1}, Amounts{2, 3}
	if a.Plus(b) != (Amounts{7, 4}) || a.Minus(b) != (Amounts{3, -2}) || a.Minus(b).AtLeastZero() != (Amounts{3, 0}) {
		t.Error("sums are wrong")
	}
	if a.Exceeds(Amounts{5, 1}) || !a.Exceeds(Amounts{4, 9}) || !a.Exceeds(Amounts{9, 0}) {
		t.Error("the limits that are exceeded are wrong")
	}
	if (Percents{10, 90}).Max() != 90 || (Percents{-1, -2}).Max() != -1 {
		t.Error("the highest percentage is wrong")
	}
	if CPU.String() != "cpu" || Memory.String() != "memory" || NumResources.String() != "unknown" {
		t.Error("names are wrong")
	}
}

func TestSnapshotIndex(t *testing.T) {
	snapshot := &Snapshot{}
	if snapshot.Index("a") != -1 {
		t.Error("an empty snapshot has a node")
	}
	for _, name := range []string{"b", "d", "f"} {
		snapshot.Nodes = append(snapshot.Nodes, &NodePods{Node: Node{Name: name}})
	}
	for name, want := range map[string]int{"a": -1, "b": 0, "c": -1, "d": 1, "f": 2, "g": -1} {
		if got := snapshot.Index(name); got != want {
			t.Errorf("%s is at %d, want %d", name, got, want)
		}
	}
	if (&Pod{Namespace: "ns", Name: "p"}).Key() != "ns/p" {
		t.Error("a pod's key is not namespace/name")
	}
}
