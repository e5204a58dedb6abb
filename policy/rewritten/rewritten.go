// Package rewritten describes the result of converting the legacy documents in a file to
// the current format.
package rewritten

import "github.com/evenkeel/evenkeel/policy"

// Action is the kind of result for a document.
type Action string

// The actions.
const (
	// Converted means that the document was in a legacy format.
	Converted Action = "converted"
	// Current means that the document was already in the current format, and is
	// unchanged.
	Current Action = "current"
	// Marked means that the document is unchanged except for comments that explain what
	// to change in it.
	Marked Action = "marked"
	// Enclosed means that the document is unchanged, but contains a policy that
	// has to be taken out.
	Enclosed Action = "enclosed"
	// Kept means that the document is not a policy, and is unchanged.
	Kept Action = "kept"
)

// Part describes the result for one document of a file.
type Part struct {
	// Place is the position of the document, such as line 12.
	Place string
	// Found is the kind of document, such as evenkeel.io/v1alpha1 LoadPolicy.
	Found string
	// Action is the kind of result for the document.
	Action Action
	// Policy reports whether the document is part of a Policy.
	Policy bool
	// Notes describe what changed, or what the user has to change.
	Notes []policy.Note
}

// Policy is a policy in a file: the file itself, or a value in it.
type Policy struct {
	// Name is the policy's name in messages.
	Name string
	// Is describes the content of the policy, such as evenkeel.io/v1alpha1 LoadPolicy.
	Is string
	// Data is the original text.
	Data []byte
}

// File is a file in the current format.
type File struct {
	// Text is the whole file.
	Text []byte
	// Parts lists the file's documents, and the values inside them that contain policies.
	Parts []Part
	// Policies lists the policies in the file, for policy.Load.
	Policies []Policy
}
