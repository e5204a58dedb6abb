package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// The reasons of Events about a policy file that has changed.
const (
	// policyReloaded: it is gone by.
	policyReloaded = "PolicyReloaded"
	// policyInvalid: it is wrong, and the policy before it stays at work.
	policyInvalid = "PolicyInvalid"
	// policyNotLoaded: it could not be put to work for a reason outside of it, which is tried again.
	policyNotLoaded = "PolicyNotLoaded"
)

// policyMetrics tell of the policies read.
type policyMetrics struct {
	loads                    *prometheus.CounterVec
	generation, taken, valid prometheus.Gauge
}

func newPolicyMetrics(registry prometheus.Registerer) policyMetrics {
	factory := promauto.With(registry)
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := policyMetrics{
		loads: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_policy_loads_total", Help: "How often the policy was read, at the start and when its file had changed, by result.",
		}, []string{"result"}),
		generation: gauge("evenkeel_policy_generation", "How many policies this process has gone by so far."),
		taken:      gauge("evenkeel_policy_last_load_success_timestamp_seconds", "When the policy was last read and right."),
		valid:      gauge("evenkeel_policy_last_load_successful", "0 while the policy file cannot be gone by and the policy before it stays at work."),
	}
	for _, result := range []string{"ok", "invalid", "error"} {
		m.loads.WithLabelValues(result)
	}
	return m
}

// wireReload begins to tell of policies, with the one that the process begins with.
func (a *App) wireReload() {
	r := &a.reload
	r.metrics, r.tried, r.generation = newPolicyMetrics(a.registry), a.number, 1
	a.noteTaken()
}

// noteTaken notes that the policy file is gone by.
func (a *App) noteTaken() (generation int) {
	r := &a.reload
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = ""
	r.metrics.loads.WithLabelValues("ok").Inc()
	r.metrics.generation.Set(float64(r.generation))
	r.metrics.taken.Set(float64(a.now().UnixNano()) / 1e9)
	r.metrics.valid.Set(1)
	return r.generation
}

// policyTaken tells that the changed policy file is gone by.
func (a *App) policyTaken(ctx context.Context) {
	klog.FromContext(ctx).Info("The changed policy is at work", "file", a.options.PolicyFile, "generation", a.noteTaken())
	a.policyEvent(v1.EventTypeNormal, policyReloaded, fmt.Sprintf("%s has changed and is gone by.", a.options.PolicyFile))
}

// policyRefused tells why the changed policy file is not gone by; of a problem that stays it tells once.
func (a *App) policyRefused(ctx context.Context, err error) {
	result, reason := "error", policyNotLoaded
	if exit.Code(err) == exit.Misuse {
		result, reason = "invalid", policyInvalid
	}
	r := &a.reload
	r.metrics.loads.WithLabelValues(result).Inc()
	r.metrics.valid.Set(0)
	r.mu.Lock()
	told := r.problem == err.Error()
	r.problem = err.Error()
	r.mu.Unlock()
	if told {
		return
	}
	klog.FromContext(ctx).Error(err, "The changed policy is not gone by, the one before it stays at work", "file", a.options.PolicyFile)
	first, _, _ := strings.Cut(err.Error(), "\n")
	a.policyEvent(v1.EventTypeWarning, reason, first)
}

// policyEvent tells by an Event of the process that evicts.
func (a *App) policyEvent(kind, reason, note string) {
	a.usageGate.mu.Lock()
	defer a.usageGate.mu.Unlock()
	if a.usageGate.evicting {
		a.gateEvent(kind, reason, note)
	}
}

// PolicyStatus is what a process says of its policy.
type PolicyStatus struct {
	// Generation counts the policies that the process has gone by; 1 is the one it began with.
	Generation int `json:"generation"`
	// Problem is why the policy file is not gone by now that it has changed; empty when it is.
	Problem string `json:"problem,omitempty"`
}

func (a *App) policyStatus() PolicyStatus {
	r := &a.reload
	r.mu.Lock()
	defer r.mu.Unlock()
	return PolicyStatus{Generation: r.generation, Problem: r.problem}
}
