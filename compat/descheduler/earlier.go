package descheduler

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// EarlierFormat names v1alpha2 with fields that the current release no longer has.
const EarlierFormat = "descheduler/v1alpha2 of an earlier release"

// IsEarlier reports whether a DeschedulerPolicy of v1alpha2 has fields that only earlier
// releases read, or that descheduler's documentation shows although no release read them.
func IsEarlier(object map[string]any) bool {
	c, errs := Renew(object)
	return len(c.Notes)+len(errs) > 0
}

// Renew returns the document for the current release, or all errors in it. Everything
// that the current release reads is left unchanged.
func Renew(object map[string]any) (policy.Conversion, field.ErrorList) {
	r := renewal{out: policy.Conversion{Format: EarlierFormat, Object: runtime.DeepCopyJSON(object)}}
	r.rename(r.out.Object, "EvictionFailureEventNotification", "evictionFailureEventNotification")
	for i, profile := range shape.Mappings(r.out.Object["profiles"]) {
		path := field.NewPath("profiles").Index(i)
		points := within(profile, "plugins")
		r.drop(points, path.Child("plugins"), "evict", "DefaultEvictor always decides; further plugins belong in filter and preevictionfilter")
		r.drop(points, path.Child("plugins"), "preEvictionFilter", "the field is preevictionfilter, which always has DefaultEvictor")
		for j, config := range shape.Mappings(profile["pluginConfig"]) {
			r.args(config, path.Child("pluginConfig").Index(j).Child("args"))
		}
	}
	return r.out, r.errs
}

type renewal struct {
	out  policy.Conversion
	errs field.ErrorList
}

// args renews the arguments of a plugin.
func (r *renewal) args(config map[string]any, path *field.Path) {
	args := within(config, "args")
	switch config["name"] {
	case "RemovePodsViolatingTopologySpreadConstraint": // up to 0.27
		r.softConstraints(args, path)
	case "HighNodeUtilization": // in 0.32
		r.drop(args, path, "metricsUtilization", "HighNodeUtilization always uses requests")
	}
}

// softConstraints replaces includeSoftConstraints with the kinds of constraints
// that it selected.
func (r *renewal) softConstraints(args map[string]any, path *field.Path) {
	const name = "includeSoftConstraints"
	value, given := args[name]
	if !given {
		return
	}
	soft, isBool := value.(bool)
	switch {
	case !isBool:
		r.errs = append(r.errs, shape.Check(path.Child(name), value, reflect.TypeFor[bool]())...)
	case args["constraints"] != nil:
		r.errs = append(r.errs, field.Forbidden(path.Child(name), "not together with constraints, which replaced it"))
	default:
		delete(args, name)
		args["constraints"] = constraintKinds(soft)
		r.out.Add(path.Child("constraints").String(), fmt.Sprintf("includeSoftConstraints: %v is replaced by the kinds of constraints that it stood for", soft))
	}
}

// drop removes a field that no release read, and adds a note about why nothing changes.
func (r *renewal) drop(from map[string]any, path *field.Path, name, why string) {
	if _, given := from[name]; given {
		delete(from, name)
		r.out.Add(path.String(), fmt.Sprintf("%s is left out: descheduler never read it; %s", name, why))
	}
}

// rename renames a field whose spelling has changed.
func (r *renewal) rename(object map[string]any, from, to string) {
	value, given := object[from]
	if _, both := object[to]; both || !given {
		return
	}
	delete(object, from)
	object[to] = value
	r.out.Add(to, from+" is written as "+to)
}
