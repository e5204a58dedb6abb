// Package crane converts a DynamicSchedulerPolicy, which crane-scheduler and
// crane-scheduler-plus read, to the current format. Annotations become the source of
// usage, and predicates and priorities become scoring by measured windows. The hot value
// is kept, and new lines are placed at the predicates. The package defines only what the
// policy means in the current format; annotations, scores and rejections work as in any
// other policy.
//
// Invariants:
//   - Limits are all fractions or all percentages; the annotations use the same
//     unit.
//   - No planned move ends on a node where a predicate would reject the pod.
package crane

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// Format names the converted format.
const Format = "scheduler.policy.crane.io/v1alpha1"

// message is the reason that kube-scheduler reports for a node above a limit. Crane's
// message names the metric and the node, but kube-scheduler groups nodes by this text.
const message = "node load is too high"

// Convert returns the document in the current format, or all errors in it.
func Convert(object map[string]any) (policy.Conversion, field.ErrorList) {
	c := conversion{out: policy.Conversion{Format: Format}}
	if errs := shape.Decode(object, &c.in); len(errs) > 0 {
		return c.out, errs
	}
	if errs := c.in.Spec.validate(field.NewPath("spec")); len(errs) > 0 {
		return c.out, errs
	}
	c.convert()
	return c.out, nil
}

func (c *conversion) convert() {
	limits := c.limits()
	c.out.Object = map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1",
		"kind":       "LoadPolicy",
		"usage":      map[string]any{"sources": []any{c.source()}},
		"lines":      c.lines(limits),
		"hot":        map[string]any{"windows": []any{avg5m}},
		"scoring":    c.scoring(limits),
	}
	c.out.Add("hot.windows", "annotations have no percentiles, so only a node's five-minute mean makes it hot")
	c.out.Add("nodesync.annotations",
		"annotations are read but not written: keep crane-scheduler-controller, or list Prometheus or another source ahead of Annotations and enable this")
}

// source returns the annotations that Crane's controller writes.
func (c *conversion) source() map[string]any {
	const at = "usage.sources[0].annotations"
	unit := c.in.Spec.unit()
	periods := map[string]any{}
	for _, sync := range c.in.Spec.SyncPolicy {
		window, period := metrics[sync.Name].window, sync.Period.Duration
		before, there := c.in.Spec.periodBefore(sync.Name)
		if there && before != period {
			c.out.Add(at+".periods["+window+"]", "cpu and memory share one period here; Crane's differ, so the longer one applies to both")
		}
		periods[window] = max(before, period).String()
	}
	c.out.Add(at+".unit", unit.note())
	c.out.Add(at+".timezone", "is detected from the timestamps; set it to the controller's TZ (Asia/Shanghai by default) to be safe")
	c.out.Add("usage.sources", "annotations have no usage of pods: to move pods, add a source that does, such as MetricsServer")
	return map[string]any{"type": "Annotations", "annotations": map[string]any{"unit": string(unit), "periods": periods}}
}

func (c *conversion) scoring(limits []limit) map[string]any {
	measured := map[string]any{"formula": "Crane", "message": message, "rejectAll": false}
	if terms := c.terms(); len(terms) > 0 {
		measured["terms"] = terms
	}
	if len(limits) > 0 {
		measured["limits"] = measuredLimits(limits)
		c.out.Lose("scoring.measured.rejectAll",
			"when every node of a request is above a limit, all are kept and the least loaded scores best; set true to let the pod wait, as before")
		c.out.Add("scoring.measured.message", "is one text for all limits; Crane's named the metric and the node")
	}
	scoring := map[string]any{"measured": measured}
	if hot := c.hotValue(); len(hot) > 0 {
		scoring["hotValue"] = hot
	}
	return scoring
}

func (c *conversion) terms() []any {
	terms := make([]any, 0, len(c.in.Spec.Priority))
	for _, given := range c.in.Spec.Priority {
		metric := metrics[given.Name]
		if !c.in.Spec.synced(given.Name) {
			c.out.Add(field.NewPath("scoring", "measured", "terms").Index(len(terms)).String(),
				given.Name+" is not in syncPolicy, so Crane treated it as unknown; here it counts wherever its annotation is fresh")
		}
		terms = append(terms, map[string]any{"metric": metric.name, "window": metric.window, "weight": policy.Number(given.Weight)})
	}
	if len(terms) == 0 {
		c.out.Add("scoring.measured.terms", "there are no priorities, so no node is preferred")
	}
	return terms
}

func (c *conversion) hotValue() []any {
	terms := make([]any, 0, len(c.in.Spec.HotValue))
	for _, given := range c.in.Spec.HotValue {
		terms = append(terms, map[string]any{"timeRange": given.TimeRange.Duration.String(), "count": policy.Number(float64(given.Count))})
	}
	if len(terms) > 0 {
		c.out.Add("scoring.hotValue", "pods count from the moment they are seen on their node; Events and node_hot_value are not used")
	}
	return terms
}
