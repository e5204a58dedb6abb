package observer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Source delivers readings of real usage.
type Source interface {
	// Name returns the source's name in policies, output and metrics.
	Name() string
	// Sample returns one reading. The snapshot contains the nodes, including how
	// to reach and identify them.
	Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error)
}

// Historian is a Source with history.
type Historian interface {
	Source
	// History returns past readings of nodes, oldest first, one per step.
	History(ctx context.Context, snapshot *cluster.Snapshot, since time.Time, step time.Duration) ([]usage.Batch, error)
}

// SourceStatus is the result of the last reading of a source.
type SourceStatus struct {
	Name string
	// Asked is false if the sources before this one had reported everything.
	Asked bool
	// Err is why the reading failed.
	Err error
	// Nodes and Pods count the nodes and pods that the source reported.
	Nodes, Pods int
	// Problems lists the rejected samples.
	Problems usage.Problems
	Took     time.Duration
}

// reading is what the sources reported at one moment.
type reading struct {
	now     func() time.Time
	history []usage.Batch
	batches []usage.Batch
	sources []SourceStatus
}

// ask takes a reading from one source.
func (r *reading) ask(ctx context.Context, i int, source Source, snapshot *cluster.Snapshot) {
	status, began := &r.sources[i], r.now()
	batch, err := source.Sample(ctx, snapshot)
	status.Asked, status.Err, status.Took = true, err, r.now().Sub(began)
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Reading usage failed, so the known usage ages", "source", status.Name)
		}
		return
	}
	status.Nodes, status.Pods = len(batch.Nodes), len(batch.Pods)
	r.batches = append(r.batches, batch)
}

// setProblems records the samples that the store rejected.
func (r *reading) setProblems(problems map[string]usage.Problems) {
	for i := range r.sources {
		r.sources[i].Problems = problems[r.sources[i].Name]
	}
}

// release lets the garbage collector free the ingested batches, because the Observation
// that is made next takes as much memory.
func (r *reading) release() {
	clear(r.batches)
	r.history = nil
}

func (r *reading) nodes() int {
	n := 0
	for i := range r.sources {
		n += r.sources[i].Nodes
	}
	return n
}

// wanted holds the nodes and pods that the sources still have to report.
type wanted struct {
	// nodes maps each node that has to be measured to the index of the source from which
	// its usage was last taken. The samples of the sources before it were rejected at
	// that time, so reports by those sources do not count.
	nodes map[string]int
	pods  int
}

// place records which source each node was last taken from.
func (w *wanted) place(view *usage.View, sources []Source) {
	places := make(map[string]int, len(sources))
	for i, source := range sources {
		places[source.Name()] = i
	}
	for i := range view.Nodes {
		name := view.Snapshot.Nodes[i].Node.Name
		if _, ok := w.nodes[name]; ok {
			w.nodes[name] = places[view.Nodes[i].Source]
		}
	}
}

// take removes the nodes and pods that the source at position place has reported.
func (w *wanted) take(place int, batch *usage.Batch) {
	for i := range batch.Nodes {
		if last, ok := w.nodes[batch.Nodes[i].Name]; ok && last <= place {
			delete(w.nodes, batch.Nodes[i].Name)
		}
	}
	w.pods -= len(batch.Pods)
}

func (w *wanted) met() bool { return len(w.nodes) == 0 && w.pods <= 0 }
