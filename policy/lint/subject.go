package lint

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
)

// Level is the severity of a finding.
type Level string

// The levels, worst first.
const (
	// Error means that the policy is rejected.
	Error Level = "error"
	// Warning means that something is lost or looks like a mistake.
	Warning Level = "warning"
	// Note means that something is worth knowing.
	Note Level = "note"
)

// Finding is one remark about a policy.
type Finding struct {
	// Level is the severity of the finding.
	Level Level `json:"level"`
	// Field is the path of the field concerned; empty for the policy as a whole.
	Field string `json:"field,omitempty"`
	// Place is the position of that field, such as "line 3, column 5"; empty if unknown.
	Place string `json:"place,omitempty"`
	// Text is the finding in words.
	Text string `json:"text"`
}

// FindingOf converts a converter's note to a finding.
func FindingOf(n policy.Note) Finding {
	level := Note
	if n.Lossy {
		level = Warning
	}
	return Finding{Level: level, Field: n.Field, Text: n.Text, Place: n.Place}
}

// Subject is a valid policy.
type Subject struct {
	// File is the policy as policy.Load returned it.
	File *policy.File
	// Profiles is the policy's decoded DeschedulerPolicy; nil if there is none.
	Profiles *api.DeschedulerPolicy
	// Now is the time from which windows and blackouts are checked.
	Now time.Time
}

// survey collects findings about a policy and descriptions of what it will do.
type survey struct {
	Subject

	load *policy.LoadPolicy
	// strategies are the enabled strategies that plan moves by usage. relieves is true if one of them moves pods off
	// hot nodes.
	strategies []policy.Strategy
	relieves   bool
	// lines holds the policy's lines, overlaid with the strategies' thresholds.
	lines policy.Lines

	findings []Finding
	does     []string
}

func newSurvey(of Subject) *survey {
	s := &survey{Subject: of, load: &of.File.Load, lines: of.File.Load.Lines}
	if s.Profiles == nil {
		return s
	}
	s.strategies = policy.Strategies(s.Profiles)
	s.relieves = policy.Relieves(s.strategies)
	for _, strategy := range s.strategies {
		if strategy.Describe().Thresholds == nil {
			continue
		}
		if lines, err := policy.Overlay(s.load, strategy); err == nil {
			s.lines = lines
		}
		break
	}
	return s
}

// moves reports whether any strategy moves pods by usage.
func (s *survey) moves() bool { return len(s.strategies) > 0 }

func (s *survey) warn(field, format string, args ...any) {
	s.findings = append(s.findings, Finding{Level: Warning, Field: field, Text: fmt.Sprintf(format, args...)})
}

func (s *survey) note(field, format string, args ...any) {
	s.findings = append(s.findings, Finding{Level: Note, Field: field, Text: fmt.Sprintf(format, args...)})
}

func (s *survey) say(format string, args ...any) {
	s.does = append(s.does, fmt.Sprintf(format, args...))
}

// sayOf adds a sentence about a list unless it is empty.
func (s *survey) sayOf(list []string, separator, format string) {
	if len(list) > 0 {
		s.say(format, strings.Join(list, separator))
	}
}
