// Package doctor looks at a policy on a live cluster and says in plain words
// what is wrong and how to fix it.
//
// It decides what is a problem and what to do about it: values in, Findings
// out. Gathering the values, which takes an API server, usage sources and
// files, is left to doctor/probe and to the command. Nothing here changes
// anything, and nothing that a server sent is repeated without being made one
// line of printable characters of bounded length.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Check is what a Finding is about.
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
	CheckPause       Check = "pause"
	CheckNodeSync    Check = "nodesync"
)

// Checks lists every Check in the order in which they are told.
func Checks() []Check {
	return []Check{
		CheckPolicy, CheckPermissions, CheckSources, CheckMatching, CheckCoverage, CheckWindows, CheckClock, CheckExtender,
		CheckPause, CheckNodeSync,
	}
}

// Level is how bad a Finding is.
type Level string

// The levels.
const (
	// OK: nothing to do.
	OK Level = "ok"
	// Warning: it works, but not as well as it could, or not for long.
	Warning Level = "warning"
	// Problem: Evenkeel does not do what the policy says until it is mended.
	Problem Level = "problem"
)

// levels are in the order in which they are told.
var levels = []Level{Problem, Warning, OK}

// Finding is one thing that was looked at.
type Finding struct {
	Check Check `json:"check"`
	Level Level `json:"level"`
	// Subject is what of the check it is about: a source, a window, a file; it
	// may be empty.
	Subject string `json:"subject,omitempty"`
	// Says is what there is, in one sentence.
	Says string `json:"says"`
	// Mend is what to do, of one or more lines; empty where all is well.
	Mend string `json:"mend,omitempty"`
}

// Report is everything that was found.
type Report struct {
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
}

// NewReport sorts findings, the worst first, and makes what they say fit to be
// shown.
func NewReport(findings []Finding) *Report {
	r := &Report{Findings: slices.Clone(findings)}
	checks := Checks()
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)),
			cmp.Compare(slices.Index(checks, a.Check), slices.Index(checks, b.Check)),
		)
	})
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Subject, f.Says, f.Mend = oneLine(f.Subject), oneLine(f.Says), printable(f.Mend)
		switch f.Level {
		case Problem:
			r.Problems++
		case Warning:
			r.Warnings++
		case OK:
		}
	}
	return r
}

// fine is a Finding of level OK.
func fine(check Check, subject, format string, args ...any) Finding {
	return Finding{Check: check, Level: OK, Subject: subject, Says: fmt.Sprintf(format, args...)}
}

// maxSays bounds what one Finding says.
const maxSays = 800

// oneLine makes one line of whatever a text has.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if runes := []rune(text); len(runes) > maxSays {
		return string(runes[:maxSays]) + "…"
	}
	return text
}

// printable drops what could do more to a terminal than being read.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
}

// count writes a number with its noun.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// maxNames bounds the names that are listed.
const maxNames = 10

// list names things, at most maxNames of them.
func list(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
