package migration

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
)

// Action says what became of a document.
type Action string

// The actions.
const (
	// Converted: it was of an earlier form.
	Converted Action = "converted"
	// Current: it is of today's form already, and is as it was.
	Current Action = "current"
	// Marked: it is as it was but for comments that say what to change in it.
	Marked Action = "marked"
	// Kept: it is no policy, and is as it was.
	Kept Action = "kept"
)

// Part says what became of one document of a file.
type Part struct {
	// Place says where it stands, such as line 12.
	Place string
	// Found is what it is, such as descheduler/v1alpha1 DeschedulerPolicy.
	Found string
	// Action is what became of it.
	Action Action
	// Policy says that it is one of the documents of a Policy.
	Policy bool
	// Notes say what has changed, or has to be.
	Notes []policy.Note
}

// Policy is a policy that a file holds: the file itself, or a value in it.
type Policy struct {
	// Name is what messages call it.
	Name string
	// Is says what it is made of, such as descheduler/v1alpha1 DeschedulerPolicy.
	Is string
	// Data is its text as it was.
	Data []byte
}

// Result is a file in today's form.
type Result struct {
	// Text is the whole file.
	Text []byte
	// Parts are its documents, and the values inside of them that hold policies.
	Parts []Part
	// Policies are what it has for Load.
	Policies []Policy
}

// ConvertFile converts a file. fileName is used in messages only. The error, if any, is
// a *policy.Error that holds every mistake found.
func ConvertFile(fileName string, data []byte) (*Result, error) {
	c := &converter{fileName: fileName}
	text := c.stream(place{}, data)
	if len(c.problems) == 0 && len(c.result.Parts) == 0 {
		c.problems = append(c.problems, "the file holds no document; expected "+expected)
	}
	if len(text) > policy.MaxFileBytes && len(c.problems) == 0 {
		c.problems = append(c.problems, fmt.Sprintf("in today's form the file has %d bytes; at most %d are allowed", len(text), policy.MaxFileBytes))
	}
	if len(c.problems) > 0 {
		return nil, policy.NewError(fileName, c.problems)
	}
	c.result.Text = text
	return &c.result, nil
}

// place is where a stream of documents stands in a file.
type place struct {
	// value names the entry of a manifest that holds the stream; empty for the
	// file itself.
	value string
}

// of names a line of the stream.
func (p place) of(line int) string {
	if p.value == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s, line %d", p.value, line)
}

// problem names a mistake in the stream.
func (p place) problem(text string) string {
	if p.value == "" {
		return text
	}
	return p.value + ": " + text
}

// converter gathers what is found in one file.
type converter struct {
	fileName string
	result   Result
	problems []string
	values   int // of manifests that hold policies
}

// stream returns the documents of a file, or of a value in it, in today's form.
func (c *converter) stream(at place, data []byte) []byte {
	parts, err := policy.ReadParts(c.fileName, data)
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
		if at.value != "" {
			name += ": " + at.value
		}
		c.result.Policies = append(c.result.Policies, Policy{Name: name, Is: strings.Join(s.names, ", "), Data: s.originals.Bytes()})
	}
	if !s.changed {
		return data
	}
	return out.Bytes()
}

// fail takes over the problems of an error.
func (c *converter) fail(at place, err error) {
	for _, problem := range problemsOf(err) {
		c.problems = append(c.problems, at.problem(problem))
	}
}
