package process

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// Extender holds the flags of kube-scheduler-extender. The flags about Prometheus select
// the preset with its policy; the others map to current flags.
type Extender struct {
	// LogBodies logs kube-scheduler's requests.
	LogBodies bool

	settings presets.Memory
	listen   string
	level    string
	format   string

	// notes describes which flags do less than before.
	notes []string
}

// policyFlag is the current flag for a policy file.
const policyFlag = "policy-config-file"

// The flags that are not policy settings.
const (
	listenFlag = "listen_address"
	bodyFlag   = "log_request_body"
	levelFlag  = "log.level"
	formatFlag = "log.format"
)

// Add adds the flags to those of a command that answers kube-scheduler.
func (e *Extender) Add(flags *pflag.FlagSet) {
	e.settings = presets.DefaultMemory()
	s := &e.settings
	flags.StringVar(&s.PrometheusURL, presets.NameURL, s.PrometheusURL,
		"Memory preset, instead of a policy file: keep pods off nodes by a metric of this Prometheus. Also PROMETHEUS_URL.")
	flags.StringVar(&s.Metric, presets.NameMetric, s.Metric,
		"Memory preset: the metric, percent by the label instance. Also PROMETHEUS_MEMORY_METRICS.")
	flags.Float64Var(&s.ThresholdPercent, presets.NameThreshold, s.ThresholdPercent,
		"Memory preset: usage in percent at or above which nodes get no pods. Also PROMETHEUS_MEMORY_THRESHOLD.")
	flags.StringVar(&e.listen, listenFlag, "", "Same as --listen-address. With the memory preset also LISTEN_ADDRESS.")
	flags.BoolVar(&e.LogBodies, bodyFlag, false, "Log the first 4 kB of each request. With the memory preset also LOG_REQUEST_BODY.")
	flags.StringVar(&e.level, levelFlag, "", "Same as --v: debug is 4; info, warn, error and fatal are 0.")
	flags.StringVar(&e.format, formatFlag, "", `Same as --logging-format, for example "logger:stderr?json=true".`)
}

// presetFlags lists flags that select the preset, each with its environment variable. The
// variables of otherFlags count only if the preset is selected.
var (
	presetFlags = [][2]string{
		{presets.NameURL, "PROMETHEUS_URL"},
		{presets.NameMetric, "PROMETHEUS_MEMORY_METRICS"},
		{presets.NameThreshold, "PROMETHEUS_MEMORY_THRESHOLD"},
	}
	otherFlags = [][2]string{{listenFlag, "LISTEN_ADDRESS"}, {bodyFlag, "LOG_REQUEST_BODY"}}
)

// Settle translates these flags and the environment to current flags. It returns the
// preset's policy; nil if nothing selects the preset.
func (e *Extender) Settle(flags *pflag.FlagSet) (*policy.File, error) {
	preset, err := e.preset(flags)
	if err != nil {
		return nil, err
	}
	return preset, errors.Join(e.settleAddress(flags), e.settleLevel(flags), e.settleFormat(flags))
}

func (e *Extender) preset(flags *pflag.FlagSet) (*policy.File, error) {
	chosen, err := fromEnvironment(flags, presetFlags)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	if flags.Lookup(policyFlag).Value.String() != "" {
		return nil, fmt.Errorf("%s and --%s cannot be used together: the former selects the memory preset, the latter a policy file",
			strings.Join(chosen, ", "), policyFlag)
	}
	if _, err := fromEnvironment(flags, otherFlags); err != nil {
		return nil, err
	}
	preset, errs := e.settings.Preset()
	if len(errs) > 0 {
		return nil, fmt.Errorf("memory preset: %w", errs.ToAggregate())
	}
	file, _, err := presets.Load("memory preset", preset, kinds.All)
	return file, err
}

// fromEnvironment sets the flags that are not given from their environment variables. It
// returns the names of all flags and variables that are given.
func fromEnvironment(flags *pflag.FlagSet, named [][2]string) (given []string, err error) {
	for _, name := range named {
		flag, variable := name[0], name[1]
		if flags.Changed(flag) {
			given = append(given, "--"+flag)
			continue
		}
		value := os.Getenv(variable)
		if value == "" {
			continue
		}
		if err := flags.Set(flag, value); err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", variable, err)
		}
		given = append(given, variable)
	}
	return given, nil
}

func (e *Extender) settleAddress(flags *pflag.FlagSet) error {
	switch {
	case e.listen == "":
		return nil
	case flags.Changed("listen-address"):
		return fmt.Errorf("--listen-address and --%s (or LISTEN_ADDRESS) are the same; give one of them", listenFlag)
	}
	return flags.Set("listen-address", e.listen)
}

// settleLevel sets the verbosity, unless --v is given.
func (e *Extender) settleLevel(flags *pflag.FlagSet) error {
	verbosity := "0"
	switch e.level {
	case "":
		return nil
	case "info":
	case "debug":
		verbosity = "4"
	case "warn", "error", "fatal":
		e.notes = append(e.notes, fmt.Sprintf("--%s=%s: lines of level info are logged as well", levelFlag, e.level))
	default:
		return fmt.Errorf("--%s: %q is not one of debug, info, warn, error and fatal", levelFlag, e.level)
	}
	if flags.Changed("v") {
		return nil
	}
	return flags.Set("v", verbosity)
}

// settleFormat sets the log format, unless --logging-format is given.
func (e *Extender) settleFormat(flags *pflag.FlagSet) error {
	if e.format == "" {
		return nil
	}
	target, err := url.Parse(e.format)
	if err != nil || target.Scheme != "logger" {
		return fmt.Errorf(`--%s: %q does not look like "logger:stderr" or "logger:stdout?json=true"`, formatFlag, e.format)
	}
	switch target.Opaque {
	case "stderr":
	case "stdout", "syslog", "eventlog":
		e.notes = append(e.notes, fmt.Sprintf("--%s=%s: logs go to standard error", formatFlag, e.format))
	default:
		return fmt.Errorf("--%s: %q is not one of stderr, stdout, syslog and eventlog", formatFlag, target.Opaque)
	}
	if target.Query().Get("json") != "true" || flags.Changed("logging-format") {
		return nil
	}
	return flags.Set("logging-format", "json")
}

// Tell logs the flags that do less than before.
func (e *Extender) Tell(ctx context.Context) {
	for _, note := range e.notes {
		klog.FromContext(ctx).Info("Flag has lost part of its meaning", "flag", note)
	}
}
