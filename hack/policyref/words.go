package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
)

// leaves maps types without a section to their names.
var leaves = map[reflect.Type]string{
	reflect.TypeFor[metav1.Duration]():               "duration",
	reflect.TypeFor[resource.Quantity]():             "quantity",
	reflect.TypeFor[intstr.IntOrString]():            "whole number or percentage",
	reflect.TypeFor[usage.Window]():                  "window",
	reflect.TypeFor[usage.Metric]():                  "metric",
	reflect.TypeFor[corev1.ResourceName]():           "cpu or memory",
	reflect.TypeFor[metav1.LabelSelector]():          "label selector",
	reflect.TypeFor[api.Namespaces]():                "`include` or `exclude`: list of text",
	reflect.TypeFor[api.EvictionLimits]():            "`node`: whole number",
	reflect.TypeFor[api.ResourceThresholds]():        "mapping from cpu and memory to number",
	reflect.TypeFor[map[corev1.ResourceName]int64](): "mapping from cpu and memory to whole number",
}

// fields reports whether a type has a section.
func fields(t reflect.Type) bool {
	_, leaf := leaves[t]
	return !leaf && t.Kind() == reflect.Struct
}

// element returns the innermost element type of a list, map or pointer, and the path to
// it.
func element(t reflect.Type, path string) (reflect.Type, string) {
	if _, leaf := leaves[t]; leaf {
		return t, path
	}
	if t == reflect.TypeFor[policy.Source]() {
		return sourceType, path
	}
	switch t.Kind() {
	case reflect.Pointer:
		return element(t.Elem(), path)
	case reflect.Slice:
		return element(t.Elem(), path+"[]")
	case reflect.Map:
		return element(t.Elem(), path+".<"+leaves[t.Key()]+">")
	default:
		return t, path
	}
}

// typeName returns the name of a type for readers, with a link to its section.
func (g *generator) typeName(t reflect.Type) string {
	if name, leaf := leaves[t]; leaf {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.typeName(t.Elem())
	case reflect.Slice:
		return "list of " + g.typeName(t.Elem())
	case reflect.Map:
		return "mapping from " + g.typeName(t.Key()) + " to " + g.typeName(t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[policy.Levels]() { // the levels of the metric
			return "`low`, `reject`, `evict`, `leave`: number"
		}
		t, _ = element(t, "")
		title := g.of[t].title
		return fmt.Sprintf("[fields](#%s)", anchor(title))
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return "whole number"
	}
}

// kebab converts the name of a source kind to that of its example's file.
func kebab(name string) string {
	var text strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			text.WriteByte('-')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}

// anchor returns the anchor of a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' {
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// code formats titles that are paths as code.
func code(title, prefix string) string {
	if prefix == "" {
		return title
	}
	return "`" + title + "`"
}

var (
	plain   = regexp.MustCompile(`"([A-Za-z0-9_./-]*[A-Za-z_/%][A-Za-z0-9_./-]*)"`)
	minutes = regexp.MustCompile(`\b((?:\d+h)?\d+m)0s\b`)
	hours   = regexp.MustCompile(`\b(\d+h)0m\b`)
	spaces  = strings.NewReplacer(":", ": ", ",", ", ")
)

// shown formats a default the way a policy would.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Map && v.IsNil() || v.Kind() == reflect.Slice && v.IsNil() {
		return "none"
	}
	if fields(v.Type()) {
		return ""
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return "none"
	}
	text := string(raw)
	if v.Kind() != reflect.String {
		text = spaces.Replace(text)
	}
	text = plain.ReplaceAllStringFunc(text, func(quoted string) string {
		if bare := strings.Trim(quoted, `"`); bare != "true" && bare != "false" && bare != "null" {
			return bare
		}
		return quoted
	})
	text = hours.ReplaceAllString(minutes.ReplaceAllString(text, "$1"), "$1")
	return "`" + text + "`"
}
