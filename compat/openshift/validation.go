package openshift

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/check"
)

// exclusive holds groups of profiles of which a document may have at most one.
var exclusive = [][]string{
	{"LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle", "CompactAndScale", relieveAndMigrate, "Dev" + relieveAndMigrate},
	{"SoftTopologyAndDuplicates", "TopologyAndDuplicates"},
	{"CompactAndScale", "TopologyAndDuplicates"},
}

// check reports all errors that the operator reports, too.
func (c *conversion) check() {
	at := field.NewPath("spec")
	if len(c.in.Profiles) == 0 {
		c.errs = append(c.errs, field.Required(at.Child("profiles"), "at least one of "+strings.Join(known(), ", ")))
	}
	for i, name := range c.in.Profiles {
		c.errs = append(c.errs, check.OneOf(at.Child("profiles").Index(i), name, known()...)...)
		if slices.Contains(c.in.Profiles[:i], name) {
			c.errs = append(c.errs, field.Duplicate(at.Child("profiles").Index(i), name))
		}
	}
	for _, group := range exclusive {
		if both := slices.DeleteFunc(slices.Clone(c.in.Profiles), func(name string) bool { return !slices.Contains(group, name) }); len(both) > 1 {
			c.errs = append(c.errs, field.Forbidden(at.Child("profiles"), strings.Join(both, " and ")+" work against each other; name one"))
		}
	}
	c.oneOf(at.Child("mode"), c.in.Mode, automatic, "Predictive")
	for _, limit := range []struct {
		name  string
		value *int32
		least int
	}{
		{"evictionLimits.total", c.in.EvictionLimits.Total, 0},
		{"evictionLimits.node", c.in.EvictionLimits.Node, 0},
		{"deschedulingIntervalSeconds", c.in.DeschedulingIntervalSeconds, 1},
	} {
		if limit.value != nil {
			c.errs = append(c.errs, check.Between(at.Child(limit.name), int(*limit.value), limit.least, 1<<31-1)...)
		}
	}
	c.checkCustomizations(at.Child("profileCustomizations"))
}

func (c *conversion) checkCustomizations(at *field.Path) {
	given := &c.in.ProfileCustomizations
	c.oneOf(at.Child("devLowNodeUtilizationThresholds"), given.DevLowNodeUtilizationThresholds, names(levels)...)
	c.oneOf(at.Child("devDeviationThresholds"), given.DevDeviationThresholds, names(deviations)...)
	c.oneOf(at.Child("devHighNodeUtilizationThresholds"), given.DevHighNodeUtilizationThresholds, names(compact)...)
	if !strings.HasPrefix(given.DevActualUtilizationProfile, ownQuery) {
		c.oneOf(at.Child("devActualUtilizationProfile"), given.DevActualUtilizationProfile, append(names(measured), ioPressure)...)
	}
	for _, both := range []struct {
		first, second string
		given         bool
	}{
		{"thresholdPriority", "thresholdPriorityClassName", given.ThresholdPriority != nil && given.ThresholdPriorityClassName != ""},
		{"namespaces.included", "namespaces.excluded", len(given.Namespaces.Included) > 0 && len(given.Namespaces.Excluded) > 0},
		{"devLowNodeUtilizationThresholds", "devDeviationThresholds", c.migrates() && given.DevLowNodeUtilizationThresholds != "" && given.DevDeviationThresholds != ""},
	} {
		if both.given {
			c.errs = append(c.errs, field.Forbidden(at.Child(both.second), "not together with "+both.first))
		}
	}
	for i, name := range given.Namespaces.Included {
		if strings.HasPrefix(name, "openshift-") || slices.Contains(protected, any(name)) {
			c.errs = append(c.errs, field.Forbidden(at.Child("namespaces", "included").Index(i), name+" is always left alone"))
		}
	}
	if given.PodLifetime != nil && given.PodLifetime.Duration < 0 {
		c.errs = append(c.errs, field.Invalid(at.Child("podLifetime"), given.PodLifetime.Duration.String(), "must not be negative"))
	}
}

// oneOf reports a value that is not allowed. An empty value means the default.
func (c *conversion) oneOf(path *field.Path, value string, allowed ...string) {
	if value != "" {
		c.errs = append(c.errs, check.OneOf(path, value, allowed...)...)
	}
}

// names returns the allowed names.
func names[V any](of map[string]V) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(name string) bool { return name == "" })
}

// known returns the names of all profiles.
func known() []string {
	return append(names(makers), "EvictPodsWithLocalStorage", "EvictPodsWithPVC")
}
