package policy

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/shape"
)

// RetiredText returns a text that explains that a setting is retired, and why.
func RetiredText(why string) string {
	return "is no longer documented and will be removed in two versions: " + why + "; remove it"
}

// retired returns a warning for each retired setting in a checked part of the document.
func (l *loader) retired(path *field.Path, part any, t reflect.Type) (notes []Note) {
	places := PlacesOf(l.at.Text, l.at.SkippedLines)
	for _, found := range shape.RetiredFields(path, part, t) {
		place := places.Of(field.Forbidden(found.Path, ""))
		notes = append(notes, Note{
			Field: found.Path.String(), Text: RetiredText(found.Why), Lossy: true, Place: strings.TrimSuffix(place, ": "),
		})
	}
	return notes
}
