package settings

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/policy"
)

// Samples holds everything that usage samples depend on: what is read, from which sources
// and for which windows. Samples are compatible if their values of this type are deeply
// equal.
type Samples struct {
	usage     policy.Usage
	windows   []usage.Window
	signals   []usage.Metric
	providers []api.MetricsProvider
	// signalsOnly reports whether neither cpu nor memory is read.
	signalsOnly bool
}

// SamplesOf returns what the samples under a policy depend on.
func SamplesOf(load *policy.LoadPolicy, providers []api.MetricsProvider, signalsOnly bool) Samples {
	s := Samples{usage: load.Usage, windows: Windows(load), signals: Signals(load), providers: providers, signalsOnly: signalsOnly}
	// These settings apply only after reading. signals contains the metrics that are read.
	s.usage.ObservationPeriod, s.usage.MinCoveragePercent, s.usage.Metrics = metav1.Duration{}, 0, nil
	return s
}

// Narrowed describes what a process omits when it reads usage.
type Narrowed struct {
	// SignalsOnly leaves out cpu and memory, for which the policy has no lines.
	SignalsOnly bool
	// MemoryOnly reads only the memory of nodes, because the other metrics need not
	// exist.
	MemoryOnly bool
}

// SourceEnv describes what a usage source must read. The caller adds the means of access.
func SourceEnv(load *policy.LoadPolicy, source *policy.Source, narrowed Narrowed) access.Env {
	u := &load.Usage
	env := access.Env{
		Timeout: u.TimeoutOf(source), MaxAge: u.MaxAgeOf(source), Interval: u.SampleInterval.Duration, QueriesPerSecond: u.QueriesPerSecond,
		NodesOnly: narrowed.MemoryOnly || narrowed.SignalsOnly, EveryNode: narrowed.SignalsOnly,
	}
	if !narrowed.SignalsOnly { // five-minute means are always required
		env.Windows, env.Metrics = []usage.Window{usage.Avg5m}, []usage.Metric{usage.CPU, usage.Memory}
	}
	for _, w := range Windows(load) {
		if !slices.Contains(env.Windows, w) {
			env.Windows = append(env.Windows, w)
		}
	}
	if env.Metrics = append(env.Metrics, Signals(load)...); narrowed.MemoryOnly {
		env.Metrics = []usage.Metric{usage.Memory}
	}
	return env
}
