package policy

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// deschedulerPolicyKind is the kind of upstream's policy document.
const deschedulerPolicyKind = "DeschedulerPolicy"

// documentType identifies a kind of document.
type documentType struct{ apiVersion, kind string }

var (
	loadPolicyType        = documentType{GroupVersion, LoadPolicyKind}
	deschedulerPolicyType = documentType{v1alpha2.SchemeGroupVersion.String(), deschedulerPolicyKind}
)

func (t documentType) String() string { return t.apiVersion + " " + t.kind }

// File is the content of a policy file.
type File struct {
	// Name is the file's name as the user gave it. Messages contain it.
	Name string
	// Load is the LoadPolicy. Fields that the file leaves out have their defaults.
	Load LoadPolicy
	// SourcesGiven reports whether the file sets usage.sources. If not, metricsProviders of the DeschedulerPolicy may
	// name the source.
	SourcesGiven bool
	// Descheduler is the DeschedulerPolicy document in its original form; nil if there is
	// none. The arguments of its plugins are not checked.
	Descheduler []byte
	// DeschedulerAt is the number of lines in the file before the DeschedulerPolicy; -1 if it was converted.
	DeschedulerAt int
	// LoadDocument is the LoadPolicy document in its original form; nil if there is none.
	// LoadDocumentAt is the number of lines in the file before it; -1 if it was converted.
	LoadDocument   []byte
	LoadDocumentAt int
	// DefaultProfile reports whether the file has only a LoadPolicy, so that
	// eviction.defaultProfile replaces the DeschedulerPolicy.
	DefaultProfile bool
	// Converted lists the documents of legacy systems in the file.
	Converted []Conversion
	// Retired has a warning for each field in the file that is no longer documented.
	Retired []Note
}

// Load reads a policy file: YAML documents with at most one DeschedulerPolicy and at most one LoadPolicy, whose sources
// are of the given kinds. converters first convert documents of legacy systems into these formats. fileName appears in
// messages only. If there is an error, it is an *Error with every mistake found.
func Load(fileName string, data []byte, kinds source.Kinds, converters ...Converter) (*File, error) {
	l := loader{kinds: kinds, file: File{Name: fileName, Load: Default(kinds)}, seen: map[documentType]int{}}
	parts, problems := split(data)
	if len(problems) > 0 {
		return nil, NewError(fileName, problems)
	}
	l.readAll(parts, converters)
	if len(l.problems) > 0 {
		return nil, NewError(fileName, l.problems)
	}
	load := &l.file.Load
	_, given := l.seen[loadPolicyType]
	l.file.DefaultProfile = given && l.file.Descheduler == nil && load.Eviction.DefaultProfile && load.JudgesResources()
	return &l.file, nil
}

// loader gathers the documents of one file and all their mistakes.
type loader struct {
	kinds    source.Kinds
	file     File
	seen     map[documentType]int // line on which the document of each type begins
	problems []string
	// at is the document that is being read, in its original form; the zero Part for a
	// converted document.
	at Part
}

func (l *loader) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

func (l *loader) readAll(parts []Part, converters []Converter) {
	for i := range parts {
		l.problems = append(l.problems, parts[i].read()...)
		if parts[i].Object != nil { // readable, and more than comments
			l.read(&parts[i], converters)
		}
	}
	if len(l.seen) == 0 && len(l.problems) == 0 {
		l.problem("the file holds no document; expected %s, %s or both", deschedulerPolicyType, loadPolicyType)
	}
}

func (l *loader) read(part *Part, converters []Converter) {
	l.at = *part
	if !l.convert(part, converters) {
		return
	}
	line, found := part.SkippedLines+1, typeOf(part.Object)
	if first, again := l.seen[found]; again {
		l.problem("line %d: a second %s; the first begins on line %d and only one is allowed", line, found, first)
		return
	}
	switch found {
	case deschedulerPolicyType:
		l.readDeschedulerPolicy(part)
	case loadPolicyType:
		l.readLoadPolicy(part.Object)
		l.file.LoadDocument, l.file.LoadDocumentAt = slices.Clone(part.Text), l.at.SkippedLines
	default:
		l.problem("line %d: apiVersion %q with kind %q is not known; allowed: %s, %s",
			line, found.apiVersion, found.kind, deschedulerPolicyType, loadPolicyType)
		return
	}
	l.seen[found] = line
}

