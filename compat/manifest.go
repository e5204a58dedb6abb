package compat

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evenkeel/evenkeel/compat/scheduler"
	"github.com/evenkeel/evenkeel/compat/schedulerconfig"
	"github.com/evenkeel/evenkeel/policy"
)

// isManifest reports whether this is a Kubernetes object and not a configuration file.
// Objects have metadata, and lists of objects have items.
func isManifest(object map[string]any) bool {
	apiVersion, kind := typeOf(object)
	_, meta := object["metadata"].(map[string]any)
	_, items := object["items"].([]any)
	return apiVersion != "" && kind != "" && (meta || items && strings.HasSuffix(kind, "List"))
}

// finding is one task in a manifest: either to convert a text, or to mark what must be
// changed by hand.
type finding struct {
	// object names the object in messages.
	object string
	// path leads to a text that holds policies. place names the text in messages.
	path  []string
	text  string
	place place
	// marks are comments about what to change. notes are the corresponding messages.
	marks []edit
	notes []policy.Note
	// enclosed means that a policy is inside the manifest, and that the notes describe how
	// to extract it.
	enclosed bool
}

// findIn finds the tasks in a Kubernetes object or a list of them.
func findIn(object map[string]any, path []string) []finding {
	kind, _ := object["kind"].(string)
	items, isList := object["items"].([]any)
	switch {
	case isList && strings.HasSuffix(kind, "List"):
		var found []finding
		for i, item := range items {
			inner, ok := item.(map[string]any)
			switch at := []string{"items", strconv.Itoa(i)}; {
			case !ok:
			case isPolicy(inner) || len(path) > 0: // a list in a list, too
				found = append(found, enclosuresOf(shorten(kind), map[string]any{fmt.Sprintf("items[%d]", i): inner})...)
			case isManifest(inner):
				found = append(found, findIn(inner, at)...)
			}
		}
		return found
	case kind == "ConfigMap":
		return append(findTexts(object, append(path, "data")), enclosures(withoutPolicies(object, "data"))...)
	case kind == "Secret":
		return append(findTexts(object, append(path, "stringData")), enclosures(withoutPolicies(object, "stringData"))...)
	}
	return append(findPrograms(object, path), enclosures(object)...)
}

// withoutPolicies returns an object without the texts that findTexts would find.
func withoutPolicies(object map[string]any, field string) map[string]any {
	data, _ := object[field].(map[string]any)
	without, others := maps.Clone(object), map[string]any{}
	for key, value := range data {
		if text, _ := value.(string); !holdsPolicy(text) {
			others[key] = value
		}
	}
	without[field] = others
	return without
}

// findTexts finds the policies among the values of a ConfigMap or a Secret.
func findTexts(object map[string]any, path []string) (found []finding) {
	field := path[len(path)-1]
	data, _ := object[field].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if text, _ := data[key].(string); holdsPolicy(text) {
			found = append(found, finding{
				object: objectName(object), path: append(slices.Clone(path), key), text: text,
				place: place(fmt.Sprintf("%s %s[%q]", objectName(object), field, shorten(key))),
			})
		}
	}
	return found
}

// mentioned matches text that is meant as a policy, readable or not. Other
// projects also have a kind Policy, so kube-scheduler's is recognized by its
// fields.
var (
	mentioned   = regexp.MustCompile(`(?m)(^|[{,])\s*["']?(kind["']?\s*:\s*["']?(LoadPolicy|DeschedulerPolicy|KubeDescheduler|DynamicSchedulerPolicy|KubeSchedulerConfiguration)\b|Rulename["']?\s*:)`)
	ofScheduler = []*regexp.Regexp{
		regexp.MustCompile(`(?m)(^|[{,])\s*["']?kind["']?\s*:\s*["']?Policy\b`),
		regexp.MustCompile(`(?m)(^|[{,])\s*["']?(extenders|predicates|priorities)["']?\s*:`),
	}
)

// mentionsPolicy reports whether text is meant as a policy.
func mentionsPolicy(text string) bool {
	return mentioned.MatchString(text) || ofScheduler[0].MatchString(text) && ofScheduler[1].MatchString(text)
}

// holdsPolicy reports whether to convert a value. That includes unreadable text that is
// meant as a policy, so that the error in it is reported. A script that writes a policy
// is not converted.
func holdsPolicy(text string) bool {
	parts, err := policy.ReadParts("", []byte(text))
	if err != nil {
		return mentionsPolicy(text) && !isScript(text)
	}
	return slices.ContainsFunc(parts, func(part policy.Part) bool {
		o := part.Object
		return o != nil && (isPolicy(o) || scheduler.Is(o) || schedulerconfig.Is(o))
	})
}

func isScript(text string) bool { return strings.HasPrefix(text, "#!") }

// findPrograms finds the containers that run a legacy system.
func findPrograms(object map[string]any, path []string) []finding {
	spec, below := podSpec(object)
	found := finding{object: objectName(object)}
	for _, field := range []string{"initContainers", "containers"} {
		containers, _ := spec[field].([]any)
		for i, item := range containers {
			container, _ := item.(map[string]any)
			program := programOf(container)
			if program == nil {
				continue
			}
			at := slices.Concat(path, below, []string{field, strconv.Itoa(i)})
			for _, mark := range program.marks(container) {
				found.marks = append(found.marks, edit{path: append(slices.Clone(at), mark.field), comment: "evenkeel convert: " + mark.text})
				found.notes = append(found.notes, policy.Note{Field: fmt.Sprintf("%s.%s[%d].%s", strings.Join(below, "."), field, i, mark.field), Text: mark.text})
			}
		}
	}
	if len(found.marks) == 0 {
		return nil
	}
	return []finding{found}
}

// podSpec returns the spec of the pods that an object creates, and its path.
func podSpec(object map[string]any) (spec map[string]any, path []string) {
	switch object["kind"] {
	case "CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case "DaemonSet", "Deployment", "DeploymentConfig", "Job", "ReplicaSet", "ReplicationController", "StatefulSet":
		path = []string{"spec", "template", "spec"}
	case "PodTemplate":
		path = []string{"template", "spec"}
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
