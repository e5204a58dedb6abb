package kubelet

import (
	"errors"
	"fmt"
	"io"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

// summary is the part of a /stats/summary that is used.
type summary struct {
	nodeName        string
	cpu, memory, io stats
	// pods are in the order of the node's pods in the snapshot.
	pods []podStats
	unmatched
}

type podStats struct {
	// seen is true if there are stats of the pod, exact is true if they have its UID, and
	// twice is true if there are several.
	seen, exact, twice bool
	uid                string // UID by which the kubelet knows the pod
	cpu, memory        stats
	// busy is true if a container uses CPU or its usage is unknown. idle is
	// true if there are containers and all known usage is zero.
	busy, idle bool
	// waits are the waits of its containers that count for contention; psi reports
	// whether any container has PSI.
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
	// contention is true if containers are also read. containers then holds those of the
	// current pod.
	contention bool
	containers containers
}

// decodeSummary reads the stats of the node and of its pods in the snapshot,
// because a kubelet is not trusted about other nodes' pods. If a number occurs
// twice, neither is trusted, and the whole summary is rejected.
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
		return nil, errors.New("decoding the summary: no node")
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
	d.namespace, d.name = d.namespace[:0], d.name[:0]
	d.containers.reset()
	for key := range d.Object {
		switch string(key) {
		case "podRef":
			pod.uid = d.reference()
		case "cpu":
			d.stats(&pod.cpu)
		case "memory":
			d.stats(&pod.memory)
		case "containers":
			pod.busy, pod.idle = d.podContainers()
		}
	}
	if d.Err() != nil {
		return
	}
	if i, ok := d.own.find(d.namespace, d.name); ok {
		pod.exact = pod.uid == d.own.pods[i].UID
		pod.psi, pod.waits = d.containers.counted(&pod.cpu, d.own.pods[i].CPULimits)
		d.out.pods[i].merge(pod)
		return
	}
	d.out.unmatched.add(d.namespace, d.name)
}

// reference reads a podRef and returns its UID.
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
// server, so a matching UID decides between two stats but is not required if
// there is only one.
func (p *podStats) merge(o podStats) {
	switch {
	case !p.seen || o.exact && !p.exact:
		*p = o
		p.seen = true
	case o.exact == p.exact:
		p.twice = true
	}
}

// stats reads a block of stats. Missing values stay unknown.
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

// pressure reads how long some task waited (PSI "some").
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

// windowBytes is how much of a summary is held at a time. It is small because only a
// tenth of a summary is used.
const windowBytes = 16 << 10

// newScanner returns a Scanner for summaries. A namespace and a name have at
// most 253 bytes each.
func newScanner() *jsonscan.Scanner {
	return jsonscan.NewReader(windowBytes, jsonscan.Limits{Text: 1 << 10, Depth: 1 << 20})
}

// podContainers reads the CPU stats of a pod's containers and keeps them if they are
// needed. It reports whether any container is busy, and whether all are idle.
func (d *summaryDecoder) podContainers() (busy, idle bool) {
	for range d.Array {
		cpu := d.container()
		idle = idle || cpu.usageNanoCores.known
		busy = busy || cpu.usageNanoCores.value > 0 || !cpu.usageNanoCores.known && cpu.coreNanoSeconds.value > 0
	}
	return busy, idle && !busy
}

func (d *summaryDecoder) container() stats {
	kept := d.contention && len(d.containers.all) < maxContainers
	one := container{from: len(d.containers.names), to: len(d.containers.names)}
	for key := range d.Object {
		switch {
		case string(key) == "cpu":
			d.stats(&one.cpu)
		case kept && string(key) == "name":
			d.containers.names = append(d.containers.names, d.Bytes()...)
			one.to = len(d.containers.names)
		}
	}
	if kept {
		d.containers.all = append(d.containers.all, one)
	}
	return one.cpu
}
