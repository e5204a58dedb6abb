package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// source reports measurements of the world up to the end of the last step, as Prometheus
// would: nodes with every required window, pods with their five-minute mean.
type source struct {
	world   *world
	windows []usage.Window
	now     func() time.Time

	values []float64
	// order sorts the replicas by their first nodes. When pods are read node by node, the
	// next pod is then nearby in memory.
	order []int
}

// Name implements observer.Source.
func (s *source) Name() string { return "Trace" }

// Sample implements observer.Source.
func (s *source) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	past := s.world.usage.past
	batch := usage.Batch{Source: s.Name(), Received: s.now()}
	if len(past) == 0 {
		return batch, nil
	}
	at := s.world.start.Add(time.Duration(len(past)) * Step)
	for i, node := range s.world.nodes {
		if s.world.blind.loses(ofNodes, i, len(past)) {
			continue
		}
		readings := make([]usage.Reading, 0, len(s.windows)*int(cluster.NumResources))
		for _, window := range s.windows {
			for k, metric := range [...]usage.Metric{usage.CPU, usage.Memory} {
				readings = append(readings, usage.Reading{Metric: metric, Window: window, At: at, Value: s.window(past, i, k, window)})
			}
		}
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: node.Name, Readings: readings})
	}
	if every := int(s.world.blind.Every / Step); every < 2 || len(past)%every == 0 {
		batch.Pods = s.pods(at)
	}
	return batch, nil
}

// blindness determines what a source misses. It depends only on the seed, so it is the
// same in every variant.
type blindness struct {
	Blind
	seed uint64
}

// draw identifies the purpose of a random number.
type draw uint64

const (
	ofNodes draw = iota
	ofPods
	ofHidden
)

// hides reports whether a replica's pods are never reported.
func (b *blindness) hides(replica int) bool {
	return b.below(b.HiddenPodsPercent, ofHidden, replica, 0)
}

// loses reports whether a sample is lost in a step.
func (b *blindness) loses(what draw, i, step int) bool {
	return b.below(b.LostSamplesPercent, what, i, step)
}

func (b *blindness) below(percent float64, what draw, i, step int) bool {
	if percent <= 0 {
		return false
	}
	rng := rand.New(rand.NewPCG(b.seed, uint64(what)<<60|uint64(i)<<30|uint64(step)))
	return 100*rng.Float64() < percent
}

// window aggregates a node's measurements over a window.
func (s *source) window(past [][]cluster.Amounts, node, resource int, window usage.Window) float64 {
	rows := past[max(0, len(past)-max(1, int(window.Over/Step))):]
	s.values = s.values[:0]
	for _, row := range rows {
		s.values = append(s.values, float64(row[node][resource]))
	}
	switch window.Kind {
	case usage.KindMaxAvg:
		return slices.Max(s.values)
	case usage.KindQuantile:
		slices.Sort(s.values)
		return s.values[(len(s.values)-1)*int(window.Percentile)/100]
	case usage.KindLast, usage.KindAvg:
	}
	sum := 0.0
	for _, v := range s.values {
		sum += v
	}
	return sum / float64(len(s.values))
}

// pods reports the pods that ran in the last step. Pods that are younger than the window
// are reported with the mean over their lifetime.
func (s *source) pods(at time.Time) []usage.PodSample {
	pods := make([]usage.PodSample, 0, len(s.world.replicas))
	if s.order == nil {
		s.order = byPlace(s.world.places())
	}
	for _, i := range s.order {
		r := &s.world.replicas[i]
		life := at.Sub(r.born)
		if r.node < 0 || life <= r.away || s.world.blind.hides(i) || s.world.blind.loses(ofPods, i, len(s.world.usage.past)) {
			continue
		}
		used := r.measured
		if life < Step {
			for k := range used {
				used[k] = int64(float64(used[k]) * float64(life-r.away) / float64(life))
			}
		}
		sample := usage.Sample{At: at, Used: used}
		pods = append(pods, usage.PodSample{Namespace: r.pod.Namespace, Name: r.pod.Name, Last: sample, Avg5m: sample})
	}
	return pods
}
