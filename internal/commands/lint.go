package commands

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/lint"
	"github.com/evenkeel/evenkeel/policy/rewritten"
	"github.com/evenkeel/evenkeel/reasons"
)

// LintFormats are the output formats of `evenkeel lint`.
const LintFormats = "text|json"

// LintOptions are the flags of `evenkeel lint`.
type LintOptions struct {
	Files  []string
	Format string
	// Formats are the legacy formats that are accepted.
	Formats Formats
	// Strict treats warnings as errors.
	Strict bool
}

// LintReport is what `evenkeel lint` prints.
type LintReport struct {
	Policies []PolicyReport `json:"policies"`
}

// PolicyReport reports on one policy, or on another document of a file.
type PolicyReport struct {
	// Name is the file name, followed by the position in the file unless the policy is the
	// whole file.
	Name string `json:"name"`
	// Is is the policy's apiVersion and kind.
	Is       string         `json:"is,omitempty"`
	Findings []lint.Finding `json:"findings"`
	Does     []string       `json:"does"`
}

// Lint runs `evenkeel lint`: it reports errors and likely mistakes in policies, and
// describes what the policies do. It needs no cluster.
func Lint(options LintOptions, in io.Reader, out io.Writer, now time.Time) error {
	if err := output.Check(out, options.Format, LintFormats, ""); err != nil {
		return err
	}
	inputs, err := readInputs("lint", options.Files, in)
	if err != nil {
		return err
	}
	policyfile.SetupPlugins()
	report := LintReport{Policies: []PolicyReport{}}
	for _, file := range inputs {
		if file.err != nil {
			report.Policies = append(report.Policies, invalid(file.name, file.err))
			continue
		}
		report.Policies = append(report.Policies, lintFile(&options.Formats, file.name, file.data, now)...)
	}
	if err := output.Show(out, options.Format, "never", report, report.text); err != nil {
		return err
	}
	return report.verdict(options.Strict)
}

// lintFile examines each policy in a file, and adds the notes on the file's other
// documents.
func lintFile(formats *Formats, name string, data []byte, now time.Time) []PolicyReport {
	result, err := formats.convert(name, data)
	if err != nil {
		return []PolicyReport{invalid(name, err)}
	}
	var reports []PolicyReport
	for _, p := range result.Policies {
		reports = append(reports, lintPolicy(formats, p, now))
	}
	for i := range result.Parts {
		part := &result.Parts[i]
		if part.Policy {
			continue
		}
		report := PolicyReport{Name: fmt.Sprintf("%s: %s", name, part.Place), Is: part.Found, Findings: []lint.Finding{}, Does: []string{}}
		for _, note := range part.Notes {
			report.Findings = append(report.Findings, lint.FindingOf(note))
		}
		reports = append(reports, report)
	}
	return reports
}

func lintPolicy(formats *Formats, p rewritten.Policy, now time.Time) PolicyReport {
	report, err := examine(formats, p, now)
	if err != nil {
		return invalid(p.Name, err)
	}
	return report
}

// examine reports on a policy. An error explains why no process could start with it.
func examine(formats *Formats, p rewritten.Policy, now time.Time) (_ PolicyReport, err error) {
	defer policyfile.Recover(p.Name, &err)
	file, err := policyfile.Load(p.Name, p.Data, formats.Converters...)
	if err != nil {
		return PolicyReport{}, err
	}
	subject := lint.Subject{File: file, Now: now}
	var unchecked []lint.Finding
	if file.Runs() {
		profiles, classes, err := policyfile.Profiles(file)
		if err != nil {
			return PolicyReport{}, err
		}
		subject.Profiles = profiles
		for _, class := range classes {
			unchecked = append(unchecked, lint.Finding{
				Level: lint.Note, Field: class.Path,
				Text: fmt.Sprintf("whether priority class %q exists is not checked, because that needs an API server", class.Name),
			})
		}
		if _, err := settings.Lines(&file.Load, policy.Strategies(subject.Profiles)); err != nil {
			return PolicyReport{}, err
		}
	}
	findings, does := lint.Examine(subject)
	return PolicyReport{Name: p.Name, Is: p.Is, Findings: append(append([]lint.Finding{}, findings...), unchecked...), Does: does}, nil
}

func invalid(name string, err error) PolicyReport {
	report := PolicyReport{Name: name, Findings: []lint.Finding{}, Does: []string{}}
	problems := strings.Split(err.Error(), "\n")
	if list, ok := errors.AsType[*policy.Error](err); ok {
		problems = list.Problems
	}
	for _, problem := range problems {
		report.Findings = append(report.Findings, lint.Finding{Level: lint.Error, Text: problem})
	}
	return report
}

// errors returns the errors in the report, one per line.
func (r *PolicyReport) errors() (problems []string) {
	for _, finding := range r.Findings {
		if finding.Level == lint.Error {
			problems = append(problems, withField(finding.Place, withField(finding.Field, finding.Text)))
		}
	}
	return problems
}

// verdict returns the command's error. It counts warnings only if strict is set.
func (r *LintReport) verdict(strict bool) error {
	counts := map[lint.Level]int{}
	for i := range r.Policies {
		for _, finding := range r.Policies[i].Findings {
			counts[finding.Level]++
		}
	}
	switch {
	case counts[lint.Error] > 0:
		return exit.Usagef("lint: %s", reasons.Count(counts[lint.Error], "error"))
	case strict && counts[lint.Warning] > 0:
		return exit.Usagef("lint: %s, and --strict was given", reasons.Count(counts[lint.Warning], "warning"))
	}
	return nil
}

// text prints each finding on a line, followed by a description of what the policy does.
func (r *LintReport) text(out *layout.Page) {
	for i := range r.Policies {
		p := &r.Policies[i]
		is := ""
		if p.Is != "" {
			is = " (" + p.Is + ")"
		}
		if i > 0 {
			out.Line("", "")
		}
		out.Line("", fmt.Sprintf("%s%s", p.Name, is))
		for _, finding := range p.Findings {
			out.Line("", fmt.Sprintf("  %s: %s", finding.Level, withField(finding.Place, withField(finding.Field, finding.Text))))
		}
		if len(p.Does) > 0 {
			out.Line("", "  what it does:")
		}
		for _, sentence := range p.Does {
			out.Line("", fmt.Sprintf("    - %s", sentence))
		}
		if len(p.Findings)+len(p.Does) == 0 {
			out.Line("", "  no findings")
		}
	}
}
