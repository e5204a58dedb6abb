package policy

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/usage"
)

func validateQueries(u *Usage, q *Queries, path *field.Path) field.ErrorList {
	asked := []usage.Metric{usage.CPU, usage.Memory, usage.CPUPressure, usage.MemoryPressure, usage.IOPressure}
	for _, metric := range u.Metrics {
		asked = append(asked, metric.Name)
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(q.Nodes)) {
		at := path.Child("nodes").Key(string(name))
		if unknown := check.OneOf(at, name, asked...); len(unknown) > 0 {
			errs = append(errs, unknown...)
			continue
		}
		errs = append(errs, validateQuery(q.Nodes[name], at, nodeUnits(name)...)...)
	}
	for _, name := range slices.Sorted(maps.Keys(q.Pods)) {
		at := path.Child("pods").Key(string(name))
		if unknown := check.OneOf(at, name, usage.CPU, usage.Memory); len(unknown) > 0 {
			errs = append(errs, unknown...)
			continue
		}
		errs = append(errs, validateQuery(q.Pods[name], at, podUnits(name)...)...)
		errs = append(errs, validatePodWindows(q.Pods[name], at.Child("windows"))...)
	}
	return errs
}

func validateQuery(q Query, path *field.Path, units ...Unit) field.ErrorList {
	errs := check.OneOf(path.Child("unit"), q.Unit, units...)
	if strings.TrimSpace(q.Expr) == "" && len(q.Windows) == 0 {
		errs = append(errs, field.Required(path.Child("expr"), "a query needs expr, windows or both"))
	}
	for _, w := range check.SortedWindows(q.Windows) {
		at := path.Child("windows").Key(w.String())
		errs = append(errs, check.Window(at, w)...)
		if strings.TrimSpace(q.Windows[w]) == "" {
			errs = append(errs, field.Required(at, "an expression must not be empty"))
		}
	}
	return errs
}

func validatePodWindows(q Query, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, w := range check.SortedWindows(q.Windows) {
		errs = append(errs, check.OneOf(path.Key(w.String()), w.String(), usage.Last.String(), usage.Avg5m.String())...)
	}
	return errs
}

func nodeUnits(name usage.Metric) []Unit {
	switch name {
	case usage.CPU:
		return []Unit{UnitCores, UnitMilli, UnitPercent, UnitFraction}
	case usage.Memory:
		return []Unit{UnitBytes, UnitPercent, UnitFraction}
	default:
		return []Unit{UnitNone, UnitPercent, UnitFraction}
	}
}

func podUnits(name usage.Metric) []Unit {
	if name == usage.CPU {
		return []Unit{UnitCores, UnitMilli}
	}
	return []Unit{UnitBytes}
}
