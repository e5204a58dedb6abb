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

// Node is the stored part of a Node.
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

// The reasons why a pod stays: those of the shipped policy's DefaultEvictor, and the
// pod's own annotation or kind.
const (
	DaemonSet    Stays = "DaemonSet"
	Mirror       Stays = "Mirror" // a static pod, which its kubelet runs
	NoOwner      Stays = "NoOwner"
	Critical     Stays = "Critical"
	LocalStorage Stays = "LocalStorage"
	Protected    Stays = "Protected"
)

// Pinned reports whether such a pod belongs to its node, so that its successor
// cannot be placed elsewhere.
func (s Stays) Pinned() bool { return s == DaemonSet || s == Mirror }

// Template is the stored part of similar pods of one owner.
type Template struct {
	Namespace string `json:"namespace"`
	// OwnerKind and OwnerName are the kind and name of the controller; empty if there is
	// none.
	OwnerKind string `json:"ownerKind,omitempty"`
	OwnerName string `json:"ownerName,omitempty"`
	// OwnerAPIVersion is empty if it is the Kubernetes version for this kind.
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

// line is any line; exactly one of its fields is set.
type line struct {
	Header   *Header       `json:"header,omitempty"`
	Node     *nodeLine     `json:"node,omitempty"`
	Template *templateLine `json:"template,omitempty"`
	Pod      *podLine      `json:"pod,omitempty"`
	Reading  *readingLine  `json:"reading,omitempty"`
}

// nodeLine has the amounts of its Node in lists that are decoded within bounds,
// and that replace the Node's.
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

// templateLine has the amounts of its Template like nodeLine those of a Node.
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

// readingLine holds pairs in Came, and triples in Nodes and Pods.
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
