package policy

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

// overlay decodes a LoadPolicy document over the defaults: an absent field
// keeps its default, an explicit zero is kept, and a list or mapping that is
// given replaces the default one as a whole. Laid over once more are the lines
// of a metric over that metric's defaults, those of a pool over the policy's, a
// source over the defaults of its type, and periods over the default ones.
type overlay struct {
	LoadPolicy

	kinds source.Kinds
	// sourcesGiven reports whether the document has usage.sources.
	sourcesGiven bool
	// errs are the blocks of sources that are of another kind.
	errs field.ErrorList
}

var _ json.Unmarshaler = (*overlay)(nil)

// sparsePolicy is a document with the parts that are laid over by hand kept
// apart: they hide those of the LoadPolicy.
type sparsePolicy struct {
	LoadPolicy `json:",inline"`

	Usage     sparseUsage  `json:"usage"`
	Lines     sparseLines  `json:"lines"`
	NodePools []sparsePool `json:"nodePools"`
}

type sparseUsage struct {
	Usage `json:",inline"`

	Sources []json.RawMessage `json:"sources"`
}

type sparsePool struct {
	Name     string               `json:"name"`
	Selector metav1.LabelSelector `json:"selector"`
	Lines    sparseLines          `json:"lines"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *overlay) UnmarshalJSON(data []byte) error {
	doc := sparsePolicy{LoadPolicy: Default(o.kinds)}
	doc.Usage.Usage = doc.LoadPolicy.Usage
	// Decoding into a filled list or mapping would mix old elements with new.
	doc.Hot.Windows = nil
	doc.Scoring.Weights = nil
	doc.Eviction.SchedulerNames = nil
	doc.NodeSync.Annotations.Windows = nil
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}

	defaults := defaults()
	o.LoadPolicy = doc.LoadPolicy
	o.Usage = doc.Usage.Usage
	dropEmpty(&o.Usage.Metrics)
	dropEmpty(&o.Scoring.HotValue)
	if m := o.Scoring.Measured; m != nil {
		dropEmpty(&m.Terms)
		dropEmpty(&m.Limits)
	}
	dropEmpty(&o.Eviction.Windows)
	dropEmpty(&o.Eviction.Blackouts)
	keepSlice(&o.Hot.Windows, defaults.Hot.Windows)
	keepSlice(&o.Eviction.SchedulerNames, defaults.Eviction.SchedulerNames)
	keepSlice(&o.NodeSync.Annotations.Windows, defaults.NodeSync.Annotations.Windows)
	if o.Scoring.Weights == nil {
		o.Scoring.Weights = defaults.Scoring.Weights
	}
	o.NodeSync.NodeSelector = compact(o.NodeSync.NodeSelector)
	o.NodeSync.Annotations.Periods = withPeriods(o.NodeSync.Annotations.Periods, o.NodeSync.Annotations.Windows)
	o.Lines = defaults.Lines
	if doc.Lines != nil {
		o.Lines = doc.Lines.alone()
	}
	if err := bounded(&doc); err != nil {
		return err
	}
	for _, pool := range doc.NodePools {
		o.NodePools = append(o.NodePools, NodePool{
			Name: pool.Name, Selector: compact(pool.Selector), Lines: pool.Lines.over(o.Lines),
		})
	}
	return o.laySources(doc.Usage.Sources)
}

// bounded keeps the product of pools and metrics small.
func bounded(doc *sparsePolicy) error {
	if len(doc.NodePools) > maxPools {
		return field.TooMany(field.NewPath("nodePools"), len(doc.NodePools), maxPools)
	}
	for i, pool := range doc.NodePools {
		if len(pool.Lines) > maxMetrics {
			return field.TooMany(field.NewPath("nodePools").Index(i).Child("lines"), len(pool.Lines), maxMetrics)
		}
	}
	if len(doc.Lines) > maxMetrics {
		return field.TooMany(field.NewPath("lines"), len(doc.Lines), maxMetrics)
	}
	return nil
}

// laySources lays each source over the defaults of its type.
func (o *overlay) laySources(given []json.RawMessage) error {
	if given == nil {
		return nil // those of the defaults are there already
	}
	o.sourcesGiven = true
	o.Usage.Sources = make([]Source, len(given))
	for i, raw := range given {
		source, errs, err := decodeSource(raw, o.kinds, field.NewPath("usage", "sources").Index(i))
		if err != nil {
			return err
		}
		o.Usage.Sources[i], o.errs = source, append(o.errs, errs...)
	}
	return nil
}

// withPeriods gives every window a period.
func withPeriods(periods map[usage.Window]metav1.Duration, windows []usage.Window) map[usage.Window]metav1.Duration {
	for _, w := range windows {
		if _, ok := periods[w]; !ok {
			periods[w] = duration(source.OtherPeriod)
		}
	}
	return periods
}

// compact gives empty lists and mappings one form.
func compact(s metav1.LabelSelector) metav1.LabelSelector {
	if len(s.MatchLabels) == 0 {
		s.MatchLabels = nil
	}
	if len(s.MatchExpressions) == 0 {
		s.MatchExpressions = nil
	}
	for i := range s.MatchExpressions {
		if len(s.MatchExpressions[i].Values) == 0 {
			s.MatchExpressions[i].Values = nil
		}
	}
	return s
}

// keepSlice sets an absent list to its default; an empty one was given.
func keepSlice[T any](list *[]T, fallback []T) {
	if *list == nil {
		*list = slices.Clone(fallback)
	}
}

// dropEmpty gives a list that holds nothing by default one form.
func dropEmpty[T any](list *[]T) {
	if len(*list) == 0 {
		*list = nil
	}
}
