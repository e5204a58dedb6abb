package extender

import (
	"bytes"
	"sync/atomic"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

// order is in which order requests name the nodes of an Index. kube-scheduler
// goes through its nodes in an order that hardly changes, and names those of a
// request in it, so that a name is most often the one that came after its
// predecessor before: to compare it costs a fraction of what finding its end,
// hashing it and looking it up cost.
type order struct {
	// quoted are the names as they stand in a request, one behind the other;
	// that of node i lies from ends[i] to ends[i+1]. It is empty for a name
	// that is escaped in JSON.
	quoted []byte
	ends   []uint32
	// after[i] is one more than the node that came after node i; 0 as long as
	// none has.
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

// next returns the node that came after the given one, and its length, if text
// begins with its name; else -1.
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

// learn notes that next came after node. Either may be unknown, a negative
// number.
func (o *order) learn(node, next cluster.NodeIndex) {
	if node >= 0 && next >= 0 {
		o.after[node].Store(int32(next + 1))
	}
}
