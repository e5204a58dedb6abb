package configmap

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/ledger"
)

// leads is a Leader, which no longer leads if err is set.
type leads struct{ err error }

func (l *leads) Leads() error { return l.err }

// The Lease may be lost between reading the object and writing it.
func TestOnlyTheLeaderWrites(t *testing.T) {
	d, lost := newDesk(), errors.New("the Lease is lost")
	s, leader := d.store(t, "w"), &leads{}
	s.config.Leader = leader
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	leader.err = lost
	if err := s.Save(t.Context(), documentOf("a", "b")); !errors.Is(err, lost) {
		t.Errorf("saved: %v", err)
	}
	if got, err := d.store(t, "x").Load(t.Context()); err != nil || len(got.Moves) != 1 {
		t.Errorf("stored %+v, %v", got, err)
	}
}

// A process that leads again no longer holds the ledger, just like a process that has just started.
// A newer version may have led in the meantime, and its document must stay.
func TestALedgerOfTheTermBeforeIsNotRestored(t *testing.T) {
	for name, tc := range unreadable(t) {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			s := d.store(t, "w")
			if err := s.Save(t.Context(), documentOf("a")); err != nil {
				t.Fatal(err)
			}
			d.changes(t, func(c *v1.ConfigMap) { tc.change(c) })
			before := d.object(t)
			s.Release()
			if _, err := s.Load(t.Context()); !errors.Is(err, ErrUnreadable) {
				t.Errorf("loaded: %v", err)
			}
			if err := s.Save(t.Context(), documentOf("a")); !errors.Is(err, ErrUnreadable) {
				t.Errorf("saved: %v", err)
			}
			after := d.object(t)
			if !bytes.Equal(before.BinaryData[Key], after.BinaryData[Key]) || len(after.BinaryData) != len(before.BinaryData) {
				t.Error("it was written over")
			}
		})
	}
}

// A process that leads again but has not been able to read the ledger yet never overwrites another
// process's ledger, not even one that starts over at a lower generation.
func TestATermBeginsByReading(t *testing.T) {
	d := newDesk()
	first, second := d.store(t, "first"), d.store(t, "second")
	for range 3 {
		if err := first.Save(t.Context(), documentOf("a")); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.client.CoreV1().ConfigMaps("evenkeel").Delete(t.Context(), "ledger", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Save(t.Context(), documentOf("b")); err != nil {
		t.Fatal(err)
	}
	first.Release()
	if err := first.Save(t.Context(), documentOf("a")); !errors.Is(err, ErrTaken) {
		t.Errorf("saved without having read: %v", err)
	}
	if got, err := d.store(t, "x").Load(t.Context()); err != nil || !slices.Equal(pods(got), []string{"b"}) {
		t.Errorf("stored %q, %v", pods(got), err)
	}
	if _, err := first.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Save(t.Context(), documentOf("a", "b")); err != nil {
		t.Errorf("after reading what the other wrote: %v", err)
	}
}

// If a process takes over after the object was deleted and starts it anew, it restores the object
// later like any other.
func TestWhatBeginsAnewIsRestored(t *testing.T) {
	d := newDesk()
	first, second := d.store(t, "first"), d.store(t, "second")
	handler := second.handler(func(ledger.Document) {})
	for range 3 {
		if err := first.Save(t.Context(), documentOf("a")); err != nil {
			t.Fatal(err)
		}
		handler.OnUpdate(nil, d.object(t))
	}
	if err := d.client.CoreV1().ConfigMaps("evenkeel").Delete(t.Context(), "ledger", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Save(t.Context(), documentOf("a", "b")); err != nil {
		t.Fatal(err)
	}
	d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte("garbage") })
	if _, err := second.Load(t.Context()); err != nil {
		t.Errorf("the process that holds the ledger: %v", err)
	}
	if err := second.Save(t.Context(), documentOf("a", "b")); err != nil {
		t.Errorf("it does not write the ledger again: %v", err)
	}
}

// If an object states that a ledger was written but contains none, the ledger is damaged. This is
// not a first start.
func TestAMissingLedgerIsDamage(t *testing.T) {
	d := newDesk()
	holder := d.store(t, "holder")
	if err := holder.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	d.changes(t, func(c *v1.ConfigMap) { delete(c.BinaryData, Key) })
	other := d.store(t, "other")
	if _, err := other.Load(t.Context()); !errors.Is(err, ErrUnreadable) {
		t.Errorf("the process started with it: %v", err)
	}
	if err := other.Save(t.Context(), documentOf("b")); !errors.Is(err, ErrUnreadable) {
		t.Errorf("written: %v", err)
	}
	if err := holder.Save(t.Context(), documentOf("a")); err != nil {
		t.Errorf("the process that holds it: %v", err)
	}
	if got, err := other.Load(t.Context()); err != nil || !slices.Equal(pods(got), []string{"a"}) {
		t.Errorf("restored %q, %v", pods(got), err)
	}
	d.changes(t, func(c *v1.ConfigMap) { delete(c.BinaryData, Key) })
	next := d.store(t, "next")
	if _, err := next.Load(t.Context()); !errors.Is(err, ErrUnreadable) {
		t.Errorf("the process started with it: %v", err)
	}
	d.accept(t)
	if _, err := next.Load(t.Context()); err != nil {
		t.Errorf("the loss is accepted: %v", err)
	}
	if err := next.Save(t.Context(), documentOf("b")); err != nil {
		t.Error(err)
	}
	if kept := d.aside(t); len(kept) > 0 {
		t.Errorf("kept %q of what was missing", kept)
	}
}

// A process that no longer leads does not set anything aside either, because each copy uses up one
// of a few names.
func TestOnlyTheLeaderSetsAside(t *testing.T) {
	d, lost := newDesk(), errors.New("the Lease is lost")
	s, leader := d.store(t, "w"), &leads{}
	s.config.Leader = leader
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte("garbage") })
	leader.err = lost
	if err := s.Save(t.Context(), documentOf("a")); !errors.Is(err, lost) {
		t.Errorf("saved: %v", err)
	}
	if kept := d.aside(t); len(kept) > 0 {
		t.Errorf("set aside %q", kept)
	}
}
