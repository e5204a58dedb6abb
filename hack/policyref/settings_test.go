package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// settings returns the fields of the LoadPolicy by their paths. It leaves out retired ones,
// sections, optional sections such as scoring.measured, and the fields of elements of lists and
// maps.
func settings(t *testing.T) map[string]entry {
	t.Helper()
	c, err := readComments(folders(filepath.Join(root, "policy"))...)
	if err != nil {
		t.Fatal(err)
	}
	w, err := walk(c)
	if err != nil {
		t.Fatal(err)
	}
	all, optional := map[string]entry{}, map[string]bool{}
	for i, s := range w.sections {
		if s.retired || optional[s.prefix] || strings.ContainsAny(s.prefix, "[<") || i > 0 && s.prefix == "" {
			continue
		}
		for _, e := range s.entries {
			switch {
			case e.of.Kind() == reflect.Pointer:
				optional[s.prefix+e.name+"."] = true
			case e.retired == "" && !fields(e.of):
				all[s.prefix+e.name] = e
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("the LoadPolicy has %d settings: they were not found", len(all))
	}
	return all
}

// policy.yaml contains every setting, for those who edit it.
func TestShippedPolicyStatesEverySetting(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := policy.ReadParts("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var stated any
	for _, part := range parts {
		if part.Object["kind"] == policy.LoadPolicyKind {
			stated = part.Object
		}
	}
	for path := range settings(t) {
		at, found := stated, false
		for name := range strings.SplitSeq(path, ".") {
			section, _ := at.(map[string]any)
			at, found = section[name]
		}
		if !found {
			t.Errorf("%s is not in policy.yaml: add it with its default and a comment", path)
		}
	}
}

// Every number and duration has bounds, none of them below zero.
func TestEverySettingHasBounds(t *testing.T) {
	below := map[reflect.Type]string{reflect.TypeFor[metav1.Duration](): "-1s", reflect.TypeFor[intstr.IntOrString](): "-1"}
	checked := 0
	for path, e := range settings(t) {
		value := below[e.of]
		if e.value.CanInt() || e.value.CanFloat() {
			value = "-1"
		}
		if value == "" {
			continue
		}
		checked++
		names := strings.Split(path, ".")
		text := "apiVersion: " + policy.GroupVersion + "\nkind: " + policy.LoadPolicyKind + "\n" +
			strings.Join(names, ": {") + ": " + value + strings.Repeat("}", len(names)-1) + "\n"
		if _, err := policy.Load("policy.yaml", []byte(text), kinds.All); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %s is accepted (%v); check its bounds in policy/validation*.go", path, value, err)
		}
	}
	if checked < 10 {
		t.Errorf("%d settings were checked", checked)
	}
}
