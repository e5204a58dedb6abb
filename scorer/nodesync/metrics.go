package nodesync

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// result is the result of changing a node.
type result uint8

const (
	resultSuccess  result = iota
	resultGone            // the node was deleted
	resultConflict        // others changed the node at each attempt
	resultError
	numResults
)

// resultNothing means that no patch was needed, because the node, when read
// again, was already correct.
const resultNothing = numResults

var resultLabels = [numResults]string{
	resultSuccess: "success", resultGone: "gone", resultConflict: "conflict", resultError: "error",
}

// metrics holds the package's metrics. All label values exist from the start.
type metrics struct {
	patches *prometheus.CounterVec
	foreign *prometheus.GaugeVec
	corrupt prometheus.Gauge
	waiting prometheus.Gauge
}

// newMetrics returns the metrics and registers them with reg, which may be nil. A Syncer
// that replaces another one continues its counters.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		patches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "evenkeel", Subsystem: "nodesync", Name: "patches_total",
			Help: "Patches of nodes by what they change and how they ended; one that changes several things counts for each.",
		}, []string{"kind", "result"}),
		foreign: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "evenkeel", Subsystem: "nodesync", Name: "foreign_keys",
			Help: "Keys on nodes, by kind, that are not written because they hold another writer's value.",
		}, []string{"kind"}),
		corrupt: gauge("corrupt_records", "Nodes whose record of what Evenkeel wrote could not be read."),
		waiting: gauge("waiting_nodes", "Nodes left to patch when the last pass ran out of time."),
	}
	for kind := range numKinds {
		for r := range numResults {
			m.patches.WithLabelValues(kind.String(), resultLabels[r])
		}
		if kind != KindRecord {
			m.foreign.WithLabelValues(kind.String())
		}
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(register(reg, &m.patches), register(reg, &m.foreign), register(reg, &m.corrupt), register(reg, &m.waiting))
}

// register registers a collector, or replaces it with one of the same type that is
// already registered.
func register[C prometheus.Collector](reg prometheus.Registerer, c *C) error {
	err := reg.Register(*c)
	if there, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		if same, ok := there.ExistingCollector.(C); ok {
			*c, err = same, nil
		}
	}
	if err != nil {
		return fmt.Errorf("registering nodesync metrics: %w", err)
	}
	return nil
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "evenkeel", Subsystem: "nodesync", Name: name, Help: help})
}

func (m *metrics) patched(kinds []Kind, r result) {
	if r == resultNothing {
		return
	}
	for _, kind := range kinds {
		m.patches.WithLabelValues(kind.String(), resultLabels[r]).Inc()
	}
}
