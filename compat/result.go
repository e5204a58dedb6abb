package compat

import (
	"fmt"

	"github.com/evenkeel/evenkeel/policy"
)

// Action says what was done with a document.
type Action string

// The actions.
const (
	// Converted: it was in a legacy format.
	Converted Action = "converted"
	// Current: it is in the current format already and unchanged.
	Current Action = "current"
	// Marked: it is unchanged except for comments on what to change in it.
	Marked Action = "marked"
	// Enclosed: it is unchanged, and a policy is inside that has to be taken out.
	Enclosed Action = "enclosed"
	// Kept: it is not a policy, and unchanged.
	Kept Action = "kept"
)

// Part says what was done with one document of a file.
type Part struct {
	// Place says where it is, such as line 12.
	Place string
	// Found is what it is, such as descheduler/v1alpha1 DeschedulerPolicy.
	Found string
	// Action is what was done with it.
	Action Action
	// Policy says that it is one of the documents of a Policy.
	Policy bool
	// Notes say what has changed, or has to be.
	Notes []policy.Note
}

// Policy is a policy in a file: the file itself, or a value in it.
type Policy struct {
	// Name names it in messages.
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
	// Parts are its documents, and the values inside them that hold policies.
	Parts []Part
	// Policies are those that it holds for Load.
	Policies []Policy
}

// place is where a stream of documents is in a file: the entry of a manifest
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
