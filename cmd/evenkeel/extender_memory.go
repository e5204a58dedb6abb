package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/migration/memory"
)

// memoryFlags are the flags of kube-scheduler-extender, by which the command takes its place. Those of Prometheus choose its
// policy as a preset; its other flags have equals that they are taken for.
type memoryFlags struct {
	settings memory.Settings

	listen    string
	logBodies bool
	level     string
	format    string

	// notes say what is not as it was there.
	notes []string
}

// The flags that are no settings of the policy.
const (
	listenFlag = "listen_address"
	bodyFlag   = "log_request_body"
	levelFlag  = "log.level"
	formatFlag = "log.format"
)

func (m *memoryFlags) add(flags *pflag.FlagSet) {
	m.settings = memory.Default()
	s := &m.settings
	flags.StringVar(&s.PrometheusURL, memory.NameURL, s.PrometheusURL,
		"Memory preset, in place of a policy file: keep pods off nodes by a metric of this Prometheus. Also PROMETHEUS_URL.")
	flags.StringVar(&s.Metric, memory.NameMetric, s.Metric,
		"Memory preset: the metric, percent by the label instance. Also PROMETHEUS_MEMORY_METRICS.")
	flags.Float64Var(&s.ThresholdPercent, memory.NameThreshold, s.ThresholdPercent,
		"Memory preset: the usage in percent from which on nodes get no pods. Also PROMETHEUS_MEMORY_THRESHOLD.")
	flags.StringVar(&m.listen, listenFlag, "", "As --listen-address. With the memory preset also LISTEN_ADDRESS.")
	flags.BoolVar(&m.logBodies, bodyFlag, false, "Log what is asked, the first 4 kB of each request. With the memory preset also LOG_REQUEST_BODY.")
	flags.StringVar(&m.level, levelFlag, "", "As --v: debug is 4, info, warn, error and fatal are 0.")
	flags.StringVar(&m.format, formatFlag, "", `As --logging-format, such as "logger:stderr?json=true".`)
}

// presetFlags choose the preset; otherFlags have variables that count with it only. Of each its variable.
var (
	presetFlags = [][2]string{
		{memory.NameURL, "PROMETHEUS_URL"},
		{memory.NameMetric, "PROMETHEUS_MEMORY_METRICS"},
		{memory.NameThreshold, "PROMETHEUS_MEMORY_THRESHOLD"},
	}
	otherFlags = [][2]string{{listenFlag, "LISTEN_ADDRESS"}, {bodyFlag, "LOG_REQUEST_BODY"}}
)

// settle takes the flags and the environment for what they mean to the options and to the other flags.
func (m *memoryFlags) settle(flags *pflag.FlagSet, options *app.Options) error {
	chosen, err := fromEnvironment(flags, presetFlags)
	if err != nil {
		return err
	}
	if len(chosen) > 0 {
		if options.PolicyFile != "" {
			return fmt.Errorf("%s and --policy-config-file exclude each other: the one is the memory preset, the other a policy of one's own",
				strings.Join(chosen, ", "))
		}
		if _, err := fromEnvironment(flags, otherFlags); err != nil {
			return err
		}
		if _, errs := memory.Preset(m.settings); len(errs) > 0 {
			return fmt.Errorf("memory preset: %w", errs.ToAggregate())
		}
		options.Memory = &m.settings
	}
	options.LogBodies = m.logBodies
	return errors.Join(m.settleAddress(flags, options), m.settleLevel(flags), m.settleFormat(flags))
}

// fromEnvironment sets the flags that are not given by their variables and returns what is given of either.
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

func (m *memoryFlags) settleAddress(flags *pflag.FlagSet, options *app.Options) error {
	switch {
	case m.listen == "":
		return nil
	case flags.Changed("listen-address"):
		return fmt.Errorf("--listen-address and --%s (or LISTEN_ADDRESS) are the same; give one of them", listenFlag)
	}
	options.ListenAddress = m.listen
	return nil
}

// settleLevel leaves what --v says as it is.
func (m *memoryFlags) settleLevel(flags *pflag.FlagSet) error {
	verbosity := "0"
	switch m.level {
	case "":
		return nil
	case "info":
	case "debug":
		verbosity = "4"
	case "warn", "error", "fatal":
		m.notes = append(m.notes, fmt.Sprintf("--%s=%s: lines of level info are logged as well", levelFlag, m.level))
	default:
		return fmt.Errorf("--%s: %q is none of debug, info, warn, error and fatal", levelFlag, m.level)
	}
	if flags.Changed("v") {
		return nil
	}
	return flags.Set("v", verbosity)
}

// settleFormat leaves what --logging-format says as it is.
func (m *memoryFlags) settleFormat(flags *pflag.FlagSet) error {
	if m.format == "" {
		return nil
	}
	target, err := url.Parse(m.format)
	if err != nil || target.Scheme != "logger" {
		return fmt.Errorf(`--%s: %q is not as in "logger:stderr" or "logger:stdout?json=true"`, formatFlag, m.format)
	}
	switch target.Opaque {
	case "stderr":
	case "stdout", "syslog", "eventlog":
		m.notes = append(m.notes, fmt.Sprintf("--%s=%s: logs go to standard error", formatFlag, m.format))
	default:
		return fmt.Errorf("--%s: %q is none of stderr, stdout, syslog and eventlog", formatFlag, target.Opaque)
	}
	if target.Query().Get("json") != "true" || flags.Changed("logging-format") {
		return nil
	}
	return flags.Set("logging-format", "json")
}

// tell logs what is not as it was there.
func (m *memoryFlags) tell(ctx context.Context) {
	for _, note := range m.notes {
		klog.FromContext(ctx).Info("A flag means less than it did", "flag", note)
	}
}
