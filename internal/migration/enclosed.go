package migration

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/migration/openshift"
	"github.com/evenkeel/evenkeel/policy"
)

// Policies are also written inside other documents: as values of a chart in a
// HelmRelease, an Argo CD Application or a HelmChart, as text in a patch, and in
// Secrets. They are found, and not converted there.

// valuesKey is the value of descheduler's chart that holds a policy, versionKey the one
// that holds its apiVersion.
const (
	valuesKey  = "deschedulerPolicy"
	versionKey = "deschedulerPolicyAPIVersion"
)

// names are in every text that holds a policy, whatever else is.
var names = []string{valuesKey, "DeschedulerPolicy", policy.LoadPolicyKind, "DynamicSchedulerPolicy", openshift.Kind, "Rulename"}

// enclosedDepth bounds how deep a policy is looked for. A text counts as perText levels,
// because reading it takes longer.
const enclosedDepth, perText = 40, 10

// enclosed is a policy inside another document.
type enclosed struct{ path, how string }

// findEnclosed finds the policies inside a value.
func findEnclosed(value any, path string, depth int) (found []enclosed) {
	if depth > enclosedDepth {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		if depth > 0 && isPolicy(v) {
			return []enclosed{{path, "write it to a file of its own"}}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+shorten(key), ".")
			if key == valuesKey && isPolicyValue(v[key]) {
				version, _ := v[versionKey].(string)
				if version == "" {
					version = "descheduler/v1alpha2"
				}
				found = append(found, enclosed{at, fmt.Sprintf("write it to a file of its own, below `apiVersion: %s` and `kind: DeschedulerPolicy`", shorten(version))})
				continue
			}
			found = append(found, findEnclosed(v[key], at, depth+1)...)
		}
	case []any:
		for i, item := range v {
			found = append(found, findEnclosed(item, path+"["+strconv.Itoa(i)+"]", depth+1)...)
		}
		found = append(found, findParameters(v, path)...)
	case string:
		return enclosedInText(v, path, depth)
	}
	return found
}

// isPolicyValue tells a policy from the schema of one.
func isPolicyValue(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		_, schema := v["properties"]
		_, preserved := v["x-kubernetes-preserve-unknown-fields"]
		return len(v) > 0 && !schema && !preserved
	case string:
		return strings.Contains(v, ":")
	}
	return false
}

// findParameters finds the parameters of a list of names and values that set parts of a
// policy, as an Argo CD Application has them.
func findParameters(list []any, path string) []enclosed {
	for _, item := range list {
		parameter, _ := item.(map[string]any)
		name, _ := parameter["name"].(string)
		if strings.HasPrefix(name, valuesKey+".") || strings.Contains(name, "."+valuesKey+".") {
			return []enclosed{{path, fmt.Sprintf("its parameters %s.… set a policy: render the chart with them (helm template) and take the policy out of the ConfigMap", valuesKey)}}
		}
	}
	return nil
}

// enclosedInText finds policies in a text: a file, or a key and a file.
func enclosedInText(text, path string, depth int) []enclosed {
	if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) }) {
		return nil
	}
	candidates := []string{text}
	if rest := afterKey(text); rest != text {
		candidates = append(candidates, rest)
	}
	depth += perText
	for _, candidate := range candidates {
		if holdsPolicy(candidate) {
			return []enclosed{{path, "write the text to a file of its own"}}
		}
		parts, err := policy.ReadParts("", []byte(candidate))
		if err != nil {
			continue
		}
		var found []enclosed
		for _, part := range parts {
			if part.Object != nil {
				found = append(found, findEnclosed(part.Object, path, depth+1)...)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	var list any // as a patch is
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		return nil
	}
	if _, ok := list.([]any); !ok {
		return nil
	}
	return findEnclosed(list, path, depth+1)
}

// afterKey is the text behind "policy.yaml=", as literals of a generator have it.
func afterKey(text string) string {
	key, rest, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(key, "\n:") {
		return text
	}
	return rest
}

// decoded returns the data of a Secret that is text.
func decoded(data map[string]any) map[string]any {
	texts := map[string]any{}
	for key, value := range data {
		encoded, _ := value.(string)
		if text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded)); err == nil {
			texts[key] = string(text)
		}
	}
	return texts
}

// enclosures are the findings for the policies inside a document that are not converted
// there.
func enclosures(object map[string]any) (found []finding) {
	name, looked := objectName(object), maps.Clone(object)
	apiVersion, kind := typeOf(object)
	switch _, meta := object["metadata"].(map[string]any); {
	case meta:
	case apiVersion == "" && object["items"] == nil:
		name = "values of a chart:"
	default:
		name = shorten(kind)
	}
	if data, ok := looked["data"].(map[string]any); ok && looked["kind"] == "Secret" {
		looked["data"] = decoded(data)
	}
	for _, e := range findEnclosed(looked, "", 0) {
		found = append(found, finding{object: name + " " + e.path, enclosed: true, notes: []policy.Note{{
			Field: e.path, Text: "a policy is inside, which is neither converted nor examined here: " + e.how + ", and run convert and lint on that", Lossy: true,
		}}})
	}
	return found
}
