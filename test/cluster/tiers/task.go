package tiers

import (
	"regexp"
	"slices"
	"strings"
)

// Task is a test function as a tier runs it.
type Task struct {
	Case
	// Subtests are the names of the subtests to run.
	Subtests []string
	// left are the subtests of other tiers.
	left []string
}

// Tasks returns the test functions of a tier, in the order of the list.
func Tasks(cases []Case, tier Tier) []*Task {
	var tasks []*Task
	by := map[[2]string]*Task{}
	for _, c := range cases {
		if !c.IsSubtest() && tier.includes(c.Tier) {
			task := &Task{Case: c}
			tasks, by[[2]string{c.Package, c.Name}] = append(tasks, task), task
		}
	}
	for _, c := range cases {
		task := by[[2]string{c.Package, c.Function()}]
		switch {
		case task == nil || !c.IsSubtest():
		case tier.includes(c.Tier):
			task.Subtests = append(task.Subtests, c.Name)
		default:
			task.left = append(task.left, c.Name)
		}
	}
	return tasks
}

// Run returns the pattern for -test.run.
func (t *Task) Run() string { return "^" + t.Name + "$" }

// Skip returns the pattern for -test.skip: the subtests that other tiers run.
func (t *Task) Skip() string {
	patterns := make([]string, len(t.left))
	for i, name := range t.left {
		parts := strings.Split(name, "/")
		for j, part := range parts {
			parts[j] = "^" + regexp.QuoteMeta(part) + "$"
		}
		patterns[i] = strings.Join(parts, "/")
	}
	return strings.Join(patterns, "|")
}

// Differences describes which listed subtests did not run, and which that ran
// are not listed.
func (t *Task) Differences(ran []string) (words []string) {
	for _, name := range append([]string{t.Name}, t.Subtests...) {
		if !slices.Contains(ran, name) {
			words = append(words, name+" is on the list of cases and did not run")
		}
	}
	for _, name := range ran {
		if name != t.Name && !slices.Contains(t.Subtests, name) {
			words = append(words, name+" ran and is not on the list of cases: go run ./cmd/e2e --record --run "+t.Name)
		}
	}
	return words
}
