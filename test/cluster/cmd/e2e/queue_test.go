package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

// queueOf returns a queue of cases that took the given seconds in the last run. A negative number
// marks a new case.
func queueOf(seconds map[string]float64) *queue {
	var cases []tiers.Case
	took := map[[2]string]float64{}
	for _, name := range slices.Sorted(maps.Keys(seconds)) {
		folder, function, _ := strings.Cut(name, " ")
		cases = append(cases, tiers.Case{Tier: tiers.Test, Package: folder, Name: function})
		if seconds[name] >= 0 {
			took[[2]string{folder, function}] = seconds[name]
		}
	}
	return newQueue(cases, took)
}

// Two lanes start with the packages that have the most work. Each takes the longest case first,
// stays with its package, and then helps with the package that has the most work left.
func TestQueue(t *testing.T) {
	q := queueOf(map[string]float64{"a TestShort": 10, "a TestLong": 100, "b TestB": 90, "c TestC": 30, "a TestNew": -1})
	var got []string
	take := func(with string) string {
		next, ok := q.next(with)
		if !ok {
			got = append(got, "nothing")
			return ""
		}
		got = append(got, next.Package+" "+next.Name)
		return next.Package
	}
	first, second := take(""), take("")
	second = take(second)
	first = take(first)
	first = take(first)
	take(second)
	take(first)
	want := []string{"a TestLong", "b TestB", "c TestC", "a TestNew", "a TestShort", "nothing", "nothing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handed out (-want +got):\n%s", diff)
	}
}

// While one lane runs a case, another may take a case of the same package.
func TestQueueSharesAPackage(t *testing.T) {
	q := queueOf(map[string]float64{"a TestOne": 1, "a TestTwo": 2})
	first, _ := q.next("")
	if second, ok := q.next(""); first.Name != "TestTwo" || !ok || second.Name != "TestOne" {
		t.Errorf("handed out %v and %v, want both cases", first, second)
	}
}
