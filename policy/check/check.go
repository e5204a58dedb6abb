// Package check holds the checks that validate settings of all kinds. Each check returns
// a list of errors. An error contains the field, its value and what is allowed. The
// package that declares a setting decides what the setting means.
//
// Bounds are inclusive. NaN, which compares with nothing, is outside all of
// them.
package check

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/internal/likely"
)

// Between checks that a number is within bounds.
func Between[T int | int32 | int64 | float64](path *field.Path, value, least, most T) field.ErrorList {
	if value >= least && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be from %v to %v", least, most))}
}

// Percent checks a percentage.
func Percent(path *field.Path, value float64) field.ErrorList {
	if value >= 0 && value <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must be a percentage from 0 to 100")}
}

// NumberOrPercent checks a whole number, or a percentage such as "5%" of what the
// setting counts.
func NumberOrPercent(path *field.Path, value intstr.IntOrString, most int32) field.ErrorList {
	var got any = value.IntVal
	right := value.IntVal >= 0 && value.IntVal <= most
	if value.Type == intstr.String {
		got = value.StrVal
		percent, err := strconv.Atoi(strings.TrimSuffix(value.StrVal, "%"))
		right = err == nil && percent >= 1 && percent <= 100 && value.StrVal == strconv.Itoa(percent)+"%"
	}
	if right {
		return nil
	}
	return field.ErrorList{field.Invalid(path, got, fmt.Sprintf("must be from 0 to %d, or a percentage from 1%% to 100%%", most))}
}

// Positive checks a number that must be above 0.
func Positive(path *field.Path, value, most float64) field.ErrorList {
	if value > 0 && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be above 0 and at most %v", most))}
}

// Duration checks that a duration is within bounds.
func Duration(path *field.Path, value metav1.Duration, least, most time.Duration) field.ErrorList {
	if value.Duration >= least && value.Duration <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.Duration.String(), fmt.Sprintf("must be from %s to %s", least, most))}
}

// NotNegative checks a quantity that must be 0 or more.
func NotNegative(path *field.Path, value resource.Quantity) field.ErrorList {
	if value.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), "must be 0 or more")}
}

// OneOf checks that a value is one of those allowed.
func OneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	err := field.NotSupported(path, value, allowed)
	if hint := likely.Hint(string(value), allowed); hint != "" {
		err.Detail = strings.TrimPrefix(hint, ", ") + " " + err.Detail
	}
	return field.ErrorList{err}
}

// Message formats a validation error with its path. A forbidden field's detail already explains why, so the word
// "Forbidden" is left out.
func Message(err *field.Error) string {
	if err.Type == field.ErrorTypeForbidden {
		return err.Field + ": " + err.Detail
	}
	return err.Error()
}

// Names checks a list of arbitrary names: at least one, none empty, no duplicates.
func Names(path *field.Path, list []string) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "must hold at least one name")}
	}
	var errs field.ErrorList
	for i, name := range list {
		if name == "" {
			errs = append(errs, field.Required(path.Index(i), "a name must not be empty"))
		}
		if slices.Contains(list[:i], name) {
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
	}
	return errs
}

// Valid runs one of Kubernetes' own checks and reports its first finding, without the
// examples and the pattern that Kubernetes appends.
func Valid(path *field.Path, value string, check func(string) []string) field.ErrorList {
	messages := check(value)
	if len(messages) == 0 {
		return nil
	}
	message, _, _ := strings.Cut(messages[0], " (e.g. ")
	return field.ErrorList{field.Invalid(path, value, message)}
}

// ReservedKey reports whether the key of a label, taint or annotation belongs to
// Kubernetes. Components trust such keys, and the API server keeps kubelets from
// changing some of them.
func ReservedKey(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	reserved := func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }
	return strings.Contains(key, "/") && (reserved("kubernetes.io") || reserved("k8s.io"))
}

// URL checks the address of a server. Its error shows neither a password nor a
// token.
func URL(path *field.Path, address string) field.ErrorList {
	parsed, err := url.Parse(address)
	if err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != "" &&
		parsed.User == nil && parsed.RawQuery == "" && !parsed.ForceQuery && !strings.Contains(address, "#") {
		return nil
	}
	// The text before an @ may be a password, and the text after a ? or # may be a token.
	user, rest := strings.LastIndexByte(address, '@'), strings.IndexAny(address, "?#")
	switch {
	case user >= 0 && rest >= 0: // a password may also contain ? or #
		address = "..."
	case user >= 0:
		address = "..." + address[user:]
	case rest >= 0:
		address = address[:rest+1] + "..."
	}
	return field.ErrorList{field.Invalid(path, address,
		"must be a URL such as https://prometheus.monitoring:9090/prefix, without user, query and fragment")}
}
