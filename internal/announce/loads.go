package announce

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

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
	// policyNotLoaded: it could not be put to work for a reason outside of it,
	// which is tried again.
	policyNotLoaded = "PolicyNotLoaded"
)

// Policies tells which policies a process has gone by, and why it does not go
// by the newest.
type Policies struct {
	file      string
	announcer *Announcer
	now       func() time.Time
	metrics   policyMetrics

	mu     sync.Mutex
	status PolicyStatus
}

// PolicyStatus is what a process says of its policy.
type PolicyStatus struct {
	// Generation counts the policies that the process has gone by; 1 is the one
	// it began with.
	Generation int `json:"generation"`
	// Problem is why the policy file is not gone by now that it has changed;
	// empty when it is.
	Problem string `json:"problem,omitempty"`
}

// NewPolicies begins with the policy that the process begins with.
func NewPolicies(file string, announcer *Announcer, now func() time.Time, registry prometheus.Registerer) *Policies {
	p := &Policies{file: file, announcer: announcer, now: now, metrics: newPolicyMetrics(registry)}
	p.loaded(1)
	return p
}

// Status is what to say of the policy.
func (p *Policies) Status() PolicyStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// loaded notes that the file is gone by, and how many policies that makes more.
func (p *Policies) loaded(more int) (generation int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = PolicyStatus{Generation: p.status.Generation + more}
	p.metrics.loads.WithLabelValues("ok").Inc()
	p.metrics.generation.Set(float64(p.status.Generation))
	p.metrics.taken.Set(float64(p.now().UnixNano()) / 1e9)
	p.metrics.valid.Set(1)
	return p.status.Generation
}

// Taken tells that the changed file is gone by; another reports whether its
// policy is another one than before.
func (p *Policies) Taken(ctx context.Context, another bool) {
	more := 0
	if another {
		more = 1
	}
	klog.FromContext(ctx).Info("The changed policy is at work", "file", p.file, "generation", p.loaded(more))
	p.announcer.policy(v1.EventTypeNormal, policyReloaded, fmt.Sprintf("%s has changed and is gone by.", p.file))
}

// Refused tells why the changed file is not gone by; of a problem that stays it
// tells once.
func (p *Policies) Refused(ctx context.Context, err error) {
	result, reason := "error", policyNotLoaded
	if exit.Code(err) == exit.Misuse {
		result, reason = "invalid", policyInvalid
	}
	p.metrics.loads.WithLabelValues(result).Inc()
	p.metrics.valid.Set(0)
	p.mu.Lock()
	told := p.status.Problem == err.Error()
	p.status.Problem = err.Error()
	p.mu.Unlock()
	if told {
		return
	}
	klog.FromContext(ctx).Error(err, "The changed policy is not gone by, the one before it stays at work", "file", p.file)
	first, _, _ := strings.Cut(err.Error(), "\n")
	p.announcer.policy(v1.EventTypeWarning, reason, first)
}

// policyMetrics report the policies read.
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
