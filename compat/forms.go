package compat

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/compat/crane"
	"github.com/evenkeel/evenkeel/compat/descheduler"
	"github.com/evenkeel/evenkeel/compat/openshift"
	"github.com/evenkeel/evenkeel/compat/pressure"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

// convertFunc converts a document of one legacy format into the current one, or
// returns all its mistakes.
type convertFunc func(object map[string]any) (policy.Conversion, field.ErrorList)

// Load reads a policy file as policy.Load does, and also accepts documents of
// legacy formats.
func Load(fileName string, data []byte, kinds source.Kinds) (*policy.File, error) {
	return policy.Load(fileName, data, kinds, Convert)
}

// Convert is the policy.Converter of all legacy formats.
func Convert(object map[string]any) (*policy.Conversion, field.ErrorList) {
	to := converterOf(object)
	if to == nil {
		return nil, nil
	}
	converted, errs := to(object)
	if len(errs) == 0 && converted.Object["kind"] == policy.LoadPolicyKind {
		evictNothing(&converted)
	}
	return &converted, errs
}

// evictNothing makes sure that the converted policy of a system that did not evict does
// not evict, either.
func evictNothing(converted *policy.Conversion) {
	converted.Object["eviction"] = map[string]any{"defaultProfile": false}
	converted.Add("eviction.defaultProfile", "the earlier system evicted nothing; to move pods when cpu or memory is above its lines, set true or add a DeschedulerPolicy")
}

// converterOf returns the converter of a document of a legacy policy format;
// nil for any other document.
func converterOf(object map[string]any) convertFunc {
	switch apiVersion, kind := typeOf(object); {
	case apiVersion == "descheduler/v1alpha1" && kind == "DeschedulerPolicy":
		return descheduler.Convert
	case apiVersion == "descheduler/v1alpha2" && kind == "DeschedulerPolicy" && descheduler.IsEarlier(object):
		return descheduler.Renew
	case apiVersion == openshift.Group+"v1" && kind == openshift.Kind:
		return openshift.Convert
	case apiVersion == "scheduler.policy.crane.io/v1alpha1" && kind == "DynamicSchedulerPolicy":
		return crane.Convert
	case apiVersion == "" && kind == "" && pressure.Is(object):
		return pressure.Convert
	}
	return nil
}

// typeOf returns a document's declared type.
func typeOf(object map[string]any) (apiVersion, kind string) {
	apiVersion, _ = object["apiVersion"].(string)
	kind, _ = object["kind"].(string)
	return apiVersion, kind
}

// policyKinds holds the kinds that Load accepts in any version. Load reports versions
// that it does not know.
var policyKinds = map[string]string{
	policy.LoadPolicyKind:    "evenkeel.io/",
	"DeschedulerPolicy":      "descheduler/",
	"DynamicSchedulerPolicy": "scheduler.policy.crane.io/",
	openshift.Kind:           openshift.Group,
}

func isPolicy(object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	group, known := policyKinds[kind]
	return known && strings.HasPrefix(apiVersion, group) || converterOf(object) != nil
}
