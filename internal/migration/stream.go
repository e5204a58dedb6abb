package migration

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/internal/migration/scheduler"
	"github.com/evenkeel/evenkeel/internal/migration/schedulerconfig"
	"github.com/evenkeel/evenkeel/policy"
)

// expected names what a file may hold, for messages.
const expected = "a DeschedulerPolicy (descheduler/v1alpha1 or v1alpha2), a LoadPolicy (" + policy.GroupVersion + "), " +
	"a DynamicSchedulerPolicy (scheduler.policy.crane.io/v1alpha1), rules of dynamicScheduler (Rulename), " +
	"a Policy or a KubeSchedulerConfiguration of kube-scheduler, or manifests of Kubernetes"

// Help names the forms that are converted, for a help text.
const Help = "a DeschedulerPolicy of v1alpha1, Crane's DynamicSchedulerPolicy, dynamicScheduler's rules, kube-scheduler's Policy\n" +
	"or its KubeSchedulerConfiguration of a beta version"

// stream converts the documents of one stream.
type stream struct {
	*converter

	at place
	// policies are the lines on which each kind of policy begins.
	policies map[string]int
	// originals holds the policies as they were, on the lines where they were.
	originals bytes.Buffer
	lines     int      // written to originals
	names     []string // of the policies
	changed   bool
}

// document returns one document in today's form.
func (s *stream) document(part policy.Part) []byte {
	object := part.Object
	switch {
	case object == nil: // blank lines and comments
		return part.Text
	case isPolicy(object):
		return s.policy(part)
	case scheduler.Is(object):
		return s.other(part, scheduler.Convert)
	case schedulerconfig.Is(object):
		return s.other(part, schedulerconfig.Convert)
	case isManifest(object):
		return s.manifest(part)
	}
	s.problems = append(s.problems, s.at.problem(fmt.Sprintf("line %d: %s is not known; expected %s", lineOf(part), typeText(object), expected)))
	return nil
}

func lineOf(part policy.Part) int {
	line := part.SkippedLines + 1
	for text := range bytes.Lines(part.Text) { // comments in front belong to nobody
		trimmed := bytes.TrimSpace(text)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		line++
	}
	return line
}

// typeText names the type of a document in messages.
func typeText(object map[string]any) string {
	apiVersion, kind := typeOf(object)
	if apiVersion == "" && kind == "" {
		return "a document without apiVersion and kind"
	}
	return fmt.Sprintf("apiVersion %q with kind %q", shorten(apiVersion), shorten(kind))
}

// name is how a part calls its document.
func name(object map[string]any, fallback string) string {
	apiVersion, kind := typeOf(object)
	if apiVersion == "" && kind == "" {
		return fallback
	}
	return shorten(apiVersion + " " + kind)
}

// policyKinds are the kinds that Load takes, of any version: a version that
// it does not know is its error to tell.
var policyKinds = map[string]string{
	policy.LoadPolicyKind:    "evenkeel.io/",
	"DeschedulerPolicy":      "descheduler/",
	"DynamicSchedulerPolicy": "scheduler.policy.crane.io/",
}

func isPolicy(object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	group, known := policyKinds[kind]
	return known && strings.HasPrefix(apiVersion, group) || converterOf(object) != nil
}

// policy converts a document that Load takes.
func (s *stream) policy(part policy.Part) []byte {
	padded := append(bytes.Repeat([]byte("\n"), part.SkippedLines), part.Text...)
	file, err := Load(s.fileName, padded)
	if err != nil {
		s.fail(s.at, err)
		return nil
	}
	kind := policy.LoadPolicyKind
	if file.Descheduler != nil {
		kind = "DeschedulerPolicy"
	}
	if first, again := s.policies[kind]; again {
		s.problems = append(s.problems, s.at.problem(fmt.Sprintf(
			"line %d: in today's form a second %s; the first begins on line %d and only one is allowed", lineOf(part), kind, first)))
		return nil
	}
	s.policies[kind] = lineOf(part)
	s.remember(part)
	text := part.Text
	if len(file.Converted) == 0 {
		s.tell(part, name(part.Object, kind), Current)
	} else {
		text = s.converted(part, file.Converted[0])
	}
	told := &s.result.Parts[len(s.result.Parts)-1]
	told.Policy = true
	s.names = append(s.names, told.Found)
	return text
}

// remember keeps a policy as it was, on the lines where it was.
func (s *stream) remember(part policy.Part) {
	if s.lines > 0 {
		s.originals.WriteString("---\n")
		s.lines++
	}
	for ; s.lines < part.SkippedLines; s.lines++ {
		s.originals.WriteByte('\n')
	}
	s.originals.Write(part.Text)
	s.lines += bytes.Count(part.Text, []byte("\n"))
	if n := len(part.Text); n > 0 && part.Text[n-1] != '\n' {
		s.originals.WriteByte('\n')
		s.lines++
	}
}

// other converts a document that is none of Evenkeel's own files.
func (s *stream) other(part policy.Part, convert convertFunc) []byte {
	doc, errs := convert(part.Object)
	for _, err := range errs {
		s.problems = append(s.problems, s.at.problem(doc.Format+": "+err.Error()))
	}
	if len(errs) > 0 {
		return nil
	}
	if schedulerconfig.Is(part.Object) && schedulerconfig.Current(part.Object) {
		s.tell(part, name(part.Object, doc.Format), Current, doc.Notes...)
		return part.Text
	}
	return s.converted(part, doc)
}

// converted writes a converted document, with its notes as comments.
func (s *stream) converted(part policy.Part, doc policy.Conversion) []byte {
	s.changed = true
	s.tell(part, name(part.Object, doc.Format), Converted, doc.Notes...)
	text, err := write(doc)
	if err != nil {
		s.problems = append(s.problems, s.at.problem(fmt.Sprintf("line %d: %v", lineOf(part), err)))
		return nil
	}
	return text
}

func (s *stream) tell(part policy.Part, found string, action Action, notes ...policy.Note) {
	s.result.Parts = append(s.result.Parts, Part{Place: s.at.of(lineOf(part)), Found: found, Action: action, Notes: notes})
}

// problemsOf returns the lines of a policy.Error.
func problemsOf(err error) []string {
	if invalid, ok := errors.AsType[*policy.Error](err); ok {
		return invalid.Problems
	}
	return []string{err.Error()}
}

// shorten keeps messages to one readable line.
func shorten(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return oneLine(text)
}
