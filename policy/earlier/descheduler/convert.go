// Package descheduler converts a DeschedulerPolicy of v1alpha1 into today's form.
package descheduler

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/earlier"
)

// Format names what this package converts.
const Format = "descheduler/v1alpha1"

// Convert returns what the document means today, or everything that is wrong
// with it.
func Convert(object map[string]any) (earlier.Document, field.ErrorList) {
	return earlier.Document{Format: Format}, field.ErrorList{field.Forbidden(nil, "not converted yet")}
}
