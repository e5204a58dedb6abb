package policy

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/shape"
)

// RetiredText says what a user has to know about a retired setting, and why it is
// one.
func RetiredText(why string) string {
	return "is no longer documented and goes in two versions: " + why + "; remove it"
}

// retired returns a warning for each retired setting that a checked part of the
// document has.
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
