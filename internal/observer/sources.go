package observer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Source delivers readings of real usage.
type Source interface {
	// Name is the source's name in policies, output and metrics.
	Name() string
	// Sample returns one reading. The snapshot tells which nodes there are and
	// how to reach and recognise them.
	Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error)
}

// Historian is a Source that knows the past.
type Historian interface {
	Source
	// History returns past readings of nodes, oldest first, one per step.
	History(ctx context.Context, snapshot *cluster.Snapshot, since time.Time, step time.Duration) ([]usage.Batch, error)
}

// SourceStatus is what the last reading of a source brought.
type SourceStatus struct {
	Name string
	// Asked is false where the sources before had everything.
	Asked bool
	// Err is why there is no reading.
	Err error
	// Nodes and Pods count what it reported.
	Nodes, Pods int
	// Problems are the samples that were not taken.
	Problems usage.Problems
	Took     time.Duration
}

// reading is what the sources had at one moment.
type reading struct {
	now     func() time.Time
	history []usage.Batch
	batches []usage.Batch
	sources []SourceStatus
}

// ask takes a reading of one source.
func (r *reading) ask(ctx context.Context, i int, source Source, snapshot *cluster.Snapshot) {
	status, began := &r.sources[i], r.now()
	batch, err := source.Sample(ctx, snapshot)
	status.Asked, status.Err, status.Took = true, err, r.now().Sub(began)
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Reading usage failed, what is known ages", "source", status.Name)
		}
		return
	}
	status.Nodes, status.Pods = len(batch.Nodes), len(batch.Pods)
	r.batches = append(r.batches, batch)
}

// tell enters what the store made of the readings.
func (r *reading) tell(problems map[string]usage.Problems) {
	for i := range r.sources {
		r.sources[i].Problems = problems[r.sources[i].Name]
	}
}

// letGo lets the garbage collector have what was taken in: what is made of it
// next takes as much.
func (r *reading) letGo() {
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

// wanted is what sources still have to report.
type wanted struct {
	// nodes are ready nodes with the place of the source that they were last
	// taken from. What sources before it say of them was not believed then, so
	// it does not settle the matter.
	nodes map[string]int
	pods  int
}

// place notes which source each node was last taken from.
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

// take strikes out what the source at a place reported.
func (w *wanted) take(place int, batch *usage.Batch) {
	for i := range batch.Nodes {
		if last, ok := w.nodes[batch.Nodes[i].Name]; ok && last <= place {
			delete(w.nodes, batch.Nodes[i].Name)
		}
	}
	w.pods -= len(batch.Pods)
}

func (w *wanted) met() bool { return len(w.nodes) == 0 && w.pods <= 0 }
