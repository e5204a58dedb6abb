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
	"github.com/evenkeel/evenkeel/status"
)

// The reasons of Events about a changed policy file.
const (
	// policyReloaded means that the file is in effect.
	policyReloaded = "PolicyReloaded"
	// policyInvalid means that the file is invalid, and the previous policy stays in
	// effect.
	policyInvalid = "PolicyInvalid"
	// policyNotLoaded means that the file could not be applied for a reason outside the
	// file, and is retried.
	policyNotLoaded = "PolicyNotLoaded"
)

// Policies keeps track of the policies that a process has applied, and of the reason why
// the newest one is not in effect.
type Policies struct {
	file      string
	announcer *Announcer
	now       func() time.Time
	metrics   policyMetrics

	mu     sync.Mutex
	status status.PolicyStatus
}

// NewPolicies returns Policies that contain the policy with which the process starts.
// hash is the hash of its content.
func NewPolicies(file, hash string, announcer *Announcer, now func() time.Time, registry prometheus.Registerer) *Policies {
	p := &Policies{file: file, announcer: announcer, now: now, metrics: newPolicyMetrics(registry)}
	p.loaded(1, hash)
	return p
}

// Status returns the report about the policy.
func (p *Policies) Status() status.PolicyStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// loaded records that the file is in effect, and increases the generation by more.
func (p *Policies) loaded(more int, hash string) (generation int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status.PolicyStatus{Generation: p.status.Generation + more}
	p.metrics.loads.WithLabelValues("ok").Inc()
	p.metrics.generation.Set(float64(p.status.Generation))
	p.metrics.taken.Set(float64(p.now().UnixNano()) / 1e9)
	p.metrics.valid.Set(1)
	p.metrics.info.Reset()
	p.metrics.info.WithLabelValues(hash).Set(1)
	return p.status.Generation
}

// Taken reports that the changed file is in effect. hash is the hash of its content.
// another is true if its policy differs from the previous one.
func (p *Policies) Taken(ctx context.Context, hash string, another bool) {
	more := 0
	if another {
		more = 1
	}
	klog.FromContext(ctx).Info("Policy reloaded", "file", p.file, "generation", p.loaded(more, hash))
	p.announcer.tell(v1.EventTypeNormal, policyReloaded, fmt.Sprintf("%s has changed and is in effect.", p.file))
}

// Refused reports why the changed file is not in effect. It reports a lasting problem
// only once.
func (p *Policies) Refused(ctx context.Context, err error) {
	result, reason := "error", policyNotLoaded
	if exit.Code(err) == exit.Misuse {
		result, reason = "invalid", policyInvalid
	}
	p.metrics.loads.WithLabelValues(result).Inc()
	p.metrics.valid.Set(0)
	p.mu.Lock()
	reported := p.status.Problem == err.Error()
	p.status.Problem = err.Error()
	p.mu.Unlock()
	if reported {
		return
	}
	klog.FromContext(ctx).Error(err, "Reloading the policy failed, so the previous one stays in effect", "file", p.file)
	first, _, _ := strings.Cut(err.Error(), "\n")
	p.announcer.tell(v1.EventTypeWarning, reason, first)
}

// policyMetrics count and describe policy loads.
type policyMetrics struct {
	loads                    *prometheus.CounterVec
	info                     *prometheus.GaugeVec
	generation, taken, valid prometheus.Gauge
}

func newPolicyMetrics(registry prometheus.Registerer) policyMetrics {
	factory := promauto.With(registry)
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := policyMetrics{
		loads: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_policy_loads_total", Help: "Policy loads, at the start and when the file changed, by result.",
		}, []string{"result"}),
		info: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_policy_info", Help: "1, with the hash of the policy file in effect, as history shows it; empty without a file.",
		}, []string{"hash"}),
		generation: gauge("evenkeel_policy_generation", "Number of policies applied since the process started."),
		taken:      gauge("evenkeel_policy_last_load_success_timestamp_seconds", "Unix time of the last successful policy load."),
		valid:      gauge("evenkeel_policy_last_load_successful", "Whether the last policy load succeeded; if 0, the previous policy is still in effect."),
	}
	for _, result := range []string{"ok", "invalid", "error"} {
		m.loads.WithLabelValues(result)
	}
	return m
}
