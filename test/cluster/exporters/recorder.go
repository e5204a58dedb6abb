package exporters

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

const (
	// sampleEvery is shorter than node-metrics' 15 s, because tests are short.
	sampleEvery = time.Second
	// sampledBefore is how long a node's usage is assumed to have been constant at the
	// beginning.
	sampledBefore = 5 * time.Minute
	// samplesKept covers an hour and a half.
	samplesKept = 5400
)

// load is the usage of a node in percent of its capacity.
type load struct{ cpu, memory float64 }

// windows holds the values of a node that the legacy systems report.
type windows struct{ active, avg5m, max1h, max1d load }

// recorder samples every node until it is stopped.
type recorder struct {
	truths *truths
	stop   context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	loads map[string][]load
}

// startRecorder returns when there is a first sample of every existing node.
func startRecorder(ctx context.Context, t *truths) (*recorder, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &recorder{truths: t, stop: stop, done: make(chan struct{}), loads: map[string][]load{}}
	if err := r.sample(ctx); err != nil {
		stop()
		return nil, err
	}
	go r.run(ctx)
	return r, nil
}

func (r *recorder) run(ctx context.Context) {
	defer close(r.done)
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = r.sample(ctx) // in some cases the API server is down; the old samples are kept
		}
	}
}

// Stop stops sampling.
func (r *recorder) Stop() {
	r.stop()
	<-r.done
}

func (r *recorder) sample(ctx context.Context) error {
	nodes, err := r.truths.all(ctx)
	if err != nil {
		return fmt.Errorf("sampling the nodes: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	loads := map[string][]load{}
	for _, node := range nodes {
		now := loadOf(node)
		past, known := r.loads[node.Name]
		if !known {
			past = slices.Repeat([]load{now}, int(sampledBefore/sampleEvery))
		}
		past = append(past, now)
		loads[node.Name] = past[max(0, len(past)-samplesKept):]
	}
	r.loads = loads
	return nil
}

func loadOf(node cluster.NodeTruth) load {
	return load{
		cpu:    100 * float64(node.Used.CPUMilli) / float64(max(1, node.Capacity.CPUMilli)),
		memory: 100 * float64(node.Used.MemoryBytes) / float64(max(1, node.Capacity.MemoryBytes)),
	}
}

// of summarizes a node as node-metrics does. The maxima are maxima of single samples.
func (r *recorder) of(node string) (windows, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	loads := r.loads[node]
	if len(loads) == 0 {
		return windows{}, false
	}
	last := func(reach time.Duration) []load { return loads[max(0, len(loads)-int(reach/sampleEvery)):] }
	return windows{
		active: loads[len(loads)-1],
		avg5m:  mean(last(5 * time.Minute)),
		max1h:  highest(last(time.Hour)),
		max1d:  highest(loads),
	}, true
}

func mean(loads []load) load {
	var sum load
	for _, l := range loads {
		sum.cpu += l.cpu
		sum.memory += l.memory
	}
	n := float64(len(loads))
	return load{cpu: sum.cpu / n, memory: sum.memory / n}
}

func highest(loads []load) load {
	var top load
	for _, l := range loads {
		top.cpu, top.memory = max(top.cpu, l.cpu), max(top.memory, l.memory)
	}
	return top
}

// values returns the windows by metric name; active is included only on request.
func (w windows) values(active bool) map[string]float64 {
	values := map[string]float64{}
	add := func(window string, l load) {
		values["cpu_usage_"+window], values["mem_usage_"+window] = l.cpu, l.memory
	}
	add("avg_5m", w.avg5m)
	add("max_avg_1h", w.max1h)
	add("max_avg_1d", w.max1d)
	if active {
		add("active", w.active)
	}
	return values
}
