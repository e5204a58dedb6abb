package policy

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
)

// overlay decodes a LoadPolicy document over the defaults: an absent field keeps
// its default, an explicit zero is kept, and a list or mapping that is given
// replaces the default one as a whole. Only the lines of a resource are laid
// over the defaults of that resource once more.
type overlay struct{ LoadPolicy }

var _ json.Unmarshaler = (*overlay)(nil)

// UnmarshalJSON implements json.Unmarshaler.
func (o *overlay) UnmarshalJSON(data []byte) error {
	defaults := Default()
	doc := struct {
		LoadPolicy `json:",inline"`

		// Lines hides the LoadPolicy's own.
		Lines map[v1.ResourceName]json.RawMessage `json:"lines"`
	}{LoadPolicy: Default()}
	// Decoding into a filled list or mapping would mix old elements with new.
	doc.Usage.Sources = nil
	doc.Hot.Windows = nil
	doc.Scoring.Weights = nil
	doc.Eviction.SchedulerNames = nil
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}

	o.LoadPolicy = doc.LoadPolicy
	keepSlice(&o.Usage.Sources, defaults.Usage.Sources)
	keepSlice(&o.Hot.Windows, defaults.Hot.Windows)
	keepSlice(&o.Eviction.SchedulerNames, defaults.Eviction.SchedulerNames)
	if o.Scoring.Weights == nil {
		o.Scoring.Weights = defaults.Scoring.Weights
	}
	return o.layLines(doc.Lines, defaults.Lines)
}

func (o *overlay) layLines(given map[v1.ResourceName]json.RawMessage, defaults Lines) error {
	o.Lines = defaults
	if given == nil {
		return nil
	}
	o.Lines = make(Lines, len(given))
	for name, raw := range given {
		lines := defaults[name]
		if err := json.Unmarshal(raw, &lines); err != nil {
			return err
		}
		o.Lines[name] = lines
	}
	return nil
}

// keepSlice sets an absent list to its default; an empty one was given.
func keepSlice[T any](list *[]T, fallback []T) {
	if *list == nil {
		*list = fallback
	}
}
