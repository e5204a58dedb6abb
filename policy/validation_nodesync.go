package policy

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateNodeSync(n *NodeSync, path *field.Path) field.ErrorList {
	annotations := path.Child("annotations")
	a := &n.Annotations
	errs := metav1validation.ValidateLabelSelector(&n.NodeSelector, metav1validation.LabelSelectorValidationOptions{},
		path.Child("nodeSelector"))
	errs = append(errs, validateWindows(a.Windows, annotations.Child("windows"))...)
	errs = append(errs, oneOf(annotations.Child("unit"), a.Unit, UnitFraction, UnitPercent)...)
	errs = append(errs, validateZone(a.Timezone, annotations.Child("timezone"))...)
	errs = append(errs, validatePeriods(a.Periods, annotations.Child("periods"))...)
	for _, w := range a.Windows {
		if _, ok := a.Periods[w]; !ok {
			errs = append(errs, field.Required(annotations.Child("periods").Key(w.String()), "every window must have a period"))
		}
	}
	errs = append(errs, validateMark(n.Label.Key, n.Label.Value, path.Child("label"))...)
	return append(errs, validateMark(n.Taint.Key, n.Taint.Value, path.Child("taint"))...)
}

// validateMark checks the key and the value of a label or taint.
func validateMark(key, value string, path *field.Path) field.ErrorList {
	errs := valid(path.Child("key"), key, validation.IsQualifiedName)
	return append(errs, valid(path.Child("value"), value, validation.IsValidLabelValue)...)
}
