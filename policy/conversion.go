package policy

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Converter returns what a document of an earlier system means today, or
// everything that is wrong with it. It returns nothing for a document of no
// form that it knows.
type Converter func(object map[string]any) (*Conversion, field.ErrorList)

// Conversion is what one document of an earlier system means today.
type Conversion struct {
	// Format names the earlier form.
	Format string
	// Object is the document in the current format, as a JSON tree: maps,
	// slices, strings, bools and json.Number.
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
func (c *Conversion) Add(field, text string) {
	c.Notes = append(c.Notes, Note{Field: field, Text: text})
}

// Lose appends a note about something that is not done any more.
func (c *Conversion) Lose(field, text string) {
	c.Notes = append(c.Notes, Note{Field: field, Text: text, Lossy: true})
}

// Number is a number as a document holds it.
func Number(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'f', -1, 64)) }
