package policy

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// overlay lays a LoadPolicy document over the defaults. An absent field keeps its default, an explicit zero is kept,
// and a list or mapping replaces the default as a whole. The exceptions, which are merged, are the lines of a metric
// with its defaults, those of a pool with the policy's, a source with the defaults of its type, and periods with the
// default ones.
//
// It works on trees, because absent values differ from zeros there.
type overlay struct {
	kinds source.Kinds
	// errs reports source blocks that belong to another kind.
	errs field.ErrorList
}

// policy overlays a document, apart from its sources, on the defaults.
func (o *overlay) policy(object map[string]any) LoadPolicy {
	base := defaults()
	if mappingOf(object["scoring"])["weights"] != nil {
		clear(base.Scoring.Weights)
	}
	whole := mappingOf(shape.Overlay(o.tree(base), object, reflect.TypeFor[LoadPolicy]()))
	if object["lines"] != nil {
		whole["lines"] = o.linesOver(nil, mappingOf(object["lines"]))
	}
	pools, _ := whole["nodePools"].([]any)
	for i, element := range pools {
		pool := map[string]any{}
		maps.Copy(pool, mappingOf(element))
		pool["lines"] = o.linesOver(mappingOf(whole["lines"]), mappingOf(pool["lines"]))
		pools[i] = pool
	}
	var p LoadPolicy
	o.recode(whole, &p)
	for _, w := range p.NodeSync.Annotations.Windows {
		if _, ok := p.NodeSync.Annotations.Periods[w]; !ok {
			p.NodeSync.Annotations.Periods[w] = duration(source.OtherPeriod)
		}
	}
	return p
}

// linesOver overlays the given lines on those of below, metric by metric and level by
// level. A new metric starts from its defaults. So does a metric that switches between
// levels and distances, because the numbers then have a different meaning.
func (o *overlay) linesOver(below, given map[string]any) any {
	start := map[string]any{}
	maps.Copy(start, below)
	for name, lines := range given {
		base, known := start[name].(map[string]any)
		deviation, isSet := mappingOf(lines)["deviation"].(bool)
		if !known || isSet && base["deviation"] != deviation {
			start[name] = o.tree(plainLines(usage.Metric(name), deviation))
		}
	}
	return shape.Overlay(start, given, reflect.TypeFor[Lines]())
}

// plainLines returns the lines of a metric that is named without any levels.
func plainLines(name usage.Metric, deviation bool) MetricLines {
	switch {
	case deviation && hasMean(name):
		return MetricLines{Levels: defaultDistances(), Deviation: true}
	case deviation:
		return MetricLines{Deviation: true} // validation rejects this
	}
	return defaults().Lines[name]
}

// source overlays a source on the defaults of its kind. A block of another kind is an error.
func (o *overlay) source(given map[string]any, path *field.Path) Source {
	name, _ := given["type"].(string)
	s := NewSource(name, o.kinds)
	whole := mappingOf(shape.Overlay(o.tree(s), given, SourceType(o.kinds)))
	o.recode(whole, &s)
	for _, kind := range o.kinds.Names() {
		block := source.Block(kind)
		switch {
		case s.Config == nil || whole[block] == nil:
		case kind == name:
			o.recode(whole[block], s.Config)
		default:
			o.errs = append(o.errs, field.Forbidden(path.Child(block),
				fmt.Sprintf("only a source of type %s has it; this one is %s", kind, name)))
		}
	}
	return s
}

// bounded limits the product of the numbers of pools and metrics.
func bounded(object map[string]any) field.ErrorList {
	pools, _ := object["nodePools"].([]any)
	if len(pools) > maxPools {
		return field.ErrorList{field.TooMany(field.NewPath("nodePools"), len(pools), maxPools)}
	}
	for i, pool := range pools {
		if lines := mappingOf(mappingOf(pool)["lines"]); len(lines) > maxMetrics {
			return field.ErrorList{field.TooMany(field.NewPath("nodePools").Index(i).Child("lines"), len(lines), maxMetrics)}
		}
	}
	if lines := mappingOf(object["lines"]); len(lines) > maxMetrics {
		return field.ErrorList{field.TooMany(field.NewPath("lines"), len(lines), maxMetrics)}
	}
	return nil
}

// tree returns a value in the form that it has in a document.
func (o *overlay) tree(value any) (tree map[string]any) {
	o.recode(value, &tree)
	return tree
}

func (o *overlay) recode(from, to any) {
	o.errs = append(o.errs, shape.Fill(to, from)...)
}

// mappingOf returns a value as a mapping, or nil if it is not one.
func mappingOf(value any) map[string]any {
	mapping, _ := value.(map[string]any)
	return mapping
}
