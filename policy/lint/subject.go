package lint

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	// Error: the policy is rejected.
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
	// Place is where that is, as "line 3, column 5"; empty if it is not known.
	Place string `json:"place,omitempty"`
	// Text says it.
	Text string `json:"text"`
}

// FindingOf turns a converter's note into a finding.
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
	// Profiles is its DeschedulerPolicy, decoded; nil if it has none.
	Profiles *api.DeschedulerPolicy
	// Now is the time from which windows of time are checked.
	Now time.Time
}

// survey gathers findings about a policy and what it will do.
type survey struct {
	Subject

	load *policy.LoadPolicy
	// strategies are those that plan moves by usage; relieves reports whether one of
	// them moves pods off hot nodes.
	strategies []policy.Strategy
	relieves   bool
	// lines are those of the policy with the strategies' thresholds laid over.
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

// moves reports whether anything is moved by usage.
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
