package pressure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxName bounds the name of a metric.
const maxName = 63

// known are the names that are taken.
var known = []string{"cpu", "memory", "memory.available", "cpu.pressure", "memory.pressure", "io.pressure"}

// nameAll gives each rule the name of a metric, as close to its own as
// possible.
func nameAll(given map[string]rule, path *field.Path) (map[string]string, field.ErrorList) {
	named, taken := make(map[string]string, len(given)), map[string]string{}
	var errs field.ErrorList
	for i, original := range slices.Sorted(maps.Keys(given)) {
		name := cmp.Or(metricName(original), fmt.Sprintf("rule-%d", i+1))
		if first, clash := taken[name]; clash {
			errs = append(errs, field.Invalid(path.Key(original), original,
				fmt.Sprintf("is called %q here, and so is %q; rename one of them", name, first)))
			continue
		}
		taken[name], named[original] = original, name
	}
	return named, errs
}

// metricName turns a rule's name into a valid name of a metric; empty if
// nothing valid is left.
func metricName(original string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(original))
	name = strings.Trim(name, "-_.")
	if slices.Contains(known, name) {
		name = "rule-" + name
	}
	return strings.Trim(name[:min(len(name), maxName)], "-_.")
}

// number returns v in the form that a document holds.
func number(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'g', -1, 64)) }
