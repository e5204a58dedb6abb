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

// maxName is the maximum length of a metric's name.
const maxName = 63

// known holds the names that are already taken.
var known = []string{"cpu", "memory", "memory.available", "cpu.pressure", "memory.pressure", "io.pressure"}

// nameAll gives each rule a metric name as close as possible to the rule's own name.
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

// metricName converts a rule's name to a valid metric name; empty if nothing valid is
// left.
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

// number returns v in the form that documents use.
func number(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'g', -1, 64)) }
