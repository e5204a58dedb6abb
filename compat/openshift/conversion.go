package openshift

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
)

// conversion is one document being converted.
type conversion struct {
	in   spec
	out  policy.Conversion
	errs field.ErrorList
}

// protected holds the namespaces that the operator never touches, besides those whose
// names begin with openshift-.
var protected = []any{"kube-system", "hypershift", "openshift"}

// namespaces returns the namespaces whose pods a plugin may evict.
func (c *conversion) namespaces() map[string]any {
	if included := c.in.ProfileCustomizations.Namespaces.Included; len(included) > 0 {
		return map[string]any{"include": texts(included)}
	}
	return c.others()
}

// others returns the excluded namespaces for plugins that do not accept a list of
// included ones.
func (c *conversion) others() map[string]any {
	return map[string]any{"exclude": slices.Concat(protected, texts(c.in.ProfileCustomizations.Namespaces.Excluded))}
}

func texts(names []string) []any {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}
	return all
}

// limits returns the maximum evictions per cycle, in total and per node; nil for no
// limit. With virtual machines, the default is low.
func (c *conversion) limits() (total, node *int32) {
	total, node = c.in.EvictionLimits.Total, c.in.EvictionLimits.Node
	if c.migrates() {
		total, node = orElse(total, 5), orElse(node, 2)
	}
	return total, node
}

func orElse(given *int32, otherwise int32) *int32 {
	if given != nil {
		return given
	}
	return &otherwise
}

func (c *conversion) migrates() bool {
	return slices.ContainsFunc(c.in.Profiles, func(name string) bool { return strings.HasSuffix(name, relieveAndMigrate) })
}
