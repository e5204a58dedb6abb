package descheduler

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// commonParams are the parameters that belong to every strategy's evictor.
var commonParams = []string{"namespaces", "thresholdPriority", "thresholdPriorityClassName", "nodeFit"}

// profile converts an enabled strategy to a profile.
func (c *conversion) profile(k kind, named strategy) {
	at := fmt.Sprintf("profiles[%d]", len(c.profiles))
	s := subject{
		kind: k,
		raw:  within(c.raw, "strategies", k.name, "params"),
		from: field.NewPath("strategies").Key(k.name).Child("params"),
		to:   at + ".pluginConfig[1].args",
	}
	if named.Params != nil {
		s.params = *named.Params
	}
	if named.Weight != 0 {
		c.out.Add(at, "weight is left out: it never had an effect")
	}
	c.checkCommon(&s)
	c.noteUnused(&s)
	evictorArgs := c.evictorArgs(&s, at+".pluginConfig[0].args")
	args := k.args(c, &s)
	c.profiles = append(c.profiles, map[string]any{
		"name": "strategy-" + k.name + "-profile",
		"pluginConfig": []any{
			map[string]any{"name": evictor, "args": evictorArgs},
			map[string]any{"name": k.name, "args": args},
		},
		"plugins": map[string]any{k.point: map[string]any{"enabled": []any{k.name}}},
	})
}

func (c *conversion) checkCommon(s *subject) {
	p := &s.params
	if p.ThresholdPriority != nil && p.ThresholdPriorityClassName != "" {
		c.forbid(s.from.Child("thresholdPriorityClassName"), "not together with thresholdPriority")
	}
	if len(p.Namespaces.Include) > 0 && len(p.Namespaces.Exclude) > 0 {
		c.forbid(s.from.Child("namespaces"), "only one of include and exclude may be given")
	}
}

// noteUnused adds notes on parameters that only other strategies use.
func (c *conversion) noteUnused(s *subject) {
	for _, name := range slices.Sorted(maps.Keys(s.raw)) {
		if empty(s.raw[name]) || slices.Contains(commonParams, name) || slices.Contains(s.kind.params, name) {
			continue
		}
		c.out.Add(s.to, fmt.Sprintf("%s is left out: %s never read it", name, s.kind.name))
	}
}

// empty reports whether a value means the same as an absent one.
func empty(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid: // null
		return true
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

// evictorArgs returns the arguments of the strategy's DefaultEvictor: the document's
// global protections, and the strategy's own threshold and fit.
func (c *conversion) evictorArgs(s *subject, at string) map[string]any {
	args := map[string]any{}
	if protections := c.protections(at + ".podProtections"); len(protections) > 0 {
		args["podProtections"] = protections
	}
	threshold := map[string]any{}
	if p := &s.params; p.ThresholdPriority != nil {
		threshold["value"] = s.raw["thresholdPriority"]
	} else if p.ThresholdPriorityClassName != "" {
		threshold["name"] = p.ThresholdPriorityClassName
	}
	if len(threshold) > 0 {
		args["priorityThreshold"] = threshold
	}
	switch {
	case !s.params.NodeFit:
	case s.kind.neverFits:
		c.out.Add(at, fmt.Sprintf("nodeFit is left out: %s never read it", s.kind.name))
	default:
		args["nodeFit"] = true
		take(args, c.raw, "nodeSelector") // the fit was checked only for the selected nodes
	}
	return args
}

// protections returns the document's global rules on which pods may be evicted.
func (c *conversion) protections(at string) map[string]any {
	protections := map[string]any{}
	for _, flag := range []struct {
		set                   bool
		legacy, list, current string
	}{
		{c.in.EvictLocalStoragePods, "evictLocalStoragePods", "defaultDisabled", "PodsWithLocalStorage"},
		{c.in.EvictDaemonSetPods, "evictDaemonSetPods", "defaultDisabled", "DaemonSetPods"},
		{c.in.EvictSystemCriticalPods, "evictSystemCriticalPods", "defaultDisabled", "SystemCriticalPods"},
		{c.in.EvictFailedBarePods, "evictFailedBarePods", "defaultDisabled", "FailedBarePods"},
		{c.in.IgnorePvcPods, "ignorePvcPods", "extraEnabled", "PodsWithPVC"},
	} {
		if !flag.set {
			continue
		}
		list, _ := protections[flag.list].([]any)
		protections[flag.list] = append(list, flag.current)
		if len(c.profiles) == 0 { // it is the same in every profile
			c.out.Add(at, fmt.Sprintf("%s is written as %s: %s", flag.legacy, flag.list, flag.current))
		}
	}
	return protections
}
