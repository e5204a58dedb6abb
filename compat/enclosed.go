package compat

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat/openshift"
	"github.com/evenkeel/evenkeel/policy"
)

// Policies also occur inside other documents: as chart values in a HelmRelease, an Argo
// CD Application or a HelmChart, as text in a patch, and in Secrets. Such policies are
// found but not converted.

// valuesKey is the value of descheduler's chart that holds a policy, versionKey the value
// that holds the policy's apiVersion, and optionsKey the value that holds flags.
const (
	valuesKey  = "deschedulerPolicy"
	versionKey = "deschedulerPolicyAPIVersion"
	optionsKey = "cmdOptions"
)

// names holds words of which every text with a policy contains at least one.
var names = []string{valuesKey, optionsKey, "-pods", "node-selector", "DeschedulerPolicy", policy.LoadPolicyKind, "DynamicSchedulerPolicy", openshift.Kind, "Rulename"}

// enclosedDepth bounds the depth of the search for policies. A text counts as
// perText levels, because reading it takes longer.
const enclosedDepth, perText = 40, 10

// enclosed is a policy, or something that limits evictions, inside another document.
type enclosed struct {
	path, how string
	// what describes what was found, unless that is a policy.
	what string
}

const (
	flagsAreSet = "flags of descheduler are set here"
	programRuns = "a program that Evenkeel replaces runs here"
)

func (e enclosed) text() string {
	if e.what != "" {
		return e.what + ": " + e.how
	}
	return "this contains a policy, which is neither converted nor checked here: " + e.how + ", and run convert and lint on that file"
}

