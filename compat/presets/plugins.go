package presets

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// The names of legacy kube-scheduler plugins whose args Evenkeel's plugin accepts.
const (
	// MemRealUsage and CPURealUsage come from the same project.
	MemRealUsage = "MemRealUsage"
	CPURealUsage = "CpuRealUsage"
	// Dynamic is crane-scheduler's plugin.
	Dynamic = "Dynamic"
)

// PluginNames returns the names of legacy plugins.
func PluginNames() []string { return []string{Dynamic, MemRealUsage, CPURealUsage} }

// PluginPolicy is the policy that a legacy plugin's args select: the file at a path or,
// if the path is empty, a preset.
type PluginPolicy struct {
	File   string
	Preset policy.Conversion
}

// ReadPlugin reads the args of a legacy plugin, without apiVersion and kind, or returns
// all errors in them. Nil means no args.
func ReadPlugin(name string, args map[string]any) (PluginPolicy, field.ErrorList) {
	if name == Dynamic {
		return readDynamic(args)
	}
	return readRealUsage(name == CPURealUsage, args)
}

// dynamicPolicy is the default policy path of crane-scheduler's plugin.
const dynamicPolicy = "/etc/kubernetes/dynamic-scheduler-policy.yaml"

func readDynamic(given map[string]any) (PluginPolicy, field.ErrorList) {
	// The policy is a DynamicSchedulerPolicy or one of Evenkeel's policy files.
	args := struct {
		PolicyConfigPath string `json:"policyConfigPath"`
	}{dynamicPolicy}
	if errs := shape.Decode(given, &args); len(errs) > 0 {
		return PluginPolicy{}, errs
	}
	if args.PolicyConfigPath == "" {
		return PluginPolicy{}, field.ErrorList{field.Required(field.NewPath("policyConfigPath"), "must name a file")}
	}
	return PluginPolicy{File: args.PolicyConfigPath}, nil
}

// defaultSeconds is the default both for a query's timeout and for the time between two
// queries.
const defaultSeconds = 10

func readRealUsage(cpu bool, given map[string]any) (PluginPolicy, field.ErrorList) {
	args := struct {
		PrometheusAPIAddr          string `json:"prometheusApiAddr"`
		QueryMetricTimeSeconds     int    `json:"queryMetricTimeSeconds"`
		QueryMetricIntervalSeconds int    `json:"queryMetricIntervalSeconds"`
	}{QueryMetricTimeSeconds: defaultSeconds, QueryMetricIntervalSeconds: defaultSeconds}
	if errs := shape.Decode(given, &args); len(errs) > 0 {
		return PluginPolicy{}, errs
	}
	preset, errs := RealUsage{
		CPU: cpu, PrometheusURL: args.PrometheusAPIAddr,
		TimeoutSeconds: args.QueryMetricTimeSeconds, IntervalSeconds: args.QueryMetricIntervalSeconds,
	}.Preset()
	return PluginPolicy{Preset: preset}, errs
}
