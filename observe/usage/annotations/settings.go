package annotations

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

// Name is the source's name in policies, output and metrics.
const Name = "Annotations"

// Config configures how usage annotations of nodes are read.
type Config struct {
	// Unit is the unit of the values: fraction, percent, or auto, which detects the unit
	// from the number of decimals.
	Unit source.Unit `json:"unit"`
	// Timezone is the time zone of the timestamps, regardless of the Z at their
	// end: an IANA name such as UTC or Asia/Shanghai. Empty detects it from the
	// timestamps.
	Timezone string `json:"timezone"`
	// Periods are the intervals at which the writer renews a window: 10s to 1d
	// each. A value expires 5m after its period has passed. Windows that are
	// not listed keep their defaults; any other window uses 15m.
	Periods map[usage.Window]metav1.Duration `json:"periods"`
}

var _ source.Config = (*Config)(nil)

// Default implements source.Config.
func (*Config) Default() source.Config { return &Config{Unit: source.Auto, Periods: source.Periods()} }

// Validate implements source.Config.
func (c *Config) Validate(path *field.Path, _ []usage.Metric) field.ErrorList {
	errs := check.OneOf(path.Child("unit"), c.Unit, source.Auto, source.Fraction, source.Percent)
	if c.Timezone != "" {
		errs = append(errs, check.Zone(path.Child("timezone"), c.Timezone)...)
	}
	return append(errs, check.Periods(path.Child("periods"), c.Periods)...)
}

// Describe implements source.Config.
func (c *Config) Describe() source.Description {
	return source.Description{
		Name: Name, GivesWindows: true, DatesValues: true,
		Advice: map[source.Topic]string{
			source.Empty: "No node carries annotations such as cpu_usage_avg_5m: their writer (Crane's controller, nodesync) is not running.\n" +
				"kubectl get nodes -o jsonpath='{.items[*].metadata.annotations.cpu_usage_avg_5m}'",
			source.Unmatched: "The annotations' writer leaves these nodes out, or their values are too old: kubectl describe node <name>",
			source.Future: "Crane writes the time of its own zone followed by a Z; its zone is Asia/Shanghai unless TZ sets another. Set the zone:\n" +
				source.Snippet(Name, "timezone: Asia/Shanghai"),
			source.WrongUnit: source.Snippet(Name, "unit: fraction   # or percent"),
		},
	}
}
