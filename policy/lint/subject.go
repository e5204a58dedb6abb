package lint

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	// Error: the policy is not taken.
	Error Level = "error"
	// Warning: something is lost, or looks like a mistake.
	Warning Level = "warning"
	// Note: worth knowing.
	Note Level = "note"
)

// Finding is one thing to know about a policy.
type Finding struct {
	// Level is how bad it is.
	Level Level `json:"level"`
	// Field is the path that it is about; empty for the policy as a whole.
	Field string `json:"field,omitempty"`
	// Text says it.
	Text string `json:"text"`
}

// Subject is a valid policy.
type Subject struct {
	// File is the policy as policy.Load gave it.
	File *policy.File
	// Profiles is its DeschedulerPolicy, decoded; nil if it has none.
	Profiles *api.DeschedulerPolicy
	// Now is the time from which on windows of time are looked at.
	Now time.Time

	load *policy.LoadPolicy
	// args are those of RealUsageLowNodeUtilization; nil if nothing is moved by
	// real usage.
	args *policy.RealUsageLowNodeUtilizationArgs
	// lines are those of the policy with args laid over.
	lines policy.Lines
}

func (s *Subject) prepare() {
	s.load, s.lines = &s.File.Load, s.File.Load.Lines
	if s.Profiles == nil {
		return
	}
	for _, profile := range s.Profiles.Profiles {
		if !slices.Contains(profile.Plugins.Balance.Enabled, policy.RealUsageLowNodeUtilizationName) {
			continue
		}
		args, _ := configOf(&profile, policy.RealUsageLowNodeUtilizationName).(*policy.RealUsageLowNodeUtilizationArgs)
		if args == nil {
			args = &policy.RealUsageLowNodeUtilizationArgs{}
		}
		s.args = args
		if lines, err := args.Overlay(s.load); err == nil {
			s.lines = lines
		}
		return
	}
}

// configOf returns a plugin's arguments, nil if the profile has none.
func configOf(profile *api.DeschedulerProfile, plugin string) runtime.Object {
	for _, config := range profile.PluginConfigs {
		if config.Name == plugin {
			return config.Args
		}
	}
	return nil
}

func warn(field, format string, args ...any) []Finding {
	return []Finding{{Level: Warning, Field: field, Text: fmt.Sprintf(format, args...)}}
}

func note(field, format string, args ...any) []Finding {
	return []Finding{{Level: Note, Field: field, Text: fmt.Sprintf(format, args...)}}
}
