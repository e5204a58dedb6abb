package policy

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Converter converts a document of a legacy system into the current format, or returns all its mistakes. It returns
// nil, nil if it does not know the document's format.
type Converter func(object map[string]any) (*Conversion, field.ErrorList)

// Conversion is one document of a legacy system in the current format.
type Conversion struct {
	// Format is the name of the legacy format.
	Format string
	// Object is the document in the current format, as a JSON tree: maps,
	// slices, strings, bools and json.Number.
	Object map[string]any
	// Notes describe what changed, in the order of the legacy document.
	Notes []Note
}

// Note is one change between the legacy document and the current one.
type Note struct {
	// Field is the path, in Object, of the field that changed, such as
	// scoring.measured.terms[0]; empty for the document as a whole.
	Field string
	// Text describes what changed and why, in one sentence without a final
	// period.
	Text string
	// Lossy reports whether the conversion loses something that the legacy system did, or
	// requires the user to act.
	Lossy bool
	// Place is the position of the field, such as "line 3, column 5"; empty if unknown.
	Place string
}

// Add appends a note about a change that keeps the meaning.
func (c *Conversion) Add(field, text string) {
	c.Notes = append(c.Notes, Note{Field: field, Text: text})
}

// Lose appends a note about something that the conversion loses.
func (c *Conversion) Lose(field, text string) {
	c.Notes = append(c.Notes, Note{Field: field, Text: text, Lossy: true})
}

// Number returns a number in the form that it has in a document.
func Number(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'f', -1, 64)) }
