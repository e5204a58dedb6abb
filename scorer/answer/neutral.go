package answer

import (
	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Neutral answers kube-scheduler as if nothing were known: it keeps all nodes, prefers
// none and places no replacement.
type Neutral struct{}

var (
	_ extender.Answerer = Neutral{}
	_ extender.Round    = Neutral{}
)

// Begin implements extender.Answerer.
func (n Neutral) Begin() extender.Round { return n }

// Node returns -1, because no node is known.
func (Neutral) Node([]byte) cluster.NodeIndex { return -1 }

// Filter keeps all nodes.
func (Neutral) Filter(*extender.Pod, []cluster.NodeIndex, []extender.Reject) {}

// Prioritize prefers none.
func (Neutral) Prioritize(*extender.Pod, []cluster.NodeIndex, []int8) {}
