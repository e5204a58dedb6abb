package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

func task(of, name string, seconds int) *tiers.Task {
	return &tiers.Task{Case: tiers.Case{Tier: tiers.Test, Package: of, Name: name, Seconds: seconds}}
}

// Two lanes begin with the packages that have most to do, take the longest case
// first, stay where they are, and in the end help where most is left.
func TestQueue(t *testing.T) {
	q := newQueue([]*tiers.Task{
		task("a", "TestShort", 10), task("a", "TestLong", 100), task("b", "TestB", 90), task("c", "TestC", 25), task("a", "TestMiddle", 30),
	})
	var got []string
	take := func(with string) string {
		next := q.next(with)
		if next == nil {
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
	want := []string{"a TestLong", "b TestB", "c TestC", "a TestMiddle", "a TestShort", "nothing", "nothing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handed out (-want +got):\n%s", diff)
	}
}

// All cases of one package do not keep the other lanes idle.
func TestQueueSharesAPackage(t *testing.T) {
	q := newQueue([]*tiers.Task{task("a", "TestOne", 1), task("a", "TestTwo", 2)})
	if first, second := q.next(""), q.next(""); first.Name != "TestTwo" || second == nil || second.Name != "TestOne" {
		t.Errorf("handed out %v and %v, want both cases", first, second)
	}
}
