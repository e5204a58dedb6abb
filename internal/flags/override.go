package flags

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/policy"
)

// Override applies the flags that override settings of the policy. It is the only place
// where a flag changes a policy. The error describes why the result is invalid.
func (o *Options) Override(file *policy.File) error {
	o.shorten(&file.Load)
	if o.NodeSync == nil {
		return nil
	}
	wrong := o.NodeSync.override(&file.Load)
	if len(wrong) == 0 {
		for _, err := range policy.Validate(&file.Load, kinds.All) {
			wrong = append(wrong, "with --prom and --seconds: "+err.Error())
		}
	}
	if len(wrong) > 0 {
		return policyfile.Invalid(policyfile.NameOf(file), strings.Join(wrong, "\n"))
	}
	return nil
}

// shorten limits how long usage without history is observed to o.WatchAtMost, provided
// that a node can be judged hot by then.
func (o *Options) shorten(load *policy.LoadPolicy) {
	past := func(s policy.Source) bool { return s.Config.Describe().GivesWindows }
	u, h := &load.Usage, &load.Hot
	if o.WatchAtMost <= 0 || slices.ContainsFunc(u.Sources, past) {
		return
	}
	least := time.Duration(h.ConsecutiveSamples) * u.SampleInterval.Duration
	u.ObservationPeriod.Duration = min(u.ObservationPeriod.Duration, max(o.WatchAtMost, least))
	h.MinWindow.Duration = min(h.MinWindow.Duration, u.ObservationPeriod.Duration)
}

// staleAfter is the minimum number of intervals for which a sample stays valid.
const staleAfter = 3

func (m *NodeSync) override(load *policy.LoadPolicy) (wrong []string) {
	u := &load.Usage
	if m.Prometheus != "" {
		i := slices.IndexFunc(u.Sources, func(s policy.Source) bool { return s.Type == prometheus.Name })
		if i < 0 {
			return []string{fmt.Sprintf("--prom: there is no usage source of type %s", prometheus.Name)}
		}
		u.Sources[i].Config.(*prometheus.Config).Address = m.Prometheus
	}
	if m.Interval != 0 {
		u.SampleInterval = metav1.Duration{Duration: m.Interval}
		u.MaxAge.Duration = max(u.MaxAge.Duration, staleAfter*m.Interval)
		u.ObservationPeriod.Duration = max(u.ObservationPeriod.Duration, time.Duration(load.Hot.ConsecutiveSamples)*m.Interval)
	}
	return nil
}
