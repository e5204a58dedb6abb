package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The checks below return no error or one, as a list to append. Bounds are
// inclusive, and NaN, which compares with nothing, is outside of all of them.

func between[T int | int64 | float64](path *field.Path, value, least, most T) field.ErrorList {
	if value >= least && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be from %v to %v", least, most))}
}

func percent(path *field.Path, value float64) field.ErrorList {
	if value >= 0 && value <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must be a percentage from 0 to 100")}
}

func positive(path *field.Path, value, most float64) field.ErrorList {
	if value > 0 && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be above 0 and at most %v", most))}
}

func durationBetween(path *field.Path, value metav1.Duration, least, most time.Duration) field.ErrorList {
	if value.Duration >= least && value.Duration <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.Duration.String(), fmt.Sprintf("must be from %s to %s", least, most))}
}

func notNegative(path *field.Path, value resource.Quantity) field.ErrorList {
	if value.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), "must be 0 or more")}
}

func knownResource(path *field.Path, name v1.ResourceName) field.ErrorList {
	return oneOf(path, name, v1.ResourceCPU, v1.ResourceMemory)
}

func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// names checks a list of free names: at least one, none empty, each once.
func names(path *field.Path, list []string) field.ErrorList {
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

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
