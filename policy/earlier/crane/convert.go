// Package crane converts a DynamicSchedulerPolicy of crane-scheduler into today's form.
package crane

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/earlier"
)

// Format names what this package converts.
const Format = "scheduler.policy.crane.io/v1alpha1"

// Convert returns what the document means today, or everything that is wrong
// with it.
func Convert(object map[string]any) (earlier.Document, field.ErrorList) {
	return earlier.Document{Format: Format}, field.ErrorList{field.Forbidden(nil, "not converted yet")}
}
