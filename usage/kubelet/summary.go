package kubelet

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
	"github.com/evenkeel/evenkeel/usage"
)

// summary is the used part of a /stats/summary.
type summary struct {
	nodeName        string
	cpu, memory, io stats
	// pods are in the order of the node's pods in the snapshot.
	pods []podStats
	unmatched
}

// stats are CPU, memory or IO stats, as far as they are used.
type stats struct {
	at                              time.Time
	usageNanoCores, coreNanoSeconds number
	workingSetBytes, availableBytes number
	waited, percent60, percent300   number
}

type podStats struct {
	// seen: there are stats of the pod; exact: they are of its UID; twice:
	// there are several.
	seen, exact, twice bool
	cpu, memory        stats
	// waits are those of its containers that count for contention, psi whether
	// any container has PSI.
	waits []wait
	psi   bool
}

// summaryDecoder decodes one summary of a node.
type summaryDecoder struct {
	*jsonscan.Scanner
	own             index
	namespace, name []byte
	found           bool
	out             summary
	// contention: containers are read too, those of the current pod into
	// containers.
	contention bool
	containers containers
}

// decodeSummary reads the stats of the node and its pods in the snapshot: a
// kubelet is not asked about other nodes' pods. If a number is given twice,
// neither is trusted, and the whole summary is rejected.
func decodeSummary(from io.Reader, scanner *jsonscan.Scanner, node *cluster.NodePods, contention bool) (*summary, error) {
	scanner.Reset(from)
	d := summaryDecoder{Scanner: scanner, own: newIndex(node), contention: contention}
	d.out.pods = make([]podStats, len(node.Pods))
	for key := range d.Object {
		switch string(key) {
		case "node":
			d.found = true
			d.node()
		case "pods":
			for range d.Array {
				d.pod()
			}
		}
	}
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("decoding the summary: %w", err)
	}
	if !d.found {
		return nil, errors.New("decoding the summary: it has no node")
	}
	return &d.out, nil
}

func (d *summaryDecoder) node() {
	for key := range d.Object {
		switch string(key) {
		case "nodeName":
			d.out.nodeName = d.Text()
		case "cpu":
			d.stats(&d.out.cpu)
		case "memory":
			d.stats(&d.out.memory)
		case "io":
			d.stats(&d.out.io)
		}
	}
}

func (d *summaryDecoder) pod() {
	var pod podStats
	var uid string
	d.namespace, d.name = d.namespace[:0], d.name[:0]
	d.containers.reset()
	for key := range d.Object {
		switch string(key) {
		case "podRef":
			uid = d.reference()
		case "cpu":
			d.stats(&pod.cpu)
		case "memory":
			d.stats(&pod.memory)
		case "containers":
			d.podContainers()
		}
	}
	if d.Err() != nil {
		return
	}
	if i, ok := d.own.find(d.namespace, d.name); ok {
		pod.exact = uid == d.own.pods[i].UID
		pod.psi, pod.waits = d.containers.counted(&pod.cpu, d.own.pods[i].CPULimits)
		d.out.pods[i].merge(pod)
		return
	}
	d.out.unmatched.add(d.namespace, d.name)
}

// reference reads a podRef and returns the UID in it.
func (d *summaryDecoder) reference() (uid string) {
	for key := range d.Object {
		switch string(key) {
		case "namespace":
			d.namespace = append(d.namespace[:0], d.Bytes()...)
		case "name":
			d.name = append(d.name[:0], d.Bytes()...)
		case "uid":
			uid = d.Text()
		}
	}
	return uid
}

// merge adds the stats of a pod. A kubelet may still report a predecessor of
// the same name. Static pods have different UIDs in the kubelet and the API
// server, so a UID decides between two but is not required of one.
func (p *podStats) merge(o podStats) {
	switch {
	case !p.seen || o.exact && !p.exact:
		*p = o
		p.seen = true
	case o.exact == p.exact:
		p.twice = true
	}
}

// stats reads a block of stats; what is not in it stays unknown.
func (d *summaryDecoder) stats(s *stats) {
	for key := range d.Object {
		switch string(key) {
		case "time":
			s.at = d.Time()
		case "usageNanoCores":
			d.once(&s.usageNanoCores, key)
		case "usageCoreNanoSeconds":
			d.once(&s.coreNanoSeconds, key)
		case "workingSetBytes":
			d.once(&s.workingSetBytes, key)
		case "availableBytes":
			d.once(&s.availableBytes, key)
		case "psi":
			d.pressure(s)
		}
	}
}

// pressure reads how long some task waited, which is what PSI calls "some".
func (d *summaryDecoder) pressure(s *stats) {
	for key := range d.Object {
		if string(key) != "some" {
			continue
		}
		for key := range d.Object {
			switch string(key) {
			case "total":
				d.once(&s.waited, key)
			case "avg60":
				d.once(&s.percent60, key)
			case "avg300":
				d.once(&s.percent300, key)
			}
		}
	}
}

func (d *summaryDecoder) once(n *number, key []byte) {
	if n.known {
		d.Fail(fmt.Errorf("%q is given twice", key))
		return
	}
	n.value, n.known = d.Float()
}

// windowBytes is how much of a summary is held at a time: a tenth of its bytes
// is used.
const windowBytes = 16 << 10

// newScanner returns a Scanner for summaries. A namespace and a name have 253
// bytes at most.
func newScanner() *jsonscan.Scanner {
	return jsonscan.NewReader(windowBytes, jsonscan.Limits{Text: 1 << 10, Depth: 1 << 20})
}

// wait is how long some task of a container waited for a CPU.
type wait struct {
	at                    time.Time
	percent60, percent300 float64
}

// containers are those of one pod, until it is known which pod that is.
type containers struct {
	all []container
	// names holds all names, one after the other.
	names []byte
}

type container struct {
	from, to int // of its name
	cpu      stats
}

// maxContainers bounds what is kept of one pod; a pod spec with as many would
// be too large for the API server.
const maxContainers = 1000

func (c *containers) reset() { c.all, c.names = c.all[:0], c.names[:0] }

// podContainers reads the CPU stats of a pod's containers, if they are wanted.
func (d *summaryDecoder) podContainers() {
	if !d.contention {
		return
	}
	for range d.Array {
		if len(d.containers.all) < maxContainers {
			d.container()
		}
	}
}

func (d *summaryDecoder) container() {
	one := container{}
	for key := range d.Object {
		switch string(key) {
		case "name":
			one.from = len(d.containers.names)
			d.containers.names = append(d.containers.names, d.Bytes()...)
			one.to = len(d.containers.names)
		case "cpu":
			d.stats(&one.cpu)
		}
	}
	d.containers.all = append(d.containers.all, one)
}

// counted returns the waits of the containers that count, and whether any
// container has PSI. Those do not count that their own limit, or the pod's,
// makes wait, that hardly run, or of which something is missing.
func (c *containers) counted(pod *stats, limits cluster.CPULimits) (psi bool, waits []wait) {
	throttled := usage.ThrottledBy(pod.usageNanoCores.value*nanoToMilli, limits.Of(nil))
	for i := range c.all {
		one := &c.all[i].cpu
		if !one.percent60.known || !one.percent300.known {
			continue
		}
		psi = true
		used := one.usageNanoCores
		if used.value *= nanoToMilli; throttled || !used.known || !used.sane() || !usage.WantsCPU(used.value, one.percent60.value) {
			continue
		}
		if !usage.ThrottledBy(used.value, limits.Of(c.names[c.all[i].from:c.all[i].to])) {
			waits = append(waits, wait{one.at, one.percent60.value, one.percent300.value})
		}
	}
	return psi, waits
}
