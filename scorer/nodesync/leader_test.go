package nodesync

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// leads is a Leader, which no longer leads if err is set.
type leads struct{ err error }

func (l *leads) Leads() error { return l.err }

// The Lease may be lost in the middle of a pass. From then on, no node is patched.
func TestOnlyTheLeaderPatches(t *testing.T) {
	var nodes []*v1.Node
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		nodes = append(nodes, v1Node(name))
	}
	a, leader, lost := newAPI(t, nodes...), &leads{}, errors.New("the Lease is lost")
	s := newSyncer(t, a, everything(), a.state(t, func(o Object) Node { return hot(measured(o, noon, usage.Avg5m)) }))
	s.writer.leader = leader
	leader.err = lost
	if err := s.pass(t.Context()); !errors.Is(err, lost) || len(a.patches) > 0 {
		t.Errorf("%d nodes patched: %v", len(a.patches), err)
	}
	leader.err = nil
	if err := s.pass(t.Context()); err != nil || len(a.patches) != len(nodes) {
		t.Errorf("%d nodes patched: %v", len(a.patches), err)
	}
}
