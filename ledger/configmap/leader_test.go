package configmap

import (
	"bytes"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// leads is a Leader; with an error it leads no more.
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

// A process that leads again holds the ledger no more than one that begins: a
// newer version may have led in the meantime, and what that wrote stays.
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
