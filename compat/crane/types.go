package crane

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/policy"
)

// document is a DynamicSchedulerPolicy.
type document struct {
	metav1.TypeMeta `json:",inline"`

	Spec spec `json:"spec"`
}

type spec struct {
	SyncPolicy []syncPolicy      `json:"syncPolicy"`
	Predicate  []predicate       `json:"predicate"`
	Priority   []priority        `json:"priority"`
	HotValue   []policy.HotValue `json:"hotValue"`
}

// syncPolicy defines how often the controller renews an annotation.
type syncPolicy struct {
	Name   string          `json:"name"`
	Period metav1.Duration `json:"period"`
}

// predicate keeps pods off nodes with higher usage. The misspelled field is Crane's, so
// every policy has it.
type predicate struct {
	Name            string  `json:"name"`
	MaxLimitPercent float64 `json:"maxLimitPecent"`
}

type priority struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// avg5m is the window of current usage.
const avg5m = "avg_5m"

// metric identifies what one of Crane's annotations reports.
type metric struct{ name, window string }

// metrics holds all metrics that Crane knows, by annotation.
var metrics = map[string]metric{
	"cpu_usage_avg_5m":     {"cpu", avg5m},
	"cpu_usage_max_avg_1h": {"cpu", "max_avg_1h"},
	"cpu_usage_max_avg_1d": {"cpu", "max_avg_1d"},
	"mem_usage_avg_5m":     {"memory", avg5m},
	"mem_usage_max_avg_1h": {"memory", "max_avg_1h"},
	"mem_usage_max_avg_1d": {"memory", "max_avg_1d"},
}

func (s *spec) synced(name string) bool {
	return slices.ContainsFunc(s.SyncPolicy, func(p syncPolicy) bool { return p.Name == name })
}

// periodBefore returns the longest period among the metrics that have the same window as
// the named metric and are listed before it.
func (s *spec) periodBefore(name string) (longest time.Duration, found bool) {
	for _, p := range s.SyncPolicy {
		if p.Name == name {
			break
		}
		if metrics[p.Name].window == metrics[name].window {
			longest, found = max(longest, p.Period.Duration), true
		}
	}
	return longest, found
}

// unit is the unit of limits, and of the annotations with which they are
// compared.
type unit string

const (
	fraction unit = "fraction"
	percent  unit = "percent"
	auto     unit = "auto"
)

func unitOf(limit float64) unit {
	if limit > 1 {
		return percent
	}
	return fraction
}

// unit returns the unit of the first limit. validate has checked that all others agree.
func (s *spec) unit() unit {
	for _, p := range s.Predicate {
		if p.MaxLimitPercent > 0 {
			return unitOf(p.MaxLimitPercent)
		}
	}
	return auto
}

func (u unit) note() string {
	switch u {
	case percent:
		return "limits are percentages, as in crane-scheduler-plus, so annotations are read as percentages"
	case fraction:
		return "limits are fractions, as in crane-scheduler, so annotations are read as fractions; limits are in percent here"
	case auto:
	}
	return "no limit shows the unit, so each annotation's unit is detected from its format"
}

// noun returns the word for a number in the unit.
func (u unit) noun() string {
	if u == percent {
		return "percentage"
	}
	return string(u)
}

// conversion is one document being converted.
type conversion struct {
	in  document
	out policy.Conversion
}
