package descheduler

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
)

// evictor is the plugin that decides which pods may be evicted at all.
const evictor = "DefaultEvictor"

// conversion is one document being converted.
type conversion struct {
	in       document
	raw      map[string]any // the input as it is in the file
	out      policy.Conversion
	profiles []any
	errs     field.ErrorList
}

// take copies the named fields that have a value.
func take(to, from map[string]any, names ...string) {
	for _, name := range names {
		if value := from[name]; value != nil {
			to[name] = value
		}
	}
}

// within returns the mapping in a field; empty if there is none.
func within(object map[string]any, names ...string) map[string]any {
	for _, name := range names {
		object, _ = object[name].(map[string]any)
	}
	return object
}

// subject is the strategy that is being converted.
type subject struct {
	kind kind
	// params holds the strategy's parameters, raw the same parameters as they are in the
	// file.
	params params
	raw    map[string]any
	// from is the path of the parameters; to is the path of the plugin's
	// arguments.
	from *field.Path
	to   string
}

func (c *conversion) forbid(path *field.Path, text string) {
	c.errs = append(c.errs, field.Forbidden(path, text))
}

func (c *conversion) require(path *field.Path, text string) {
	c.errs = append(c.errs, field.Required(path, text))
}

func (c *conversion) invalid(path *field.Path, value any, text string) {
	c.errs = append(c.errs, field.Invalid(path, value, text))
}

// The extension points of plugins.
const (
	deschedule = "deschedule"
	balance    = "balance"
)

// kind is a strategy of v1alpha1 that is now a plugin of the same name.
type kind struct {
	name, point string
	// classic reports whether the strategy has existed since the first release.
	classic bool
	// neverFits means that the strategy never checked whether a pod fits on another node.
	neverFits bool
	// params holds the parameters that the strategy reads in addition to the common ones.
	params []string
	// args creates the arguments of the strategy's plugin.
	args func(c *conversion, s *subject) map[string]any
}
