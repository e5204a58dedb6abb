package exporters

import (
	"sync"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// faults holds the fault of each node.
type faults struct {
	mu      sync.Mutex
	all     fault.Fault
	ofNodes map[string]fault.Fault
}

// SetFault sets the fault of the given nodes, or of all nodes if none is given, for all
// following requests. The zero Fault for all nodes removes all faults.
func (f *faults) SetFault(what fault.Fault, nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(nodes) == 0 {
		f.all, f.ofNodes = what, nil
		return
	}
	if f.ofNodes == nil {
		f.ofNodes = map[string]fault.Fault{}
	}
	for _, node := range nodes {
		f.ofNodes[node] = what
	}
}

func (f *faults) of(node string) fault.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if what, own := f.ofNodes[node]; own {
		return what
	}
	return f.all
}

// passOver reports whether a fault omits a node because of its index in the order of
// names.
func passOver(what fault.Fault, place int) bool {
	switch what.Kind {
	case fault.Missing:
		return true
	case fault.HalfMissing:
		return place%2 == 0
	case fault.OneMissing:
		return place == 0
	default:
		return false
	}
}
