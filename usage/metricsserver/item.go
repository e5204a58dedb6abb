package metricsserver

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// item is what is read of a NodeMetrics or PodMetrics.
type item struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Timestamp  time.Time  `json:"timestamp"`
	Usage      quantities `json:"usage"`
	Containers []struct {
		Usage quantities `json:"usage"`
	} `json:"containers"`
}

// clear empties an item and leaves it the room for containers.
func (i *item) clear() {
	containers := i.Containers[:cap(i.Containers)]
	clear(containers) // what is decoded into an element keeps the fields that the text does not have
	*i = item{Containers: containers[:0]}
}

// quantities are what one container or node uses; empty where the source does
// not say.
type quantities struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

// mostOfOne bounds what is read of one container, far above any node, so that
// sums stay sums.
const mostOfOne = 1 << 50

// amounts returns what is used. Not to know one of the resources is to know
// nothing: unknown is never zero.
func (q *quantities) amounts() (used cluster.Amounts, ok bool) {
	cpu, err := resource.ParseQuantity(q.CPU)
	if err != nil {
		return used, false
	}
	memory, err := resource.ParseQuantity(q.Memory)
	if err != nil {
		return used, false
	}
	used[cluster.CPU] = bounded(&cpu, (*resource.Quantity).MilliValue)
	used[cluster.Memory] = bounded(&memory, (*resource.Quantity).Value)
	return used, true
}

func bounded(q *resource.Quantity, value func(*resource.Quantity) int64) int64 {
	if q.CmpInt64(mostOfOne) >= 0 {
		return mostOfOne
	}
	return min(value(q), mostOfOne)
}

// containers sums up a pod's containers. A pod without any is not known to use
// nothing.
func (i *item) containers() (sum cluster.Amounts, ok bool) {
	for k := range i.Containers {
		used, ok := i.Containers[k].Usage.amounts()
		if !ok {
			return cluster.Amounts{}, false
		}
		sum = sum.Plus(used)
	}
	return sum, len(i.Containers) > 0
}

func (i *item) sample(used cluster.Amounts) usage.Sample {
	return usage.Sample{At: i.Timestamp, Used: used}
}

func (i *item) readings(used cluster.Amounts) []usage.Reading {
	return usage.LastReadings(i.Timestamp, used)
}
