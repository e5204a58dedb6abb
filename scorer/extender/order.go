package extender

import (
	"bytes"
	"sync/atomic"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

// order is the order in which requests list the nodes of an Index. kube-scheduler lists
// nodes in an order that hardly changes, so a name is usually followed by the same name
// as in the previous request. Comparing with that name costs a fraction of finding the
// end of a name, hashing the name and looking it up.
type order struct {
	// quoted holds the concatenated names, quoted as in a request. The name of node i is
	// from ends[i] to ends[i+1]. It is empty if JSON escapes the name.
	quoted []byte
	ends   []uint32
	// after[i] is one more than the node that last followed node i; 0 if none has.
	after []atomic.Int32
}

func newOrder(names []string) order {
	o := order{ends: make([]uint32, 1, len(names)+1), after: make([]atomic.Int32, len(names))}
	for _, name := range names {
		if jsonscan.PlainEnd([]byte(name), 0) == len(name) {
			o.quoted = append(append(append(o.quoted, '"'), name...), '"')
		}
		o.ends = append(o.ends, uint32(len(o.quoted)))
	}
	return o
}

// next returns the node that last followed the given one, and the length of its quoted
// name, if text begins with that name. Otherwise it returns -1.
func (o *order) next(node cluster.NodeIndex, text []byte) (next cluster.NodeIndex, length int) {
	if node < 0 {
		return -1, 0
	}
	next = cluster.NodeIndex(o.after[node].Load() - 1)
	if next < 0 {
		return -1, 0
	}
	name := o.quoted[o.ends[next]:o.ends[next+1]]
	if len(name) == 0 || !bytes.HasPrefix(text, name) {
		return -1, 0
	}
	return next, len(name)
}

// learn records that next came after node. Either may be unknown (negative).
func (o *order) learn(node, next cluster.NodeIndex) {
	if node >= 0 && next >= 0 {
		o.after[node].Store(int32(next + 1))
	}
}
