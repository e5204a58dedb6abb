package compat

import (
	"bytes"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat/scheduler"
	"github.com/evenkeel/evenkeel/compat/schedulerconfig"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/policy/rewritten"
)

// converter collects the results for one file.
type converter struct {
	fileName string
	kinds    source.Kinds
	result   rewritten.File
	problems []string
	values   int // number of manifest values that hold policies
}

// stream converts the documents of a file, or of a value in a file, to the current
// format.
func (c *converter) stream(at place, data []byte) []byte {
	parts, err := policy.ReadParts(c.fileName, data)
	if err != nil && at == "" && c.patch(data) {
		return data
	}
	if err != nil {
		c.fail(at, err)
		return nil
	}
	s := stream{converter: c, at: at, policies: map[string]int{}}
	var out bytes.Buffer
	for i, part := range parts {
		text := s.document(part)
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
		if len(text) > 0 && text[len(text)-1] != '\n' && i < len(parts)-1 {
			out.WriteByte('\n')
		}
	}
	if len(s.policies) > 0 {
		name := c.fileName
		if at != "" {
			name += ": " + string(at)
		}
		c.result.Policies = append(c.result.Policies, rewritten.Policy{Name: name, Is: strings.Join(s.names, ", "), Data: s.originals.Bytes()})
	}
	if !s.changed {
		return data
	}
	return out.Bytes()
}

// patch reports which settings a file sets that is a list, like kustomize patches. It
// returns false for any other file, and for a list that contains no part of a policy.
func (c *converter) patch(data []byte) bool {
	var list []any
	if len(data) > policy.MaxFileBytes || yaml.Unmarshal(data, &list) != nil {
		return false
	}
	s := stream{converter: c}
	found := enclosuresOf("patch", list)
	for i := range found {
		s.edits(policy.Part{Text: data}, &found[i])
	}
	return len(found) > 0
}

// fail adds the problems of an error.
func (c *converter) fail(at place, err error) {
	for _, problem := range problemsOf(err) {
		c.problems = append(c.problems, at.problem(problem))
	}
}

// stream converts the documents of one stream.
type stream struct {
	*converter

	at place
	// policies holds the lines on which each kind of policy begins.
	policies map[string]int
	// originals holds the unconverted policies at their original lines.
	originals bytes.Buffer
	lines     int      // number of lines written to originals
	names     []string // names of the policies
	changed   bool
}

// document converts one document to the current format and returns it.
func (s *stream) document(part policy.Part) []byte {
	object := part.Object
	switch {
	case object == nil: // only blank lines and comments
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
	if found := enclosures(object); s.at == "" && len(found) > 0 { // chart values, or a Kustomization
		for i := range found {
			s.edits(part, &found[i])
		}
		return part.Text
	}
	if apiVersion, _ := typeOf(object); strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") && s.at == "" { // a Kustomization needs no metadata
		s.report(part, name(object, ""), rewritten.Kept)
		return part.Text
	}
	s.problems = append(s.problems, s.at.problem(fmt.Sprintf("line %d: %s is not known; expected %s", lineOf(part), typeText(object), expected)))
	return nil
}

// policy converts a document that Load accepts.
func (s *stream) policy(part policy.Part) []byte {
	padded := append(bytes.Repeat([]byte("\n"), part.SkippedLines), part.Text...)
	file, err := Load(s.fileName, padded, s.kinds)
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
			"line %d:converted to a second %s; the first begins on line %d and only one is allowed", lineOf(part), kind, first)))
		return nil
	}
	s.policies[kind] = lineOf(part)
	s.remember(part)
	text := part.Text
	if len(file.Converted) == 0 {
		s.report(part, name(part.Object, kind), rewritten.Current)
	} else {
		text = s.converted(part, file.Converted[0])
	}
	last := &s.result.Parts[len(s.result.Parts)-1]
	last.Policy = true
	s.names = append(s.names, last.Found)
	return text
}

// remember stores an unconverted policy at its original lines.
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

// maxValues is the maximum number of converted values in a file; each takes about a
// millisecond.
const maxValues = 100

// manifest converts the policies inside a manifest and marks what must be
// changed by hand.
func (s *stream) manifest(part policy.Part) []byte {
	var found []finding
	if s.at == "" { // at the top level, not inside another manifest
		found = findIn(part.Object, nil)
	}
	if len(found) == 0 {
		s.report(part, name(part.Object, ""), rewritten.Kept)
		return part.Text
	}
	var edits []edit
	for i := range found {
		edits = append(edits, s.edits(part, &found[i])...)
	}
	text, err := apply(part, edits)
	if err != nil {
		s.problems = append(s.problems, fmt.Sprintf("line %d: %s: %v", lineOf(part), name(part.Object, ""), err))
		return nil
	}
	s.changed = s.changed || string(text) != string(part.Text)
	return text
}

// edits returns the manifest edits for a finding.
func (s *stream) edits(part policy.Part, found *finding) []edit {
	if found.enclosed {
		s.report(part, found.object, rewritten.Enclosed, found.notes...)
		return nil
	}
	if len(found.marks) > 0 {
		s.report(part, found.object, rewritten.Marked, found.notes...)
		return found.marks
	}
	switch s.values++; {
	case s.values == maxValues+1:
		s.problems = append(s.problems, fmt.Sprintf("more than %d values of the file hold policies; convert them in several files", maxValues))
		return nil
	case s.values > maxValues:
		return nil
	}
	converted := string(s.stream(found.place, []byte(found.text)))
	if converted == found.text {
		return nil
	}
	return []edit{{path: found.path, value: &converted}}
}

// other converts a document that is not one of Evenkeel's.
func (s *stream) other(part policy.Part, convert convertFunc) []byte {
	doc, errs := convert(part.Object)
	if len(errs) > 0 {
		places := policy.PlacesOf(part.Text, part.SkippedLines)
		for _, err := range errs {
			s.problems = append(s.problems, s.at.problem(places.Of(err)+doc.Format+": "+check.Message(err)))
		}
		return nil
	}
	if schedulerconfig.Is(part.Object) && schedulerconfig.Current(part.Object) {
		s.report(part, name(part.Object, doc.Format), rewritten.Current, doc.Notes...)
		return part.Text
	}
	return s.converted(part, doc)
}

// converted writes a converted document, with its notes as comments.
func (s *stream) converted(part policy.Part, doc policy.Conversion) []byte {
	s.changed = true
	s.report(part, name(part.Object, doc.Format), rewritten.Converted, doc.Notes...)
	text, err := write(doc)
	if err != nil {
		s.problems = append(s.problems, s.at.problem(fmt.Sprintf("line %d: %v", lineOf(part), err)))
		return nil
	}
	return text
}

func (s *stream) report(part policy.Part, found string, action rewritten.Action, notes ...policy.Note) {
	s.result.Parts = append(s.result.Parts, rewritten.Part{Place: s.at.of(lineOf(part)), Found: found, Action: action, Notes: notes})
}
