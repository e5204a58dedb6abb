package recording

import (
	"errors"
	"fmt"
)

// Limits of a recording.
const (
	maxNodes    = 50_000
	maxPods     = 2_000_000
	maxReadings = 200_000
	// maxValues is the maximum number of values kept, including gaps: 800 MB.
	maxValues = 100_000_000
)

// taker assembles a recording from its lines.
type taker struct {
	out    *Recording
	values int
	// named holds the names of nodes. arrived is the number of pods that a reading has
	// placed.
	named   map[string]bool
	arrived int
}

// follows returns an error if an item's number is too high or does not equal the number
// of items before it.
func follows(what string, id, others, limit int) error {
	switch {
	case id != others:
		return fmt.Errorf("%s %d follows on %d others", what, id, others)
	case id >= limit:
		return fmt.Errorf("more than %d %ss", limit, what)
	}
	return nil
}

func (d *taker) node(l *nodeLine) error {
	if err := follows("node", l.ID, len(d.out.Nodes), maxNodes); err != nil {
		return err
	}
	n := l.decoded()
	if n.Name == "" {
		return fmt.Errorf("node %d has no name", l.ID)
	}
	if err := n.validate(); err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	if d.named[n.Name] {
		return fmt.Errorf("node %q is listed twice", n.Name)
	}
	d.named[n.Name] = true
	d.out.Nodes = append(d.out.Nodes, NodeSeries{Node: *n})
	return nil
}

func (d *taker) template(l *templateLine) error {
	if err := follows("template", l.ID, len(d.out.Templates), maxPods); err != nil {
		return err
	}
	t := l.decoded()
	if err := t.validate(); err != nil {
		return fmt.Errorf("template %d: %w", l.ID, err)
	}
	d.out.Templates = append(d.out.Templates, *t)
	return nil
}

func (d *taker) pod(p *podLine) error {
	if err := follows("pod", p.ID, len(d.out.Pods), maxPods); err != nil {
		return err
	}
	if p.Template < 0 || p.Template >= len(d.out.Templates) {
		return fmt.Errorf("pod %d: template %d is unknown", p.ID, p.Template)
	}
	d.out.Pods = append(d.out.Pods, PodSeries{Name: p.Name, Template: p.Template})
	return nil
}

func (d *taker) reading(r *readingLine) error {
	out := d.out
	if out.Readings == 0 && r.Number != 0 || r.Number < out.Readings || r.Number >= maxReadings {
		return fmt.Errorf("reading %d follows on %d", r.Number, out.Readings-1)
	}
	if out.Readings == 0 {
		out.AtFirst = len(out.Nodes)
	}
	for what, check := range []func() error{
		func() error { return d.came(r) },
		func() error { return d.gone(r) },
		func() error { return d.used(r.Number, r.Nodes, d.nodeSeries) },
		func() error { return d.used(r.Number, r.Pods, d.podSeries) },
	} {
		if err := check(); err != nil {
			return fmt.Errorf("reading %d: %s: %w", r.Number, [...]string{"came", "gone", "nodes", "pods"}[what], err)
		}
	}
	out.Readings = r.Number + 1
	return nil
}

func (d *taker) came(r *readingLine) error {
	if len(r.Came)%pair != 0 {
		return errors.New("must be pairs of a pod and a node")
	}
	for k := 0; k < len(r.Came); k += pair {
		id, node := r.Came[k], r.Came[k+1]
		switch {
		case id < 0 || id >= len(d.out.Pods):
			return fmt.Errorf("pod %d is unknown", id)
		case d.out.Pods[id].came:
			return fmt.Errorf("pod %d came before", id)
		case node < 0 || node >= len(d.out.Nodes):
			return fmt.Errorf("pod %d: node %d is unknown", id, node)
		}
		p := &d.out.Pods[id]
		p.came, p.Node, p.From, p.Used.From = true, node, r.Number, r.Number
		d.arrived++
	}
	if d.arrived < len(d.out.Pods) {
		return fmt.Errorf("%d pods were announced but did not come", len(d.out.Pods)-d.arrived)
	}
	return nil
}

func (d *taker) gone(r *readingLine) error {
	for _, id := range r.Gone {
		switch {
		case id < 0 || id >= len(d.out.Pods) || !d.out.Pods[id].came:
			return fmt.Errorf("pod %d is unknown", id)
		case d.out.Pods[id].Until > 0:
			return fmt.Errorf("pod %d is gone already", id)
		case d.out.Pods[id].From == r.Number:
			return fmt.Errorf("pod %d comes in the same reading", id)
		}
		d.out.Pods[id].Until = r.Number
	}
	return nil
}

func (d *taker) nodeSeries(id int64) (*Series, bool) {
	if id < 0 || id >= int64(len(d.out.Nodes)) {
		return nil, false
	}
	return &d.out.Nodes[id].Used, true
}

func (d *taker) podSeries(id int64) (*Series, bool) {
	if id < 0 || id >= int64(len(d.out.Pods)) || !d.out.Pods[id].came || d.out.Pods[id].Until > 0 {
		return nil, false
	}
	return &d.out.Pods[id].Used, true
}

// Upper limits for usage: a million cores and a pebibyte.
const (
	maxMilli = 1_000_000_000
	maxKiB   = 1 << 40
)

func (d *taker) used(number int, triples []int64, seriesOf func(int64) (*Series, bool)) error {
	if len(triples)%triple != 0 {
		return errors.New("must be triples of a number, CPU and memory")
	}
	for k := 0; k < len(triples); k += triple {
		id, milli, memory := triples[k], triples[k+1], triples[k+2]
		series, ok := seriesOf(id)
		switch {
		case !ok:
			return fmt.Errorf("%d is unknown", id)
		case len(series.CPU) > number-series.From:
			return fmt.Errorf("%d is listed twice", id)
		case milli < 0 || milli > maxMilli || memory < 0 || memory > maxKiB:
			return fmt.Errorf("%d uses %d milli-cores and %d KiB: must be 0 to %d and 0 to %d", id, milli, memory, maxMilli, int64(maxKiB))
		}
		if d.values += number - series.From + 1 - len(series.CPU); d.values > maxValues {
			return fmt.Errorf("more than %d values", maxValues)
		}
		for len(series.CPU) < number-series.From {
			series.CPU, series.Memory = append(series.CPU, nan), append(series.Memory, nan)
		}
		series.CPU, series.Memory = append(series.CPU, float32(milli)), append(series.Memory, float32(memory*kib))
	}
	return nil
}