// findEnclosed finds the policies inside a value.
func findEnclosed(value any, path string, depth int) (found []enclosed) {
	if depth > enclosedDepth {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		if depth > 0 && isPolicy(v) {
			return []enclosed{{path: path, how: "write it to a separate file"}}
		}
		if depth > 0 {
			for _, f := range findPrograms(v, nil) {
				for _, note := range f.notes {
					found = append(found, enclosed{path: strings.TrimPrefix(path+"."+note.Field, "."), how: note.Text, what: programRuns})
				}
			}
		}
		found = append(found, findSettings(v, path)...)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+shorten(key), ".")
			if key == valuesKey && isPolicyValue(v[key]) {
				how := fmt.Sprintf("write it to a separate file, below `apiVersion: %s` and `kind: DeschedulerPolicy`", shorten(versionOf(v)))
				found = append(found, enclosed{path: at, how: how})
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

// isPolicyValue distinguishes a policy from its schema.
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

// versionOf returns the apiVersion of a policy in chart values. Charts that supported
// only v1alpha1 did not state it.
func versionOf(values map[string]any) string {
	if version, _ := values[versionKey].(string); version != "" {
		return version
	}
	policy := values[valuesKey]
	if text, ok := policy.(string); ok {
		_ = yaml.Unmarshal([]byte(text), &policy)
	}
	if fields, ok := policy.(map[string]any); ok {
		_, profiles := fields["profiles"]
		if _, strategies := fields["strategies"]; strategies && !profiles {
			return "descheduler/v1alpha1"
		}
	}
	return "descheduler/v1alpha2"
}

// findSettings finds flags in chart values or a patch of a list, and keys that
// set parts of values.
func findSettings(object map[string]any, path string) (found []enclosed) {
	var words []string
	policies := ""
	set := func(name string, value any) {
		_, flag, ok := strings.Cut("."+name, "."+optionsKey+".")
		switch {
		case ok && value != nil:
			words = append(words, fmt.Sprintf("--%s=%v", strings.ReplaceAll(flag, `\`, ""), value))
		case strings.Contains("."+name+".", "."+valuesKey+"."):
			policies = strings.TrimPrefix(name, ".") // see findParameters
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if strings.Contains(key, ".") && !slices.Contains([]string{".yaml", ".yml", ".json"}, key[strings.LastIndexByte(key, '.'):]) { // not a file name
			set(key, object[key])
		}
	}
	options, _ := object[optionsKey].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(options)) {
		set(optionsKey+"."+key, options[key])
	}
	if at, _ := object["path"].(string); object["op"] != nil && strings.Contains(strings.ToLower(at), "containers/") {
		switch value := object["value"].(type) {
		case string:
			words = append(words, value)
		case []any:
			words = append(words, texts(value)...)
		case map[string]any:
			words = append(words, texts(value["args"])...)
		}
	}
	if target, _ := object["targetPath"].(string); target != "" {
		set(target, "$")
	}
	return append(found, settings(words, policies, path)...)
}

// settings returns the findings for flags, and for the name of a setting that
// is part of a policy.
func settings(words []string, policy, path string) (found []enclosed) {
	limits := slices.ContainsFunc(words, func(word string) bool {
		flag, _, _ := flagOf(word)
		_, known := successors[flag]
		return known
	})
	if limits {
		found = append(found, enclosed{path: path, how: strings.Join(programs[0].advice(words), "; "), what: flagsAreSet})
	}
	if policy != "" {
		found = append(found, enclosed{path: path, how: fmt.Sprintf("%s sets it, or a part of it: render the chart (helm template) and extract the policy from the ConfigMap", shorten(policy))})
	}
	return found
}

// findParameters finds the parameters in a list of names and values, as in an
// Argo CD Application, that set parts of a policy or flags.
func findParameters(list []any, path string) []enclosed {
	set := map[string]any{}
	for _, item := range list {
		parameter, _ := item.(map[string]any)
		if name, _ := parameter["name"].(string); parameter["value"] != nil || parameter["path"] != nil {
			// A name without a dot is a top-level key elsewhere.
			set["."+name] = parameter["value"]
		}
	}
	return findSettings(set, path)
}

// templated matches the key of a policy in a text that becomes YAML only when its
// template is rendered.
var templated = regexp.MustCompile(`(?m)^[\s{"'-]*` + valuesKey + `["']?\s*:`)

// enclosedInText finds policies in a text that is a file, or a key followed by a file.
func enclosedInText(text, path string, depth int) []enclosed {
	if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) }) {
		return nil
	}
	if isScript(text) {
		return enclosedInScript(text, path)
	}
	candidates := []string{text}
	if rest := afterKey(text); rest != text {
		candidates = append(candidates, rest)
	}
	depth += perText
	for _, candidate := range candidates {
		if holdsPolicy(candidate) {
			return []enclosed{{path: path, how: "write the text to a separate file"}}
		}
		parts, err := policy.ReadParts("", []byte(candidate))
		if err != nil && templated.MatchString(candidate) {
			return []enclosed{{path: path, how: "the text is not YAML until its template is rendered: render it, write the policy to a separate file"}}
		}
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
	var list any // as in a patch
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		return nil
	}
	if _, ok := list.([]any); !ok {
		return nil
	}
	return findEnclosed(list, path, depth+1)
}

// enclosedInScript finds what a script in a ConfigMap writes or runs.
func enclosedInScript(text, path string) (found []enclosed) {
	if mentionsPolicy(text) {
		found = append(found, enclosed{path: path, how: "write it to a separate file"})
	}
	descheduler := &programs[0]
	run := callOf([]string{"sh", "-c", text}, descheduler.binaries, 0)
	if advice := descheduler.advice(run.args); len(advice) > 0 {
		found = append(found, enclosed{path: path, how: strings.Join(advice, "; "), what: flagsAreSet})
	}
	return found
}

// afterKey returns the text after a key such as "policy.yaml=", as in a generator's
// literals.
func afterKey(text string) string {
	key, rest, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(key, "\n:") {
		return text
	}
	return rest
}

// encodedIn maps kinds to their fields with base64 data.
var encodedIn = map[string]string{"Secret": "data", "ConfigMap": "binaryData"}

// decoded returns the decoded values that are text.
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

// enclosures returns the findings for policies inside a document, which are not
// converted there.
func enclosures(object map[string]any) []finding {
	name := objectName(object)
	apiVersion, kind := typeOf(object)
	switch _, meta := object["metadata"].(map[string]any); {
	case meta:
	case apiVersion == "" && object["items"] == nil:
		name = valuesOfChart
	default:
		name = shorten(kind)
	}
	looked := maps.Clone(object)
	if data, ok := looked[encodedIn[kind]].(map[string]any); ok {
		looked[encodedIn[kind]] = decoded(data)
	}
	return enclosuresOf(name, looked)
}

// valuesOfChart is used in place of a document's name if it has none.
const valuesOfChart = "values of a chart"

// enclosuresOf returns the findings inside a value. name is the value's name in messages.
func enclosuresOf(name string, value any) (found []finding) {
	for _, e := range findEnclosed(value, "", 0) {
		object := name
		switch {
		case e.path == "": // the whole value
		case name == valuesOfChart:
			object += ": " + e.path
		default:
			object += " " + e.path
		}
		found = append(found, finding{object: object, enclosed: true, notes: []policy.Note{{
			Field: e.path, Text: e.text(), Lossy: true,
		}}})
	}
	return found
}
