package policy

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

// MaxPublishedWindows is how many windows may be written to a node.
const MaxPublishedWindows = 16

func validateNodeSync(n *NodeSync, path *field.Path) field.ErrorList {
	annotations := path.Child("annotations")
	a := &n.Annotations
	errs := metav1validation.ValidateLabelSelector(&n.NodeSelector, metav1validation.LabelSelectorValidationOptions{},
		path.Child("nodeSelector"))
	errs = append(errs, check.Windows(annotations.Child("windows"), a.Windows)...)
	if len(a.Windows) > MaxPublishedWindows {
		errs = append(errs, field.TooMany(annotations.Child("windows"), len(a.Windows), MaxPublishedWindows))
	}
	errs = append(errs, check.OneOf(annotations.Child("unit"), a.Unit, source.Fraction, source.Percent)...)
	errs = append(errs, check.Zone(annotations.Child("timezone"), a.Timezone)...)
	errs = append(errs, check.Periods(annotations.Child("periods"), a.Periods)...)
	for _, w := range a.Windows {
		if _, ok := a.Periods[w]; !ok {
			errs = append(errs, field.Required(annotations.Child("periods").Key(w.String()), "every window must have a period"))
		}
	}
	errs = append(errs, validateMark(n.Label.Enabled, n.Label.Key, n.Label.Value, path.Child("label"))...)
	errs = append(errs, validateMark(n.Taint.Enabled, n.Taint.Key, n.Taint.Value, path.Child("taint"))...)
	reject := path.Child("rejectTaint")
	if n.Taint.Enabled && n.RejectTaint.Enabled && n.Taint.Key == n.RejectTaint.Key {
		errs = append(errs, field.Invalid(reject.Child("key"), n.RejectTaint.Key, "must not be the key of taint"))
	}
	return append(errs, validateMark(n.RejectTaint.Enabled, n.RejectTaint.Key, n.RejectTaint.Value, reject)...)
}

// validateMark checks the key and the value of a label or taint.
func validateMark(enabled bool, key, value string, path *field.Path) field.ErrorList {
	errs := check.Valid(path.Child("key"), key, validation.IsQualifiedName)
	if enabled && check.ReservedKey(key) {
		errs = append(errs, field.Invalid(path.Child("key"), key, "must not be a key of kubernetes.io or k8s.io, which belong to Kubernetes"))
	}
	return append(errs, check.Valid(path.Child("value"), value, validation.IsValidLabelValue)...)
}
