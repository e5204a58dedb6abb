package compat

import (
	"errors"
	"fmt"

	"github.com/evenkeel/evenkeel/internal/migration/presets"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// The names of earlier plugins of kube-scheduler, whose args Evenkeel's takes.
const (
	// MemRealUsage and CPURealUsage are those of one project.
	MemRealUsage = "MemRealUsage"
	CPURealUsage = "CpuRealUsage"
	// Dynamic is crane-scheduler's.
	Dynamic = "Dynamic"
)

// PluginNames returns the names of earlier plugins.
func PluginNames() []string { return []string{Dynamic, MemRealUsage, CPURealUsage} }

// PluginPolicy is the policy that an earlier plugin's args ask for.
type PluginPolicy struct {
	// File is its path. Given, if set, is a policy in no file, and Text its
	// text.
	File  string
	Given *policy.File
	Text  string
}

// DecodeArgs decodes the args of a plugin strictly.
type DecodeArgs func(into any) error

// ReadPlugin reads the args of an earlier plugin.
func ReadPlugin(name string, decode DecodeArgs) (PluginPolicy, error) {
	if name == Dynamic {
		return readDynamic(decode)
	}
	return readRealUsage(name == CPURealUsage, decode)
}

// dynamicPolicy is where crane-scheduler's plugin looks for its policy.
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

// defaultSeconds is how long a query may take, and the time between two, where
// the args do not say.
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
