// Package rewritten says what became of a file when the documents of legacy
// systems in it were converted into the current format.
package rewritten

import "github.com/evenkeel/evenkeel/policy"

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
	// Found is what it is, such as evenkeel.io/v1alpha1 LoadPolicy.
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
	// Is says what it is made of, such as evenkeel.io/v1alpha1 LoadPolicy.
	Is string
	// Data is its text as it was.
	Data []byte
}

// File is a file in the current format.
type File struct {
	// Text is the whole file.
	Text []byte
	// Parts are its documents, and the values inside them that hold policies.
	Parts []Part
	// Policies are those that it holds, for policy.Load.
	Policies []Policy
}
