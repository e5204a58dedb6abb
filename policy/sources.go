package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

// defaultSource is the kind of source that is used if a policy names none.
const defaultSource = "MetricsServer"

// NewSource returns a source of a kind with its defaults.
func NewSource(name string, kinds source.Kinds) Source {
	return Source{Type: name, Config: kinds.Default(name)}
}

// SourceType returns the Go type of a source with the blocks of all kinds.
func SourceType(kinds source.Kinds) reflect.Type {
	fields := reflect.VisibleFields(reflect.TypeFor[Source]())
	fields = slices.DeleteFunc(fields, func(f reflect.StructField) bool { return f.Type == reflect.TypeFor[source.Config]() })
	for _, kind := range kinds {
		if name := kind.Describe().Name; hasBlock(kind) {
			tag := reflect.StructTag(fmt.Sprintf(`json:"%s,omitempty"`, source.Block(name)))
			fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeOf(kind), Tag: tag})
		}
	}
	for i := range fields {
		fields[i].Offset, fields[i].Index = 0, nil
	}
	return reflect.StructOf(fields)
}

// hasBlock reports whether a kind of source has its own block in a policy.
func hasBlock(kind source.Config) bool { return reflect.TypeOf(kind).Elem().NumField() > 0 }

// MarshalJSON writes a source in the form that it has in a policy.
func (s Source) MarshalJSON() ([]byte, error) {
	fields := map[string]any{"type": s.Type}
	if s.MaxAge.Duration != 0 {
		fields["maxAge"] = s.MaxAge
	}
	if s.Timeout.Duration != 0 {
		fields["timeout"] = s.Timeout
	}
	if s.Config != nil && hasBlock(s.Config) {
		fields[source.Block(s.Type)] = s.Config
	}
	return json.Marshal(fields)
}

func validateSources(u *Usage, kinds source.Kinds, path *field.Path) field.ErrorList {
	if len(u.Sources) == 0 {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must name at least one of %q", kinds.Names()))}
	}
	var errs field.ErrorList
	types := make([]string, len(u.Sources))
	for i := range u.Sources {
		source, at := &u.Sources[i], path.Index(i)
		types[i] = source.Type
		if unknown := check.OneOf(at.Child("type"), source.Type, kinds.Names()...); len(unknown) > 0 {
			errs = append(errs, unknown...)
			continue
		}
		if slices.Contains(types[:i], source.Type) {
			errs = append(errs, field.Duplicate(at.Child("type"), source.Type))
		}
		errs = append(errs, validateSource(u, source, at)...)
	}
	return errs
}

func validateSource(u *Usage, s *Source, path *field.Path) field.ErrorList {
	block := path.Child(source.Block(s.Type))
	if s.Config == nil {
		return field.ErrorList{field.Required(block, fmt.Sprintf("only a source of type %s has it", s.Type))}
	}
	names := make([]usage.Metric, len(u.Metrics))
	for i, metric := range u.Metrics {
		names[i] = metric.Name
	}
	return append(validateSourceTimes(u, s, path), s.Config.Validate(block, names)...)
}

// validateSourceTimes checks the times that a source may set to override those of usage.
// 0s overrides nothing.
func validateSourceTimes(u *Usage, s *Source, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.MaxAge.Duration != 0 {
		at, most := path.Child("maxAge"), time.Hour
		if s.Config.Describe().DatesValues {
			most = 24 * time.Hour
		}
		errs = append(errs, check.Duration(at, s.MaxAge, time.Second, most)...)
		if s.MaxAge.Duration > 0 {
			errs = append(errs, u.longerThanSamples(at, s.MaxAge)...)
		}
	}
	if s.Timeout.Duration != 0 {
		errs = append(errs, check.Duration(path.Child("timeout"), s.Timeout, 100*time.Millisecond, 5*time.Minute)...)
	}
	return errs
}

// longerThanSamples checks that samples may be older than the sample interval.
func (u *Usage) longerThanSamples(path *field.Path, maxAge metav1.Duration) field.ErrorList {
	if maxAge.Duration > u.SampleInterval.Duration {
		return nil
	}
	return field.ErrorList{field.Invalid(path, maxAge.Duration.String(),
		fmt.Sprintf("must be longer than sampleInterval (%s), or every node is unknown between two samples", u.SampleInterval.Duration))}
}

// measures reports whether any source measures a metric besides cpu and memory.
func (u *Usage) measures(name usage.Metric) bool {
	return slices.ContainsFunc(u.Sources, func(s Source) bool {
		return s.Config != nil && slices.Contains(s.Config.Describe().Signals, name)
	})
}
