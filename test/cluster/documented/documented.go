// Package documented selects the documented command lines that can be run on a
// local cluster, states why the others cannot, and fills in the placeholders.
// All of them are parsed elsewhere: Evenkeel's in cmd/evenkeel, the others in
// hack/documents.
package documented

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/hack/documents"
)

// Run is a documented command line to run, or the part of it that can be run.
type Run struct {
	// Where is the document and the line.
	Where string
	// Pipelines are run one after the other, in the same folder.
	Pipelines []Pipeline
}

// Pipeline is a command with the commands that it is piped into.
type Pipeline struct {
	// Text is what to type.
	Text string
	// Command is Evenkeel's subcommand, such as top.
	Command string
	// Args are its arguments.
	Args []string
}

// Left is a documented command that is not run, and the reason.
type Left struct{ Where, Text, Why string }

// untried explains why the commands of other programs are not run.
var untried = map[documents.Program]string{
	documents.Unknown: Unexplained,
	documents.Make:    "targets and variables are checked; each takes minutes, and those of tests would run this one",
	documents.Kubectl: "kubectl need not be installed here; verbs, flags, names and files are checked, and folders rendered",
	documents.Go:      "packages and tests are checked; CI runs them all",
	documents.Tool:    "it is somebody else's, and need not be installed here; the files that it names are checked",
}

// usable holds programs that Evenkeel's command lines are piped into.
var usable = []string{"head", "source", "xargs"}

// lasting holds the commands that keep running. Separate cases cover each of them.
var lasting = []string{"run", "serve", "extender", "nodesync"}

// except holds command lines of Evenkeel that are not run, and why.
var except = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`completion fish`), "it is for the shell fish"},
	{regexp.MustCompile(`evenkeel ui\b`), "it forwards a port of a pod, and no pod runs here; it keeps running, too"},
}

// Choose divides command lines shown in blocks into those to run, each once, and those
// that are left out. Commands that clean up come last.
func Choose(lines []documents.Line) (runs []Run, left []Left) {
	seen := map[string]bool{}
	for _, line := range lines {
		if line.Mention {
			continue
		}
		run := Run{Where: line.Where()}
		for _, p := range line.Pipelines {
			chosen, why := choose(p)
			if why != "" {
				left = append(left, Left{line.Where(), p.Text, why})
				continue
			}
			run.Pipelines = append(run.Pipelines, chosen)
		}
		if key := strings.ReplaceAll(fmt.Sprint(run.Pipelines), "bin/evenkeel", "evenkeel"); len(run.Pipelines) > 0 && !seen[key] {
			seen[key] = true
			runs = append(runs, run)
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return a.order() - b.order() })
	return runs, left
}

// Cleans reports whether the run removes something that other runs need.
func (r *Run) Cleans() bool { return r.order() > 0 }

// order returns 0 for a run that only reads, and more for one that removes something.
func (r *Run) order() int {
	for _, p := range r.Pipelines {
		switch {
		case p.Command == "cleanup" && slices.Contains(p.Args, "--ledger"):
			return 3
		case p.Command == "cleanup":
			return 2
		case p.Command == "nodesync":
			return 1
		}
	}
	return 0
}

// choose returns the pipeline to run, or why it is left out.
func choose(p documents.Pipeline) (chosen Pipeline, why string) {
	chosen.Text = p.Text
	for _, c := range p.Commands {
		switch {
		case c.Program == documents.Evenkeel && chosen.Command == "" && len(c.Args) > 0:
			chosen.Command, chosen.Args = c.Args[0], c.Args[1:]
		case c.Program == documents.Evenkeel || slices.Contains(usable, c.Name):
		default:
			return chosen, untried[c.Program]
		}
	}
	if slices.Contains(lasting, chosen.Command) && !slices.Contains(chosen.Args, "--remove") {
		return chosen, "it keeps running, and cases of its own run it"
	}
	for _, e := range except {
		if e.pattern.MatchString(p.Text) {
			return chosen, e.why
		}
	}
	if chosen.Command == "" {
		return chosen, "it runs nothing of Evenkeel"
	}
	return chosen, ""
}

// Unexplained is the reason for commands without a stated one.
const Unexplained = "no reason is known"

// Lasts reports whether the pipeline runs until it is interrupted.
func (p *Pipeline) Lasts() bool { return slices.Contains(p.Args, "--watch") }

// Codes returns the documented exit codes of a command that succeeds.
func (p *Pipeline) Codes() []int {
	switch {
	case p.Lasts():
		return []int{0, 130} // 130: interrupted
	case p.Command == "doctor":
		return []int{0, 1} // 1: it found a problem
	}
	return []int{0}
}

// Offline reports whether the command uses no cluster.
func (p *Pipeline) Offline() bool {
	return slices.Contains([]string{"certificates", "completion", "convert", "lint", "simulate"}, p.Command)
}

// Writes reports whether the pipeline writes a file with that name.
func (p *Pipeline) Writes(name string) bool {
	for i, arg := range p.Args {
		if slices.Contains([]string{"--out", "-o", "--report", "--directory"}, arg) && i+1 < len(p.Args) && p.Args[i+1] == name {
			return true
		}
	}
	return false
}

// Place holds a cluster's values for the placeholders in documents.
type Place struct {
	// Node is a hot node, Pod a pod on it as NAMESPACE/NAME.
	Node, Pod string
	// Reports is the address at which a serving process serves reports, Extender the address
	// that kube-scheduler calls.
	Reports, Extender string
	// Kubeconfig is the file that kubectl would use.
	Kubeconfig string
}

// fills replaces placeholders, and durations that would take a day. In the replacement, a
// word in braces refers to a field of Place.
var fills = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`^kubectl evenkeel `), "kubectl-evenkeel "}, // this is what kubectl runs
	{regexp.MustCompile(`\bnode (NAME|worker-\d+)\b`), "node {node}"},
	{regexp.MustCompile(`\bpod (NAMESPACE/NAME|shop/[a-z0-9-]+)`), "pod {pod}"},
	{regexp.MustCompile(`127\.0\.0\.1:8889\b`), "{reports}"},
	{regexp.MustCompile(`127\.0\.0\.1:8888\b`), "{extender}"},
	{regexp.MustCompile(`--kubeconfig FILE\b`), "--kubeconfig {kubeconfig}"},
	{regexp.MustCompile(` --interval 5m\b`), ""},
	{regexp.MustCompile(`--for 24h\b`), "--for 25s --interval 5s"},
	{regexp.MustCompile(`--observe 3m\b`), "--observe 20s"},
	// A recording of a few seconds does not cover a day.
	{regexp.MustCompile(`--recording (\S+)`), "--recording $1 --stretch --warm-up 0"},
	// One pod of a plan is enough, because explaining a pod takes as long as a plan.
	{regexp.MustCompile(`\| xargs -n 1 `), "| head -n 1 | xargs -n 1 "},
}

// Fill returns what to type on a cluster.
func (p *Pipeline) Fill(place Place) string {
	text := p.Text
	for _, f := range fills {
		text = f.pattern.ReplaceAllString(text, f.with)
	}
	return strings.NewReplacer(
		"{node}", place.Node, "{pod}", place.Pod, "{reports}", place.Reports, "{extender}", place.Extender, "{kubeconfig}", place.Kubeconfig,
	).Replace(text)
}
