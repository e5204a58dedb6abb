// Package descheduler converts a DeschedulerPolicy of v1alpha1, which descheduler itself
// no longer reads, into v1alpha2. It also converts v1alpha2 as of earlier releases into
// v1alpha2 as of the current release. It defines which plugin and arguments a strategy
// becomes; descheduler's own code runs the plugins.
//
// Invariants:
//   - Each enabled strategy becomes one profile. Its DefaultEvictor combines
//     the top level with the strategy's parameters; no strategy sees another's.
//   - Every field of any release's v1alpha1 is converted, rejected, or noted as
//     meaningless to its strategy.
//   - Numbers keep the spelling that they have in the document.
package descheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// Format names the converted format.
const Format = "descheduler/v1alpha1"

// Convert returns the document in the current format, or all errors in it.
func Convert(object map[string]any) (policy.Conversion, field.ErrorList) {
	c := conversion{out: policy.Conversion{Format: Format}, raw: runtime.DeepCopyJSON(object)}
	c.dropUnread()
	if errs := shape.Decode(c.raw, &c.in); len(errs) > 0 {
		return c.out, errs
	}
	c.checkNames()
	c.convert()
	return c.out, c.errs
}

// unread lists fields of a strategy's params that descheduler's own examples and
// documentation show although no release read them. instead is the place where the field
// belongs.
var unread = []struct{ within, name, instead string }{
	{"nodeResourceUtilizationThresholds", "nodeFit", "it belongs to params"},
	{"failedPods", "minPodLifeTimeSeconds", "the field is minPodLifetimeSeconds"},
	{"podsHavingTooManyRestarts", "podRestartThresholds", "the field is podRestartThreshold"},
}

// dropUnread removes these fields. descheduler ignored them, like all unknown fields.
// Other unknown fields are rejected, because most of them are typing errors.
func (c *conversion) dropUnread() {
	strategies := within(c.raw, "strategies")
	for _, name := range slices.Sorted(maps.Keys(strategies)) {
		params := within(strategies, name, "params")
		for _, u := range unread {
			if block := within(params, u.within); block[u.name] != nil {
				delete(block, u.name)
				c.out.Lose("", fmt.Sprintf("strategies.%s.params.%s.%s is left out: descheduler never read it; %s", name, u.within, u.name, u.instead))
			}
		}
	}
}

// checkNames rejects strategies that never existed, enabled or not.
func (c *conversion) checkNames() {
	var known []string
	for _, k := range kinds() {
		known = append(known, k.name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.in.Strategies)) {
		c.errs = append(c.errs, check.OneOf(field.NewPath("strategies").Key(name), name, known...)...)
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

// noteWhole adds the notes that do not concern a single strategy.
func (c *conversion) noteWhole() {
	c.out.Add("", "evictions by descheduler's own plugins obey the LoadPolicy's budgets, cooldowns and breaker, too")
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
		c.out.Add("profiles", "strategies that are not listed stay disabled, as before, although some guides say that all are enabled by default: "+
			strings.Join(absent, ", "))
	}
	if points[deschedule] && points[balance] {
		c.out.Add("profiles", "deschedule plugins run before balance plugins, regardless of the order of profiles")
	}
}
