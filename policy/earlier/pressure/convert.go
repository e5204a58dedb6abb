// Package pressure converts the rules of dynamicScheduler into today's form.
package pressure

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/earlier"
)

// Format names what this package converts.
const Format = "dynamicScheduler rules"

// Convert returns what the document means today, or everything that is wrong
// with it.
func Convert(object map[string]any) (earlier.Document, field.ErrorList) {
	return earlier.Document{Format: Format}, field.ErrorList{field.Forbidden(nil, "not converted yet")}
}

// Is says whether a document without apiVersion and kind holds such rules.
func Is(object map[string]any) bool {
	_, rules := object["Rulename"]
	return rules
}
