package policy

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Converter converts a document of a legacy system into the current format, or
// returns all its mistakes. It returns nothing for a document in a format that
// it does not know.
type Converter func(object map[string]any) (*Conversion, field.ErrorList)

// Conversion is one document of a legacy system in the current format.
type Conversion struct {
	// Format names the legacy format.
	Format string
	// Object is the document in the current format, as a JSON tree: maps,
	// slices, strings, bools and json.Number.
	Object map[string]any
	// Notes say what changed, in the order of the legacy document.
	Notes []Note
}

// Note is one change between the legacy document and the current one.
type Note struct {
	// Field is the path in Object that the note is about, such as
	// scoring.measured.terms[0]; empty for the document as a whole.
	Field string
	// Text says what changed and why, in one sentence without a period.
	Text string
	// Lossy says that something the legacy system did is no longer done, or that
	// the user should change something.
	Lossy bool
	// Place is where the field is, as "line 3, column 5"; empty if that is not
	// known.
	Place string
}

// Add appends a note about a change that keeps the meaning.
func (c *Conversion) Add(field, text string) {
	c.Notes = append(c.Notes, Note{Field: field, Text: text})
}

// Lose appends a note about something that is no longer done.
func (c *Conversion) Lose(field, text string) {
	c.Notes = append(c.Notes, Note{Field: field, Text: text, Lossy: true})
}

// Number returns a number as a document holds it.
func Number(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'f', -1, 64)) }
