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
	"fmt"
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

// notes are what one check finds.
type notes struct {
	check    Check
	findings []Finding
}

// add notes what there is. The Finding may be changed until the next is added.
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

// fix says what to do about it.
func (f *Finding) fix(mend string) *Finding {
	f.Mend = mend
	return f
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

// maxNames bounds the names that are listed.
const maxNames = 10

// list names things, at most maxNames of them.
func list(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
