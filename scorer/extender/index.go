package extender

import (
	"hash/maphash"

	"github.com/evenkeel/evenkeel/cluster"
)

// Index finds nodes by name. It is rebuilt when the set of nodes changes, and
// is safe for concurrent use.
//
// Looking up names is the largest part of a request, and a map spends most of
// that time fetching the stored name to compare. An Index compares 64 bits of a
// seeded hash instead: known names never collide, and an unknown name is
// mistaken for a known one with a probability below 2^-45.
type Index struct {
	seed  maphash.Seed
	slots []slot // open addressing; the size is a power of two, at most half occupied
	order order
}

// slot holds a node's index and the hash of its name; 0 marks a free slot.
type slot struct {
	hash uint64
	node cluster.NodeIndex
}

// NewIndex returns an Index in which the node names[i] has the index i. If a
// name occurs twice, the first one counts.
func NewIndex(names []string) *Index {
	size := 2
	for size < 2*len(names)+1 {
		size *= 2
	}
	for {
		x := &Index{seed: maphash.MakeSeed(), slots: make([]slot, size), order: newOrder(names)}
		if x.fill(names) {
			return x
		}
	}
}

// fill adds all names. It reports whether their hashes are distinct.
func (x *Index) fill(names []string) bool {
	for i, name := range names {
		hash := maphash.String(x.seed, name)
		s := x.slot(hash)
		switch {
		case hash == 0 || s.hash == hash && names[s.node] != name:
			return false
		case s.hash == 0:
			*s = slot{hash: hash, node: cluster.NodeIndex(i)}
		}
	}
	return true
}

// Find returns the index of the named node, or -1. It does not keep name.
func (x *Index) Find(name []byte) cluster.NodeIndex {
	hash := maphash.Bytes(x.seed, name)
	if s := x.slot(hash); s.hash == hash && hash != 0 {
		return s.node
	}
	return -1
}

// slot returns the slot with this hash, or the free slot where it belongs.
func (x *Index) slot(hash uint64) *slot {
	last := uint64(len(x.slots) - 1)
	for at := hash; ; at++ {
		if s := &x.slots[at&last]; s.hash == hash || s.hash == 0 {
			return s
		}
	}
}
