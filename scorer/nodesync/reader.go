package nodesync

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/policy"
)

// Reader reads the content of nodes and what is known about them.
type Reader struct {
	Observer *observer.Observer
	Lister   corelisters.NodeLister
	Load     *policy.LoadPolicy
	Clock    *servertime.Clock
	// Begun is when the process began to observe, according to a local clock that
	// is never adjusted.
	Begun time.Time
}

// Nodes combines the content of the nodes with what is known about them.
func (r *Reader) Nodes() []Node {
	latest := r.Observer.Latest()
	if latest == nil {
		return nil
	}
	objects, err := r.Lister.List(labels.Everything())
	if err != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&r.Load.NodeSync.NodeSelector)
	if err != nil {
		return nil // validation rules this out
	}
	nodes := make([]Node, 0, len(objects))
	for _, object := range objects {
		if i := latest.View.Snapshot.Index(object.Name); i >= 0 {
			node := r.node(object, latest, i)
			node.Out = !selector.Matches(labels.Set(object.Labels))
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (r *Reader) node(object *v1.Node, latest *observer.Observation, i int) Node {
	read, state := &latest.View.Nodes[i], latest.States[object.Name].State
	node := Node{
		Object: ObjectOf(object), Known: state != thresholds.Unknown, Hot: state == thresholds.Hot,
		At: latest.At.Add(-read.Age), Percent: map[usage.Window]cluster.Percents{},
	}
	if !read.Known() {
		return node
	}
	node.AboveReject, node.BelowReject = latest.Lines.AboveReject(i), latest.Lines.BelowReject(i)
	capacity := latest.View.Snapshot.Nodes[i].Node.Capacity
	for w, window := range latest.View.Windows {
		if r.publishes(read, w, window) {
			node.Percent[window] = read.Whole(w).PercentOf(capacity)
		}
	}
	return node
}

// publishes reports whether a window should be published. The source or samples taken
// here must cover its whole length. It must not have been read from annotations, because
// rewriting them would make them look fresh indefinitely.
func (r *Reader) publishes(read *usage.NodeUsage, w int, window usage.Window) bool {
	if read.SourceSpan[w] == 0 {
		return window.Over <= usage.Avg5m.Over || r.Clock.Local().Sub(r.Begun) >= window.Over
	}
	readsAnnotations := false
	for i := range r.Load.Usage.Sources {
		d := r.Load.Usage.Sources[i].Config.Describe()
		if d.Name == read.Source && d.GivesWindows && !d.DatesValues {
			return true
		}
		readsAnnotations = readsAnnotations || d.Name == annotations.Name
	}
	return !readsAnnotations
}

// Labelled lists the nodes that have a label, regardless of who set it.
func Labelled(lister corelisters.NodeLister, label labels.Set) ([]string, error) {
	objects, err := lister.List(labels.SelectorFromSet(label))
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	nodes := make([]string, 0, len(objects))
	for _, object := range objects {
		nodes = append(nodes, object.Name)
	}
	slices.Sort(nodes)
	return nodes, nil
}
