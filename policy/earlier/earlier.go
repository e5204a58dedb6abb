// Package earlier is what the converters of earlier systems' files have in
// common; each format is a package below it, which turns one document into
// today's form. They decide what a file means here and what of it changes;
// reading files and checking the outcome are left to package policy.
//
// Invariants:
//   - Nothing is lost silently: what has no equal here, or means something else,
//     is a Note.
//   - A converter takes only what it understands completely, as policy does: an
//     unknown field or a value of a wrong type is an error with its path.
package earlier

// Document is what one document of an earlier system means today.
type Document struct {
	// Format names the earlier form, such as descheduler/v1alpha1.
	Format string
	// Object is the document in today's form, as a JSON tree: maps, slices,
	// strings, bools and json.Number.
	Object map[string]any
	// Notes say what changed on the way, in the order of the earlier document.
	Notes []Note
}

// Note is one change between the earlier document and today's.
type Note struct {
	// Field is the path in Object that the note is about, such as
	// scoring.measured.terms[0]; empty for the document as a whole.
	Field string
	// Text says what changed and why, in one sentence without a period.
	Text string
	// Lossy says that something the earlier system did is not done any more.
	Lossy bool
}

// Add appends a note about a change that keeps the meaning.
func (d *Document) Add(field, text string) {
	d.Notes = append(d.Notes, Note{Field: field, Text: text})
}

// Lose appends a note about something that is not done any more.
func (d *Document) Lose(field, text string) {
	d.Notes = append(d.Notes, Note{Field: field, Text: text, Lossy: true})
}
