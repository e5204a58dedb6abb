package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The maximum times that a new user should have to wait.
const (
	hotWithin        = 15 * time.Second // from the build until the hot nodes are shown
	planWithin       = 2 * time.Minute  // from then until a plan is shown, with metrics-server
	planWithinByProm = 15 * time.Second // until a plan is shown, with Prometheus
	reliefWithin     = 2 * time.Minute  // from that plan until the nodes are cool
)

// written records the input and the output.
type written struct {
	// Release is the Kubernetes release; Nodes and Pods are the numbers in the
	// cluster.
	Release     string
	Nodes, Pods int
	Steps       []step
}

// step is an input, its output, and how long it took.
type step struct {
	Title, Before string
	// File, if set, is shown before the step as a YAML file with that name.
	File, Content string
	Typed, Output string
	Took          time.Duration
	// AtMost is the limit for Took; 0 means no limit. What describes what happens in that
	// time.
	AtMost time.Duration
	What   string
}

// late returns an error that names the steps that took too long.
func (w *written) late() error {
	var errs []error
	for _, s := range w.Steps {
		if s.AtMost > 0 && s.Took > s.AtMost {
			errs = append(errs, fmt.Errorf("%s took %v, at most %v", s.What, seconds(s.Took), s.AtMost))
		}
	}
	return errors.Join(errs...)
}

// markdown returns the document.
func (w *written) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Transcript of a first contact

Written by %s, on a local cluster of Kubernetes %s with %d nodes and %d pods: what was typed, what
came out, and how long it took. Do not edit it: run that command again.

| | took | at most |
|---|---|---|
`, "`make transcript`", w.Release, w.Nodes, w.Pods)
	for _, s := range w.Steps {
		if s.AtMost > 0 {
			fmt.Fprintf(&b, "| %s | %v | %v |\n", s.What, seconds(s.Took), s.AtMost)
		}
	}
	for _, s := range w.Steps {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.Title, s.Before)
		if s.File != "" {
			fmt.Fprintf(&b, "\n`%s`:\n\n```yaml\n%s\n```\n", s.File, strings.TrimSpace(s.Content))
		}
		fmt.Fprintf(&b, "\n```console\n$ %s\n%s```\n\nIt took %v.\n", s.Typed, fold(s.Output), seconds(s.Took))
	}
	return b.String()
}

// mostLines is the maximum number of lines to show of an output.
const mostLines = 60

// fold shortens an output and states by how much. The result ends with a line break
// unless it is empty.
func fold(output string) string {
	output = strings.TrimRight(output, "\n")
	if output == "" {
		return ""
	}
	lines := strings.Split(output, "\n")
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("... and %d more lines", more))
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.Join(lines, "\n") + "\n"
}

// seconds rounds to a tenth of a second.
func seconds(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// rowsOf returns an error unless the output has a line for each node. If words are given,
// each line must contain one of them.
func rowsOf(output string, nodes []string, words ...string) error {
	var errs []error
	for _, node := range nodes {
		found := false
		for line := range strings.Lines(output) {
			found = found || hasWord(line, node) && (len(words) == 0 || containsAny(line, words))
		}
		if !found {
			errs = append(errs, fmt.Errorf("no line of the output has %s %s:\n%s", node, strings.Join(words, " or "), output))
		}
	}
	return errors.Join(errs...)
}

// ends replaces characters that may follow a name with spaces.
var ends = strings.NewReplacer(":", " ", ",", " ", ".", " ", "\n", " ")

// hasWord reports whether a line contains the name as a whole word.
func hasWord(line, name string) bool { return strings.Contains(" "+ends.Replace(line), " "+name+" ") }

func containsAny(line string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) })
}