// convert converts a document into the current format. It returns false if the document has mistakes, which it reports.
func (l *loader) convert(part *Part, converters []Converter) bool {
	for _, convert := range converters {
		converted, errs := convert(part.Object)
		if converted == nil {
			continue
		}
		if len(errs) > 0 {
			l.fieldErrors(converted.Format, errs)
			return false
		}
		text, err := yaml.Marshal(converted.Object)
		if err != nil {
			l.problem("%s: %v", converted.Format, err)
			return false
		}
		l.file.Converted = append(l.file.Converted, *converted)
		l.at = Part{SkippedLines: -1}
		part.Text, part.Object = text, converted.Object
		return true
	}
	return true
}

func typeOf(object map[string]any) documentType {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return documentType{apiVersion, kind}
}

func (l *loader) readDeschedulerPolicy(part *Part) {
	var p v1alpha2.DeschedulerPolicy
	errs := strayed(shape.Decode(part.Object, &p), reflect.TypeFor[LoadPolicy](), LoadPolicyKind)
	if len(errs) == 0 && len(p.Profiles) == 0 {
		errs = append(errs, field.Required(field.NewPath("profiles"), "without a profile nothing would ever run"))
	}
	l.fieldErrors(deschedulerPolicyKind, errs)
	l.file.Descheduler, l.file.DeschedulerAt = slices.Clone(part.Text), l.at.SkippedLines
}

// strayed adds a hint to unknown fields that belong to the other document.
func strayed(errs field.ErrorList, other reflect.Type, kind string) field.ErrorList {
	fields := shape.Fields(other)
	for _, err := range errs {
		if _, known := fields[err.Field]; known && err.Type == field.ErrorTypeForbidden {
			err.Detail = "is a field of the other document, " + kind
		}
	}
	return errs
}

// readLoadPolicy checks a document, overlays it on the defaults and checks the result. It handles sources separately,
// because only the kinds know their fields.
func (l *loader) readLoadPolicy(object map[string]any) {
	usage := mappingOf(object["usage"])
	given, path := usage["sources"], field.NewPath("usage", "sources")
	delete(usage, "sources")
	errs := strayed(shape.Check(nil, object, reflect.TypeFor[LoadPolicy]()), reflect.TypeFor[v1alpha2.DeschedulerPolicy](), deschedulerPolicyKind)
	errs = append(errs, shape.Check(path, given, reflect.SliceOf(SourceType(l.kinds)))...)
	if len(errs) == 0 {
		errs = bounded(object)
	}
	if len(errs) > 0 {
		l.fieldErrors(LoadPolicyKind, errs)
		return
	}
	l.file.Retired = append(l.retired(nil, object, reflect.TypeFor[LoadPolicy]()),
		l.retired(path, given, reflect.SliceOf(SourceType(l.kinds)))...)
	over := overlay{kinds: l.kinds}
	load := over.policy(object)
	load.Usage.Sources = l.file.Load.Usage.Sources // restores the defaults
	if sources, ok := given.([]any); ok {
		usage["sources"], l.file.SourcesGiven = given, true // restores the document
		load.Usage.Sources = make([]Source, len(sources))
		for i, source := range sources {
			load.Usage.Sources[i] = over.source(mappingOf(source), path.Index(i))
		}
	}
	l.file.Load = load
	l.fieldErrors(LoadPolicyKind, append(over.errs, Validate(&load, l.kinds)...))
}

func (l *loader) fieldErrors(kind string, errs field.ErrorList) {
	if len(errs) == 0 {
		return
	}
	places := PlacesOf(l.at.Text, l.at.SkippedLines)
	for _, err := range errs {
		place := ""
		if len(l.problems) < maxProblems { // further problems are not shown anyway
			place = places.Of(err)
		}
		l.problem("%s%s: %s", place, kind, check.Message(err))
	}
}
