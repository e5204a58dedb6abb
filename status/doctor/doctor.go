// Package doctor examines a policy on a live cluster and reports in plain words what is
// wrong and how to fix it.
//
// It decides what is a problem and what to do about it. doctor/probe and the command
// gather the input from the API server, usage sources and files. The package changes
// nothing. It reduces text from servers to one line of printable characters with bounded
// length.
package doctor

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/reasons"
)

// Check is the topic of a Finding.
type Check string

// The checks.
const (
	CheckPolicy      Check = "policy"
	CheckPermissions Check = "permissions"
	CheckSources     Check = "sources"
	CheckMatching    Check = "matching"
	CheckCoverage    Check = "coverage"
	CheckWindows     Check = "windows"
	CheckClock       Check = "clock"
	CheckExtender    Check = "extender"
	CheckSteering    Check = "steering"
	CheckPause       Check = "pause"
	CheckLedger      Check = "ledger"
	CheckNodeSync    Check = "nodesync"
)

// Level is the severity of a Finding.
type Level string

// The levels.
const (
	// OK means that there is nothing to do.
	OK Level = "ok"
	// Warning means that the subject works, but not as well as it could, or not for long.
	Warning Level = "warning"
	// Problem means that Evenkeel does not do what the policy requires until the cause is
	// fixed.
	Problem Level = "problem"
)

// levels holds the levels in the order of a report.
var levels = []Level{Problem, Warning, OK}

// Finding is the result of a check.
type Finding struct {
	Check Check `json:"check"`
	Level Level `json:"level"`
	// Subject is the subject of the check, such as a source, a window or a file; it may
	// be empty.
	Subject string `json:"subject,omitempty"`
	// Says describes the finding in one sentence.
	Says string `json:"says"`
	// Fix explains how to fix the cause, in one or more lines; empty if there is nothing
	// to fix.
	Fix string `json:"mend,omitempty"`
}

// Report holds all findings.
type Report struct {
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
}

// notes collects the findings of one check.
type notes struct {
	check    Check
	findings []Finding
}

// add appends a Finding. It may be changed until the next one is added.
func (n *notes) add(level Level, subject, format string, args ...any) *Finding {
	n.findings = append(n.findings, Finding{Check: n.check, Level: level, Subject: subject, Says: fmt.Sprintf(format, args...)})
	return &n.findings[len(n.findings)-1]
}

func (n *notes) ok(subject, format string, args ...any) *Finding {
	return n.add(OK, subject, format, args...)
}

func (n *notes) warning(subject, format string, args ...any) *Finding {
	return n.add(Warning, subject, format, args...)
}

func (n *notes) problem(subject, format string, args ...any) *Finding {
	return n.add(Problem, subject, format, args...)
}

// fix sets the explanation of how to fix the cause.
func (f *Finding) fix(how string) { f.Fix = how }

// maxSays is the maximum length of a Finding's text.
const maxSays = 800

// oneLine turns a text into one line of bounded length.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(layout.Printable(text)), " ")
	if runes := []rune(text); len(runes) > maxSays {
		return string(runes[:maxSays]) + "…"
	}
	return text
}

// maxNames is the maximum number of names listed.
const maxNames = 10

// list joins names, at most maxNames of them.
func list(names []string) string { return reasons.Names(names, maxNames) }
