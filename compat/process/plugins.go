package process

import (
	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// PluginNames returns the names of legacy kube-scheduler plugins whose args Evenkeel's
// plugin accepts.
func PluginNames() []string { return presets.PluginNames() }

// PluginPolicy is the policy that a legacy plugin's args select.
type PluginPolicy struct {
	// File is the path of the policy. Given, if set, is a policy without a file, and Text is
	// its text.
	File  string
	Given *policy.File
	Text  string
}

// ReadPlugin reads the args of a legacy plugin; args contains neither apiVersion nor
// kind.
func ReadPlugin(name string, args map[string]any) (PluginPolicy, error) {
	asked, errs := presets.ReadPlugin(name, args)
	if len(errs) > 0 {
		return PluginPolicy{}, errs.ToAggregate()
	}
	if asked.File != "" {
		return PluginPolicy{File: asked.File}, nil
	}
	file, text, err := presets.Load("args", asked.Preset, kinds.All)
	return PluginPolicy{Given: file, Text: text}, err
}
