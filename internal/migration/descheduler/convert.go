// Package descheduler converts a DeschedulerPolicy of v1alpha1, which
// descheduler itself does not read any more, into one of v1alpha2. It decides
// which plugin with which arguments a strategy is; running plugins is left to
// descheduler's own code.
//
// Invariants:
//   - Each enabled strategy becomes one profile, with DefaultEvictor as the top
//     level and the strategy's parameters make it; no strategy sees another's.
//   - Every field of the last version of v1alpha1 is taken over, found to mean
//     nothing to its strategy, which is noted, or refused.
//   - Numbers stand in the outcome as they stood in the document.
package descheduler

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// Format names what this package converts.
const Format = "descheduler/v1alpha1"

// Convert returns what the document means today, or everything that is wrong
// with it.
func Convert(object map[string]any) (policy.Conversion, field.ErrorList) {
	c := conversion{out: policy.Conversion{Format: Format}, raw: object}
	if errs := shape.Decode(object, &c.in); len(errs) > 0 {
		return c.out, errs
	}
	c.checkNames()
	c.convert()
	return c.out, c.errs
}

// checkNames refuses strategies that there never were, enabled or not.
func (c *conversion) checkNames() {
	var known []string
	for _, k := range kinds() {
		known = append(known, k.name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.in.Strategies)) {
		if !slices.Contains(known, name) {
			c.errs = append(c.errs, field.NotSupported(field.NewPath("strategies").Key(name), name, known))
		}
	}
}

func (c *conversion) convert() {
	c.out.Object = map[string]any{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
	take(c.out.Object, c.raw,
		"nodeSelector", "maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")
	c.noteWhole()
	for _, k := range kinds() {
		if named := c.in.Strategies[k.name]; named.Enabled {
			c.profile(k, named)
		}
	}
	if len(c.profiles) == 0 {
		c.profiles = []any{map[string]any{"name": "no-strategy-profile"}}
		c.out.Add("profiles[0]", "no strategy is enabled, so nothing is evicted")
	}
	c.out.Object["profiles"] = c.profiles
}

// noteWhole notes what is about no single strategy.
func (c *conversion) noteWhole() {
	c.out.Add("", "evictions by descheduler's own plugins, too, keep to the LoadPolicy's budgets, cooldowns and breaker")
	var absent []string
	points := map[string]bool{}
	for _, k := range kinds() {
		named, here := c.in.Strategies[k.name]
		if k.classic && !here {
			absent = append(absent, k.name)
		}
		points[k.point] = points[k.point] || named.Enabled
	}
	if len(absent) > 0 {
		c.out.Add("profiles", "a strategy that is not named is off, as it always was, though some texts call all of them enabled by default: "+
			strings.Join(absent, ", "))
	}
	if points[deschedule] && points[balance] {
		c.out.Add("profiles", "plugins that deschedule run before those that balance, whatever the order of profiles")
	}
}
