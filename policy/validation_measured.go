package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy/check"
)

const (
	// maxMeasured limits the number of terms and of limits, because each costs time in every observation.
	maxMeasured = 20
	// maxMessage limits a message in bytes, because every refusal repeats it.
	maxMessage = 200
	// maxTermWeight limits the weight of a term.
	maxTermWeight = 1000
)

func validateMeasured(m *MeasuredScoring, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := check.OneOf(path.Child("formula"), m.Formula, FormulaCrane, FormulaMemoryLoad, FormulaMinMax)
	errs = append(errs, validateTerms(m, path.Child("terms"))...)
	errs = append(errs, validateLimits(m.Limits, path.Child("limits"))...)
	return append(errs, validateMessage(m.Message, path.Child("message"))...)
}

func validateTerms(m *MeasuredScoring, path *field.Path) field.ErrorList {
	if len(m.Terms) > maxMeasured {
		return field.ErrorList{field.TooMany(path, len(m.Terms), maxMeasured)}
	}
	var errs field.ErrorList
	sum := 0.0
	for i, term := range m.Terms {
		at := path.Index(i)
		errs = append(errs, measurable(at, term.Metric, term.Window)...)
		errs = append(errs, check.Between(at.Child("weight"), term.Weight, 0, maxTermWeight)...)
		sum += max(term.Weight, 0)
		if slices.ContainsFunc(m.Terms[:i], func(other MeasuredTerm) bool {
			return other.Metric == term.Metric && other.Window == term.Window
		}) {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("%s %s", term.Metric, term.Window)))
		}
	}
	switch {
	case len(errs) > 0:
	case m.Formula == FormulaCrane && len(m.Terms) > 0 && sum == 0:
		errs = append(errs, field.Required(path, "at least one must have a weight above 0"))
	case (m.Formula == FormulaMemoryLoad || m.Formula == FormulaMinMax) && len(m.Terms) != 1:
		errs = append(errs, field.Invalid(path, len(m.Terms), fmt.Sprintf("must be exactly one with formula %s", m.Formula)))
	}
	return errs
}

func validateLimits(limits []MeasuredLimit, path *field.Path) field.ErrorList {
	if len(limits) > maxMeasured {
		return field.ErrorList{field.TooMany(path, len(limits), maxMeasured)}
	}
	var errs field.ErrorList
	for i, limit := range limits {
		at := path.Index(i)
		errs = append(errs, measurable(at, limit.Metric, limit.Window)...)
		errs = append(errs, validateBound(limit, at)...)
		if slices.ContainsFunc(limits[:i], func(other MeasuredLimit) bool {
			return other.Metric == limit.Metric && other.Window == limit.Window
		}) {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("%s %s", limit.Metric, limit.Window)))
		}
	}
	return errs
}

// validateBound checks that a limit has exactly one bound, abovePercent or fromPercent.
func validateBound(limit MeasuredLimit, path *field.Path) field.ErrorList {
	switch {
	case limit.AbovePercent != nil && limit.FromPercent != nil:
		return field.ErrorList{field.Forbidden(path.Child("fromPercent"), "abovePercent is set already; a limit may have only one of them")}
	case limit.AbovePercent != nil:
		return check.Positive(path.Child("abovePercent"), *limit.AbovePercent, 100)
	case limit.FromPercent != nil:
		return check.Positive(path.Child("fromPercent"), *limit.FromPercent, 100)
	}
	return field.ErrorList{field.Required(path, "must have abovePercent or fromPercent")}
}

// measurable checks the metric and window of a term or limit.
func measurable(path *field.Path, metric usage.Metric, window usage.Window) field.ErrorList {
	errs := check.OneOf(path.Child("metric"), metric, usage.CPU, usage.Memory)
	return append(errs, check.Window(path.Child("window"), window)...)
}

// validateMessage checks that a text for events and logs is a single line.
func validateMessage(message string, path *field.Path) field.ErrorList {
	switch {
	case len(message) > maxMessage:
		return field.ErrorList{field.TooLong(path, "", maxMessage)}
	case strings.ContainsFunc(message, unicode.IsControl):
		return field.ErrorList{field.Invalid(path, message, "must be one line of plain text")}
	}
	return nil
}
