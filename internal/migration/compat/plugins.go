package compat

import (
	"errors"
	"fmt"

	"github.com/evenkeel/evenkeel/internal/migration/presets"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// The names of legacy kube-scheduler plugins, whose args Evenkeel's accepts.
const (
	// MemRealUsage and CPURealUsage belong to one project.
	MemRealUsage = "MemRealUsage"
	CPURealUsage = "CpuRealUsage"
	// Dynamic is crane-scheduler's.
	Dynamic = "Dynamic"
)

// PluginNames returns the names of legacy plugins.
func PluginNames() []string { return []string{Dynamic, MemRealUsage, CPURealUsage} }

// PluginPolicy is the policy that a legacy plugin's args ask for.
type PluginPolicy struct {
	// File is its path. Given, if set, is a policy without a file, and Text its
	// text.
	File  string
	Given *policy.File
	Text  string
}

// DecodeArgs decodes the args of a plugin strictly.
type DecodeArgs func(into any) error

// ReadPlugin reads the args of a legacy plugin.
func ReadPlugin(name string, decode DecodeArgs) (PluginPolicy, error) {
	if name == Dynamic {
		return readDynamic(decode)
	}
	return readRealUsage(name == CPURealUsage, decode)
}

// dynamicPolicy is the default policy path of crane-scheduler's plugin.
const dynamicPolicy = "/etc/kubernetes/dynamic-scheduler-policy.yaml"

func readDynamic(decode DecodeArgs) (PluginPolicy, error) {
	// A DynamicSchedulerPolicy, or a policy file of Evenkeel's.
	args := struct {
		PolicyConfigPath string `json:"policyConfigPath"`
	}{dynamicPolicy}
	if err := decode(&args); err != nil {
		return PluginPolicy{}, err
	}
	if args.PolicyConfigPath == "" {
		return PluginPolicy{}, errors.New("args: policyConfigPath: must name a file")
	}
	return PluginPolicy{File: args.PolicyConfigPath}, nil
}

// defaultSeconds is the default of a query's timeout and of the time between
// two queries.
const defaultSeconds = 10

func readRealUsage(cpu bool, decode DecodeArgs) (PluginPolicy, error) {
	var args struct {
		PrometheusAPIAddr          string `json:"prometheusApiAddr"`
		QueryMetricTimeSeconds     *int   `json:"queryMetricTimeSeconds"`
		QueryMetricIntervalSeconds *int   `json:"queryMetricIntervalSeconds"`
	}
	if err := decode(&args); err != nil {
		return PluginPolicy{}, err
	}
	preset, errs := presets.RealUsage{
		CPU: cpu, PrometheusURL: args.PrometheusAPIAddr,
		TimeoutSeconds: orDefault(args.QueryMetricTimeSeconds), IntervalSeconds: orDefault(args.QueryMetricIntervalSeconds),
	}.Preset()
	if len(errs) > 0 {
		return PluginPolicy{}, fmt.Errorf("args: %w", errs.ToAggregate())
	}
	file, text, err := presets.Load("args", preset, kinds.All)
	return PluginPolicy{Given: file, Text: text}, err
}

func orDefault(seconds *int) int {
	if seconds == nil {
		return defaultSeconds
	}
	return *seconds
}
