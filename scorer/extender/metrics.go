package extender

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evenkeel/evenkeel/reasons"
)

// verb is the kind of a kube-scheduler request.
type verb uint8

const (
	verbFilter verb = iota
	verbPrioritize
	verbCount
)

var verbLabels = [verbCount]string{verbFilter: "filter", verbPrioritize: "prioritize"}

func (v verb) String() string { return verbLabels[v] }

// result is how a request ended.
type result uint8

const (
	resultOK         result = iota
	resultNeutral           // answered without following the Answerer
	resultInvalid           // 400: not an answerable request
	resultTooLarge          // 413
	resultOverloaded        // 503: too many requests at once
	resultGone              // the client hung up before the reply
	resultPanic             // 500: the Answerer panicked
	resultCount
)

var resultLabels = [resultCount]string{
	resultOK: "ok", resultNeutral: "neutral", resultInvalid: "invalid", resultTooLarge: "too_large",
	resultOverloaded: "overloaded", resultGone: "client_gone", resultPanic: "panic",
}

func (r result) String() string { return resultLabels[r] }

// neutral is the reason why the Answerer's answer was not used.
type neutral uint8

const (
	neutralBusy        neutral = iota // MaxConcurrent requests are being evaluated
	neutralAllRejected                // it would have rejected every node
	neutralOneNode                    // it would have rejected the only node, such as a nominated one
	neutralCount
)

var neutralLabels = [neutralCount]string{
	neutralBusy: "busy", neutralAllRejected: "all_rejected", neutralOneNode: "one_node",
}

func (n neutral) String() string { return neutralLabels[n] }

// metrics holds the package's metrics. All label values exist from the start.
type metrics struct {
	requests   [verbCount][resultCount]prometheus.Counter
	latency    [verbCount]prometheus.Observer
	overBudget [verbCount]prometheus.Counter
	rejected   [rejectCount]prometheus.Counter
	neutrals   [neutralCount]prometheus.Counter
}

// latencyBuckets are in seconds, from 50 µs to 200 ms, kube-scheduler's configured
// httpTimeout.
var latencyBuckets = []float64{
	50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 200e-3,
}

// newMetrics returns the metrics and registers them with reg, which may be nil.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	requests := counters("responses_total", "Responses to kube-scheduler by verb and result.", "verb", "result")
	overBudget := counters("over_budget_total", "Requests that took longer than the budget.", "verb")
	rejected := counters("nodes_rejected_total", "Nodes rejected by responses to filter requests, by reason.", "reason")
	neutrals := counters("neutral_responses_total", "Responses that did not follow the scorer, by reason.", "reason")
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "evenkeel", Subsystem: "extender", Name: "request_duration_seconds",
		Help: "Time from a request's header to its response, by verb.", Buckets: latencyBuckets,
	}, []string{"verb"})
	m := &metrics{}
	for v := range verbCount {
		m.latency[v] = latency.WithLabelValues(v.String())
		m.overBudget[v] = overBudget.WithLabelValues(v.String())
		for r := range resultCount {
			m.requests[v][r] = requests.WithLabelValues(v.String(), r.String())
		}
	}
	for r := RejectNone + 1; r < rejectCount; r++ {
		m.rejected[r] = rejected.WithLabelValues(reasons.Snake(r.String()))
	}
	// The counter at index RejectNone counts reasons that this package does not know.
	m.rejected[RejectNone] = rejected.WithLabelValues(reasons.Snake(rejectCount.String()))
	for n := range neutralCount {
		m.neutrals[n] = neutrals.WithLabelValues(n.String())
	}
	return m, Register(reg, requests, overBudget, rejected, neutrals, latency)
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "evenkeel", Subsystem: "extender", Name: name, Help: help,
	}, labels)
}

// Register registers metrics; with a nil reg it does nothing.
func Register(reg prometheus.Registerer, collectors ...prometheus.Collector) error {
	if reg == nil {
		return nil
	}
	var errs []error
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			errs = append(errs, fmt.Errorf("registering metrics: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (m *metrics) observe(v verb, r result, took, budget time.Duration) {
	m.requests[v][r].Inc()
	m.latency[v].Observe(took.Seconds())
	if took > budget {
		m.overBudget[v].Inc()
	}
}

func (m *metrics) countRejected(reasons []Reject) {
	var count [rejectCount]int
	for _, reason := range reasons {
		switch {
		case reason == RejectNone:
		case reason < rejectCount:
			count[reason]++
		default:
			count[RejectNone]++
		}
	}
	for reason, n := range count {
		if n > 0 {
			m.rejected[reason].Add(float64(n))
		}
	}
}
