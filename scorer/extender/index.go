package extender

import (
	"hash/maphash"

	"github.com/evenkeel/evenkeel/cluster"
)

// Index finds nodes by name, for a Round to answer Node with. It is made when
// the set of nodes changes, and may be used by many goroutines.
//
// Looking up the names is the largest part of a request, and most of what a map
// needs for it goes into fetching the stored name to compare. An Index compares
// 64 bits of a seeded hash instead: known names never meet, and a name that is
// not known passes for a known one with a probability below 2^-45.
type Index struct {
	seed  maphash.Seed
	slots []slot // open addressing; a power of two, at most half taken
	order order
}

// slot holds a node's index and the hash of its name; 0 marks a free slot.
type slot struct {
	hash uint64
	node cluster.NodeIndex
}

// NewIndex returns an Index in which the node names[i] has the index i; of a
// name that occurs twice the first counts.
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

// fill enters all names. It reports whether each has a hash of its own.
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

// slot returns the slot with this hash, or the free one where it would be.
func (x *Index) slot(hash uint64) *slot {
	last := uint64(len(x.slots) - 1)
	for at := hash; ; at++ {
		if s := &x.slots[at&last]; s.hash == hash || s.hash == 0 {
			return s
		}
	}
}
