package crane

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
)

// The bounds of a policy's values. Crane checks none of them, and even divides by a count
// that may be zero.
const (
	leastPeriod, mostPeriod = 10 * time.Second, 24 * time.Hour
	mostWeight              = 1000
)

func (s *spec) validate(path *field.Path) field.ErrorList {
	// Longer lists could produce more errors than anyone would read.
	errs := slices.Concat(
		notMore(path.Child("syncPolicy"), len(s.SyncPolicy)),
		notMore(path.Child("predicate"), len(s.Predicate)),
		notMore(path.Child("priority"), len(s.Priority)),
	)
	if len(errs) > 0 {
		return errs
	}
	return slices.Concat(
		s.validateSync(path.Child("syncPolicy")),
		s.validatePredicates(path.Child("predicate")),
		s.validatePriorities(path.Child("priority")),
		policy.ValidateHotValues(s.HotValue, path.Child("hotValue")),
	)
}

// notMore checks that a list has at most as many elements as there are metrics.
func notMore(path *field.Path, n int) field.ErrorList {
	if n <= len(metrics) {
		return nil
	}
	return field.ErrorList{field.TooMany(path, n, len(metrics))}
}

func (s *spec) validateSync(path *field.Path) field.ErrorList {
	if len(s.SyncPolicy) == 0 {
		return field.ErrorList{field.Required(path, "at least one metric with its period; without one, every node is unknown")}
	}
	errs := known(path, s.SyncPolicy, func(p syncPolicy) string { return p.Name })
	for i, p := range s.SyncPolicy {
		errs = append(errs, check.Duration(path.Index(i).Child("period"), p.Period, leastPeriod, mostPeriod)...)
	}
	return errs
}

// validatePredicates checks that all limits have the same unit. If a policy has both 0.65
// and 75, one of them is wrong, and it is unclear which.
func (s *spec) validatePredicates(path *field.Path) field.ErrorList {
	errs := known(path, s.Predicate, func(p predicate) string { return p.Name })
	first := slices.IndexFunc(s.Predicate, func(p predicate) bool { return p.MaxLimitPercent > 0 })
	for i, p := range s.Predicate {
		at, limit := path.Index(i).Child("maxLimitPecent"), p.MaxLimitPercent
		switch {
		case !(limit >= 0 && limit <= 100):
			errs = append(errs, field.Invalid(at, limit, "must be from 0 (no limit) to 1, a fraction, or above 1 to 100, a percentage"))
		case limit > 0 && unitOf(limit) != unitOf(s.Predicate[first].MaxLimitPercent):
			errs = append(errs, field.Invalid(at, limit, fmt.Sprintf("is a %s and predicate[%d] (%v) is not; all limits must be fractions, at most 1, or all percentages, above 1",
				unitOf(limit).noun(), first, s.Predicate[first].MaxLimitPercent)))
		}
	}
	return errs
}

func (s *spec) validatePriorities(path *field.Path) field.ErrorList {
	errs := known(path, s.Priority, func(p priority) string { return p.Name })
	sum := 0.0
	for i, p := range s.Priority {
		errs = append(errs, check.Between(path.Index(i).Child("weight"), p.Weight, 0, mostWeight)...)
		sum += p.Weight
	}
	if len(errs) == 0 && len(s.Priority) > 0 && sum == 0 {
		errs = append(errs, field.Required(path, "at least one must have a weight above 0"))
	}
	return errs
}

// known checks that a list names only Crane's metrics, each at most once.
func known[T any](path *field.Path, list []T, name func(T) string) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, element := range list {
		at, name := path.Index(i).Child("name"), name(element)
		if _, ok := metrics[name]; !ok {
			errs = append(errs, check.OneOf(at, name, slices.Sorted(maps.Keys(metrics))...)...)
			continue
		}
		if seen[name] {
			errs = append(errs, field.Duplicate(at, name))
		}
		seen[name] = true
	}
	return errs
}
