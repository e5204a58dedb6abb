package migration

import (
	"fmt"

	"github.com/evenkeel/evenkeel/policy"
)

// Action says what became of a document.
type Action string

// The actions.
const (
	// Converted: it was of an earlier form.
	Converted Action = "converted"
	// Current: it is of the current format already, and is as it was.
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
	// Is says what it is made of, such as descheduler/v1alpha1
	// DeschedulerPolicy.
	Is string
	// Data is its text as it was.
	Data []byte
}

// Result is a file in the current format.
type Result struct {
	// Text is the whole file.
	Text []byte
	// Parts are its documents, and the values inside of them that hold
	// policies.
	Parts []Part
	// Policies are what it has for Load.
	Policies []Policy
}

// place is where a stream of documents stands in a file: the entry of a manifest
// that holds it; empty for the file itself.
type place string

// of names a line of the stream.
func (p place) of(line int) string {
	if p == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s, line %d", p, line)
}

// problem names a mistake in the stream.
func (p place) problem(text string) string {
	if p == "" {
		return text
	}
	return string(p) + ": " + text
}
