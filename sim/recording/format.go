package recording

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/internal/quantity"
)

// Header is the first line.
type Header struct {
	Version int `json:"version"`
	// Start is when reading 0 was taken.
	Start           time.Time `json:"start"`
	IntervalSeconds int       `json:"intervalSeconds"`
	// Hashed means that names are hidden.
	Hashed bool `json:"hashed,omitempty"`
}

// Interval returns the time between two readings.
func (h *Header) Interval() time.Duration { return time.Duration(h.IntervalSeconds) * time.Second }

// Node contains the stored parts of a Node.
type Node struct {
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Taints        []v1.Taint        `json:"taints,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Ready         bool              `json:"ready"`
	Allocatable   v1.ResourceList   `json:"allocatable"`
	Capacity      v1.ResourceList   `json:"capacity,omitempty"`
}

// Stays is the reason why a pod must not be evicted; empty if it may be evicted.
type Stays string

// The reasons why a pod must not be evicted: those of the shipped policy's
// DefaultEvictor, and the pod's own annotation or kind.
const (
	DaemonSet    Stays = "DaemonSet"
	Mirror       Stays = "Mirror" // a static pod, which is run by its kubelet
	NoOwner      Stays = "NoOwner"
	Critical     Stays = "Critical"
	LocalStorage Stays = "LocalStorage"
	Protected    Stays = "Protected"
)

// Pinned reports whether the pod belongs to its node, so that its successor cannot be
// placed on another node.
func (s Stays) Pinned() bool { return s == DaemonSet || s == Mirror }

// Template contains the stored parts that similar pods of one owner share.
type Template struct {
	Namespace string `json:"namespace"`
	// OwnerKind and OwnerName are the kind and name of the controller; empty if there is
	// none.
	OwnerKind string `json:"ownerKind,omitempty"`
	OwnerName string `json:"ownerName,omitempty"`
	// OwnerAPIVersion is the owner's apiVersion; empty if it is the one that Kubernetes uses
	// for the kind.
	OwnerAPIVersion string                        `json:"ownerAPIVersion,omitempty"`
	Stays           Stays                         `json:"stays,omitempty"`
	Labels          map[string]string             `json:"labels,omitempty"`
	Requests        v1.ResourceList               `json:"requests,omitempty"`
	Limits          v1.ResourceList               `json:"limits,omitempty"`
	Ports           []v1.ContainerPort            `json:"ports,omitempty"`
	Priority        int32                         `json:"priority,omitempty"`
	SchedulerName   string                        `json:"schedulerName,omitempty"`
	NodeSelector    map[string]string             `json:"nodeSelector,omitempty"`
	Affinity        *v1.Affinity                  `json:"affinity,omitempty"`
	Tolerations     []v1.Toleration               `json:"tolerations,omitempty"`
	Spread          []v1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
}

// line is any line of the file. Exactly one of its fields is set.
type line struct {
	Header   *Header       `json:"header,omitempty"`
	Node     *nodeLine     `json:"node,omitempty"`
	Template *templateLine `json:"template,omitempty"`
	Pod      *podLine      `json:"pod,omitempty"`
	Reading  *readingLine  `json:"reading,omitempty"`
}

// nodeLine is a Node whose amounts are decoded within bounds, as lists that replace the
// Node's.
type nodeLine struct {
	ID int `json:"id"`
	Node
	Allocatable quantity.List `json:"allocatable"`
	Capacity    quantity.List `json:"capacity,omitempty"`
}

func newNodeLine(id int, n *Node) *nodeLine {
	return &nodeLine{ID: id, Node: *n, Allocatable: quantity.List(n.Allocatable), Capacity: quantity.List(n.Capacity)}
}

// decoded returns the Node.
func (l *nodeLine) decoded() *Node {
	n := l.Node
	n.Allocatable, n.Capacity = v1.ResourceList(l.Allocatable), v1.ResourceList(l.Capacity)
	return &n
}

// templateLine is a Template whose amounts are decoded like those in nodeLine.
type templateLine struct {
	ID int `json:"id"`
	Template
	Requests quantity.List `json:"requests,omitempty"`
	Limits   quantity.List `json:"limits,omitempty"`
}

func newTemplateLine(id int, t *Template) *templateLine {
	return &templateLine{ID: id, Template: *t, Requests: quantity.List(t.Requests), Limits: quantity.List(t.Limits)}
}

// decoded returns the Template.
func (l *templateLine) decoded() *Template {
	t := l.Template
	t.Requests, t.Limits = v1.ResourceList(l.Requests), v1.ResourceList(l.Limits)
	return &t
}

type podLine struct {
	ID       int    `json:"id"`
	Template int    `json:"template"`
	Name     string `json:"name"`
}

// readingLine is a reading. Came consists of pairs, Nodes and Pods of triples.
type readingLine struct {
	Number int     `json:"number"`
	Came   []int   `json:"came,omitempty"`
	Gone   []int   `json:"gone,omitempty"`
	Nodes  []int64 `json:"nodes,omitempty"`
	Pods   []int64 `json:"pods,omitempty"`
}

const (
	pair, triple = 2, 3
	kib          = 1024
)
