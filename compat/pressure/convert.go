// Package pressure converts the rules of dynamicScheduler into the current format: one
// metric per rule, an evict line at the rule's threshold that moves no pods, and the
// label that nodesync keeps on nodes above it. It defines only what rules mean in the
// current format. Querying Prometheus, evaluating lines and labelling nodes work as for
// any other policy.
//
// Invariants:
//   - Only the rules set the label: nothing else is judged or queried, and no
//     pod is moved.
//   - As in dynamicScheduler, a node is under pressure while any series of a
//     rule is beyond its threshold, until the first sample in which none is.
package pressure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// Format names the converted format.
const Format = "dynamicScheduler rules"

// maxRules is the maximum number of metrics that a policy may name.
const maxRules = 100

// Is reports whether a document without apiVersion and kind contains dynamicScheduler's
// rules.
func Is(object map[string]any) bool {
	_, rules := object["Rulename"]
	return rules
}

// Convert returns the document in the current format, or all errors in it.
func Convert(object map[string]any) (policy.Conversion, field.ErrorList) {
	converted := policy.Conversion{Format: Format}
	var given rules
	if errs := shape.Decode(object, &given); len(errs) > 0 {
		return converted, errs
	}
	path := field.NewPath("Rulename")
	switch {
	case len(given.Rulename) == 0:
		return converted, field.ErrorList{field.Required(path, "at least one rule with Promsql and Threshold")}
	case len(given.Rulename) > maxRules:
		return converted, field.ErrorList{field.TooMany(path, len(given.Rulename), maxRules)}
	}
	named, errs := nameAll(given.Rulename, path)
	for _, name := range slices.Sorted(maps.Keys(given.Rulename)) {
		errs = append(errs, given.Rulename[name].validate(path.Key(name))...)
	}
	if len(errs) > 0 {
		return converted, errs
	}
	if _, there := object["PromJob"]; there {
		converted.Add("", "PromJob is left out: dynamicScheduler did not read it either")
	}
	converted.Object = given.loadPolicy(named, &converted)
	noteAll(&converted)
	return converted, nil
}

func (g *rules) loadPolicy(named map[string]string, converted *policy.Conversion) map[string]any {
	queries, lines, metrics := map[string]any{}, map[string]any{}, []any{}
	for _, original := range slices.SortedFunc(maps.Keys(named), func(a, b string) int { return cmp.Compare(named[a], named[b]) }) {
		name, rule := named[original], g.Rulename[original]
		if name != original {
			converted.Add("usage.metrics", fmt.Sprintf("rule %q is called %q here: names of metrics have lower-case letters, digits, '-', '_' and '.', and must not be a resource's", original, name))
		}
		metric := map[string]any{"name": name, "relieves": "none"}
		if rule.LowerIsWorse {
			metric["lowerIsWorse"] = true
		}
		metrics = append(metrics, metric)
		queries[name] = map[string]any{"expr": rule.expression(), "unit": "none"}
		lines[name] = map[string]any{"evict": number(*rule.Threshold)}
	}
	return map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1", "kind": "LoadPolicy",
		"usage": map[string]any{
			"sources": []any{map[string]any{
				"type":       "Prometheus",
				"prometheus": map[string]any{"nodeLabel": nodeLabel, "queries": map[string]any{"nodes": queries}},
			}},
			"metrics":          metrics,
			"sampleInterval":   "10s",
			"queriesPerSecond": number(maxRules),
		},
		"lines": lines,
		"hot": map[string]any{
			"windows": []any{"last"}, "consecutiveSamples": number(1), "minWindow": "1s", "startup": "0s",
		},
		"nodesync": map[string]any{
			"nodeSelector": map[string]any{"matchExpressions": []any{
				map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"},
				map[string]any{"key": "node-role.kubernetes.io/master", "operator": "DoesNotExist"},
			}},
			"label": map[string]any{"enabled": true, "key": "status", "value": "presure"},
		},
	}
}

// noteAll adds the notes that apply to all rules.
func noteAll(d *policy.Conversion) {
	d.Add("usage.sources[0].prometheus.address", "rule files do not contain the address: set it by --prom or here")
	d.Add("usage.sources[0].prometheus.nodeLabel",
		"instance may be a node's name, host name or address, with or without a port; dynamicScheduler accepted only the name")
	d.Add("nodesync.nodeSelector",
		"both labels of control plane nodes exclude a node; dynamicScheduler knew only node-role.kubernetes.io/master")
	d.Add("nodesync.label",
		"is written to a node only when it changes, and never over another writer's value; dynamicScheduler patched every node each time")
}
