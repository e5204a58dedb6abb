package metricsserver

import (
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
	"github.com/evenkeel/evenkeel/internal/quantity"
)

// item is one NodeMetrics or PodMetrics. It is valid until the next one is read.
type item struct {
	namespace, name string
	at              time.Time
	usage           quantities
	containers      []quantities
}

// quantities is the usage of one container or node. A missing quantity is empty.
type quantities struct{ cpu, memory string }

// mostOfOne caps the value read for one container, far above any node, so that
// sums cannot overflow.
const mostOfOne = 1 << 50

// amounts returns the usage if both resources are known; unknown is never zero.
func (q *quantities) amounts() (used cluster.Amounts, ok bool) {
	cpu, err := quantity.Parse(q.cpu)
	if err != nil {
		return used, false
	}
	memory, err := quantity.Parse(q.memory)
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

// sum adds up a pod's containers. The usage of a pod without containers is unknown rather
// than zero.
func (i *item) sum() (sum cluster.Amounts, ok bool) {
	for k := range i.containers {
		used, ok := i.containers[k].amounts()
		if !ok {
			return cluster.Amounts{}, false
		}
		sum = sum.Plus(used)
	}
	return sum, len(i.containers) > 0
}

// windowBytes is how much of a list is held at a time.
const windowBytes = 64 << 10

// decoder reads the items of a list one by one, so that a large cluster's list
// is never held as a whole.
type decoder struct {
	*jsonscan.Scanner
	one item
}

// decodeItems calls visit for each item of a list.
func decodeItems(body io.Reader, visit func(*item)) error {
	d := decoder{Scanner: jsonscan.NewReader(windowBytes, jsonscan.OfAnswers)}
	d.Reset(body)
	found := false
	for key := range d.Object {
		if string(key) != "items" {
			continue
		}
		found = true
		for range d.Array {
			if d.item(); d.Err() == nil {
				visit(&d.one)
			}
		}
	}
	if err := d.End(); err != nil {
		return fmt.Errorf("decoding the list: %w", err)
	}
	if !found {
		return errors.New("decoding the list: no items")
	}
	return nil
}

func (d *decoder) item() {
	d.one = item{containers: d.one.containers[:0]}
	for key := range d.Object {
		switch string(key) {
		case "metadata":
			d.metadata()
		case "timestamp":
			d.one.at = d.Time()
		case "usage":
			d.one.usage = d.quantities()
		case "containers":
			d.one.containers = d.one.containers[:0] // of two such keys, the last counts
			for range d.Array {
				d.one.containers = append(d.one.containers, d.container())
			}
		}
	}
}

func (d *decoder) metadata() {
	for key := range d.Object {
		switch string(key) {
		case "namespace":
			d.one.namespace = d.Text()
		case "name":
			d.one.name = d.Text()
		}
	}
}

func (d *decoder) container() (used quantities) {
	for key := range d.Object {
		if string(key) == "usage" {
			used = d.quantities()
		}
	}
	return used
}

func (d *decoder) quantities() (q quantities) {
	for key := range d.Object {
		switch string(key) {
		case "cpu":
			q.cpu = d.Text()
		case "memory":
			q.memory = d.Text()
		}
	}
	return q
}
