package app

import (
	"context"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/nodesync"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/annotations"
)

// wireNodeSync makes what publishes usage on nodes. Where the policy asks for
// nothing, it takes back what an earlier policy asked for.
func (a *App) wireNodeSync() (err error) {
	if a.options.DryRun {
		return nil
	}
	wanted := settings.NodeSync(&a.load.NodeSync)
	if a.parts.marking {
		wanted.Record = nodesync.ApartRecordKey
	}
	a.nodeSync, err = nodesync.New(nodesync.Config{
		Policy: wanted, Client: a.kube.Client, Nodes: a.nodesToSync, Now: a.kube.Clock.Now,
		Interval: a.load.Usage.SampleInterval.Duration, Registerer: a.registry,
	})
	if err != nil {
		return exit.Usagef("%s: %w", a.options.PolicyFile, err)
	}
	return nil
}

// publishesUsage reports whether the policy asks for anything to be written to
// nodes.
func (a *App) publishesUsage() bool {
	given := &a.load.NodeSync
	return given.Annotations.Enabled || given.Label.Enabled || given.Taint.Enabled
}

// nodesToSync joins what is on the nodes with what is known of them.
func (a *App) nodesToSync() []nodesync.Node {
	latest := a.observer.Latest()
	if latest == nil {
		return nil
	}
	objects, err := a.informers.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&a.load.NodeSync.NodeSelector)
	if err != nil {
		return nil // which no policy passes validation with
	}
	nodes := make([]nodesync.Node, 0, len(objects))
	for _, object := range objects {
		if i := latest.View.Snapshot.Index(object.Name); i >= 0 {
			node := a.nodeToSync(object, latest, i)
			node.Out = !selector.Matches(labels.Set(object.Labels))
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (a *App) nodeToSync(object *v1.Node, latest *observer.Observation, i int) nodesync.Node {
	read, state := &latest.View.Nodes[i], latest.States[object.Name].State
	node := nodesync.Node{
		Object: nodesync.ObjectOf(object), Known: state != thresholds.Unknown, Hot: state == thresholds.Hot,
		At: latest.At.Add(-read.Age), Percent: map[usage.Window]cluster.Percents{},
	}
	if !read.Known() {
		return node
	}
	capacity := latest.View.Snapshot.Nodes[i].Node.Capacity
	for w, window := range latest.View.Windows {
		if a.publishes(read, w, window) {
			node.Percent[window] = read.Measured[w].PercentOf(capacity)
		}
	}
	return node
}

// publishes reports whether a window is worth passing on: looked at for its
// whole length, by the source or here, and not read from annotations, which
// would look fresh for ever.
func (a *App) publishes(read *usage.NodeUsage, w int, window usage.Window) bool {
	if read.Vouched[w] == 0 {
		return window.Over <= usage.Avg5m.Over || a.kube.Clock.Local().Sub(a.begun) >= window.Over
	}
	readsAnnotations := false
	for i := range a.load.Usage.Sources {
		d := a.load.Usage.Sources[i].Config.Describe()
		if d.Name == read.Source && d.GivesWindows && !d.DatesValues {
			return true
		}
		readsAnnotations = readsAnnotations || d.Name == annotations.Name
	}
	return !readsAnnotations
}

// RemoveNodeSync is `evenkeel nodesync --remove`: it takes off the nodes what
// nodesync wrote.
func RemoveNodeSync(ctx context.Context, options Options, out io.Writer) error {
	connection, err := options.connect()
	if err != nil {
		return err
	}
	if err := connection.Reach(ctx); err != nil {
		return err
	}
	report, err := nodesync.Remove(ctx, connection.Client)
	_, _ = fmt.Fprintf(out, "Removed from %d nodes: %d annotations, %d labels, %d taints.\n",
		report.Nodes, report.Annotations, report.Labels, report.Taints)
	if len(report.Corrupt) > 0 {
		_, _ = fmt.Fprintf(out, "The record of what was written could not be read on: %s.\n", strings.Join(report.Corrupt, ", "))
	}
	return err
}
