package policy

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/shape"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

// overlay lays a LoadPolicy document over the defaults: an absent field keeps
// its default, an explicit zero is kept, and a list or mapping that is given
// replaces the default one as a whole. Laid over once more are the lines of a
// metric over that metric's defaults, those of a pool over the policy's, a
// source over the defaults of its type, and periods over the default ones.
//
// It works on trees, in which what is absent can be told from what is zero.
type overlay struct {
	kinds source.Kinds
	// errs are the blocks of sources that are of another kind.
	errs field.ErrorList
}

// policy lays a document without its sources over the defaults.
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

// linesOver lays lines over those below, metric by metric and level by level. A
// metric that is new starts from its defaults. So does one that turns from
// levels to distances, or back, because these are numbers of different meaning.
func (o *overlay) linesOver(below, given map[string]any) any {
	start := map[string]any{}
	maps.Copy(start, below)
	for name, lines := range given {
		base, known := start[name].(map[string]any)
		deviation, said := mappingOf(lines)["deviation"].(bool)
		if !known || said && base["deviation"] != deviation {
			start[name] = o.tree(plainLines(usage.Metric(name), deviation))
		}
	}
	return shape.Overlay(start, given, reflect.TypeFor[Lines]())
}

// plainLines are the lines of a metric that is named and nothing else.
func plainLines(name usage.Metric, deviation bool) MetricLines {
	switch {
	case deviation && hasMean(name):
		return MetricLines{Levels: defaultDistances(), Deviation: true}
	case deviation:
		return MetricLines{Deviation: true} // which validation refuses
	}
	return defaults().Lines[name]
}

// source lays a source over the defaults of its kind. A block of another kind
// is an error.
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

// bounded keeps the product of pools and metrics small.
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

// tree returns a value as a document has it.
func (o *overlay) tree(value any) (tree map[string]any) {
	o.recode(value, &tree)
	return tree
}

func (o *overlay) recode(from, to any) {
	o.errs = append(o.errs, shape.Fill(to, from)...)
}

// mappingOf returns what a document has as a mapping, nil if it is none.
func mappingOf(value any) map[string]any {
	mapping, _ := value.(map[string]any)
	return mapping
}
