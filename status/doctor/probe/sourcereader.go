// Package probe gathers the input that package doctor judges. It reads every usage
// source, the API server's answers about permissions, and an extender's status. It
// decides nothing and changes nothing. The duration of each request and the size of its
// response are bounded, here or in the client.
package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// SourceReaderConfig is what a SourceReader depends on.
type SourceReaderConfig struct {
	Sources []observer.Source
	Usage   usage.Config
	Now     func() time.Time
}

// SourceReader reads all usage sources, including those that a process would skip because earlier ones were complete. It
// evaluates each source separately, and all of them together as a process would. It is not safe for concurrent use.
type SourceReader struct {
	config SourceReaderConfig
	alone  []*usage.Store // parallel to the Sources
	all    *usage.Store
}

// NewSourceReader returns a SourceReader that has asked nothing yet.
func NewSourceReader(config SourceReaderConfig) (*SourceReader, error) {
	if len(config.Sources) == 0 || config.Now == nil {
		return nil, errors.New("reader: Sources and Now must be set")
	}
	stores := make([]*usage.Store, len(config.Sources)+1)
	for i := range stores {
		store, err := usage.NewStore(config.Usage, config.Now())
		if err != nil {
			return nil, fmt.Errorf("making the usage store: %w", err)
		}
		stores[i] = store
	}
	return &SourceReader{config: config, all: stores[0], alone: stores[1:]}, nil
}

// Ask takes one reading of every source. A source whose counters must be read twice returns more on the second call.
func (p *SourceReader) Ask(ctx context.Context, snapshot *cluster.Snapshot) *doctor.Readings {
	r := &doctor.Readings{Snapshot: snapshot, Sources: make([]doctor.Reading, len(p.config.Sources))}
	var batches []usage.Batch
	for i, source := range p.config.Sources {
		reading := &r.Sources[i]
		began := p.config.Now()
		reading.Batch, reading.Err = source.Sample(ctx, snapshot)
		reading.Took = p.config.Now().Sub(began)
		_, reading.Remembers = source.(observer.Historian)
		if reading.Err != nil {
			reading.Batch = usage.Batch{}
			continue
		}
		batches = append(batches, reading.Batch)
	}
	r.At = p.config.Now()
	for i := range r.Sources {
		p.judge(r, i)
	}
	p.all.Ingest(snapshot, batches...)
	r.View = p.all.View(snapshot, r.At, nil)
	return r
}

// judge collects the samples of one source that the usage store rejects.
func (p *SourceReader) judge(r *doctor.Readings, i int) {
	reading := &r.Sources[i]
	if reading.Err != nil {
		return
	}
	problems := p.alone[i].Ingest(r.Snapshot, reading.Batch)
	reading.Problems = problems[reading.Batch.Source]
}
