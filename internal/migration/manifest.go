package migration

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evenkeel/evenkeel/internal/migration/scheduler"
	"github.com/evenkeel/evenkeel/internal/migration/schedulerconfig"
	"github.com/evenkeel/evenkeel/policy"
)

// isManifest tells objects of Kubernetes from configuration files: they have
// metadata, and lists of them have items.
func isManifest(object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	_, meta := object["metadata"].(map[string]any)
	_, items := object["items"].([]any)
	return apiVersion != "" && kind != "" && (meta || items && strings.HasSuffix(kind, "List"))
}

// manifest converts the policies inside of a manifest and marks what has to be
// changed by hand.
func (s *stream) manifest(part policy.Part) []byte {
	if s.at.value != "" { // inside of another one
		s.tell(part, name(part.Object, ""), Kept)
		return part.Text
	}
	m := manifest{stream: s, part: part}
	before := len(s.result.Parts) + len(s.problems)
	m.object(part.Object, nil)
	if len(m.edits) == 0 {
		if len(s.result.Parts)+len(s.problems) == before {
			s.tell(part, name(part.Object, ""), Kept)
		}
		return part.Text
	}
	text, err := apply(part, m.edits)
	if err != nil {
		s.problems = append(s.problems, fmt.Sprintf("line %d: %s: %v", lineOf(part), name(part.Object, ""), err))
		return nil
	}
	s.changed = s.changed || string(text) != string(part.Text)
	return text
}

// manifest gathers what changes in one document.
type manifest struct {
	*stream

	part  policy.Part
	edits []edit
}

// edit is one change of a document: a new value, a comment or both.
type edit struct {
	path    []string
	value   *string
	comment string
}

func (m *manifest) object(object map[string]any, path []string) {
	kind, _ := object["kind"].(string)
	items, isList := object["items"].([]any)
	switch {
	case isList && strings.HasSuffix(kind, "List"):
		for i, item := range items {
			if inner, ok := item.(map[string]any); ok && isManifest(inner) && len(path) == 0 {
				m.object(inner, append(path, "items", strconv.Itoa(i)))
			}
		}
	case kind == "ConfigMap":
		m.convertValues(object, append(path, "data"))
	case kind == "Secret":
		m.convertValues(object, append(path, "stringData"))
	default:
		m.workload(object, path)
	}
}

// maxValues bounds the values of a file that are converted; each takes about a
// millisecond.
const maxValues = 100

// convertValues converts the policies among the values of a ConfigMap.
func (m *manifest) convertValues(object map[string]any, path []string) {
	field := path[len(path)-1]
	data, _ := object[field].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, _ := data[key].(string)
		if !m.holdsPolicy(text) {
			continue
		}
		if m.values++; m.values > maxValues {
			if m.values == maxValues+1 {
				m.problems = append(m.problems, fmt.Sprintf("more than %d values of the file hold policies; convert them in several files", maxValues))
			}
			return
		}
		at := place{value: fmt.Sprintf("%s %s[%q]", objectName(object), field, shorten(key))}
		converted := string(m.stream.converter.stream(at, []byte(text)))
		if converted != text {
			m.edits = append(m.edits, edit{path: append(slices.Clone(path), key), value: &converted})
		}
	}
}

// mentioned finds text that is meant as a policy, readable or not.
var mentioned = regexp.MustCompile(`(?m)^[\s{]*["']?(kind["']?\s*:\s*["']?(LoadPolicy|DeschedulerPolicy|DynamicSchedulerPolicy|KubeSchedulerConfiguration)\b|Rulename["']?\s*:)`)

// holdsPolicy says whether a value is to be converted. Text that is meant as a
// policy and cannot be read is, so that its mistake is told.
func (m *manifest) holdsPolicy(text string) bool {
	parts, err := policy.ReadParts(m.fileName, []byte(text))
	if err != nil {
		return mentioned.MatchString(text)
	}
	return slices.ContainsFunc(parts, func(part policy.Part) bool {
		o := part.Object
		return o != nil && (isPolicy(o) || scheduler.Is(o) || schedulerconfig.Is(o))
	})
}

// objectName is how messages call an object of Kubernetes.
func objectName(object map[string]any) string {
	kind, _ := object["kind"].(string)
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if namespace, _ := meta["namespace"].(string); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %q", shorten(kind), shorten(name))
}

// workload marks the containers that run an earlier system.
func (m *manifest) workload(object map[string]any, path []string) {
	spec, below := podSpec(object)
	if spec == nil {
		return
	}
	containers, _ := spec["containers"].([]any)
	var notes []policy.Note
	for i, item := range containers {
		container, _ := item.(map[string]any)
		program := programOf(container)
		if program == nil {
			continue
		}
		at := append(append(slices.Clone(path), below...), "containers", strconv.Itoa(i))
		for _, mark := range program.marks(container) {
			m.edits = append(m.edits, edit{path: append(slices.Clone(at), mark.field), comment: "evenkeel convert: " + mark.text})
			notes = append(notes, policy.Note{Field: fmt.Sprintf("%s.containers[%d].%s", strings.Join(below, "."), i, mark.field), Text: mark.text})
		}
	}
	if len(notes) > 0 {
		m.tell(m.part, objectName(object), Marked, notes...)
	}
}

// podSpec returns the pod that an object makes, and where it stands in it.
func podSpec(object map[string]any) (spec map[string]any, path []string) {
	switch object["kind"] {
	case "CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case "DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet":
		path = []string{"spec", "template", "spec"}
	case "Pod":
		path = []string{"spec"}
	default:
		return nil, nil
	}
	spec = object
	for _, field := range path {
		spec, _ = spec[field].(map[string]any)
	}
	return spec, path
}
