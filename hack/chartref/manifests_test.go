package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// object is one object of a manifest.
type object map[string]any

func (o object) kind() string { return fmt.Sprint(o["kind"]) }

func (o object) name() string { return fmt.Sprint(o.at("metadata", "name")) }

// at returns the field at a path; nil if there is none.
func (o object) at(path ...string) any {
	var here any = map[string]any(o)
	for _, key := range path {
		of, _ := here.(map[string]any)
		here = of[key]
	}
	return here
}

// into decodes the object into a type.
func into[T any](t *testing.T, o object) T {
	t.Helper()
	var made T
	text, err := json.Marshal(o)
	if err == nil {
		err = yaml.Unmarshal(text, &made)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", o.kind(), o.name(), err)
	}
	return made
}

// readObjects reads the objects of a file.
func readObjects(t *testing.T, path string) (all []object) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		var one object
		if err := yaml.Unmarshal([]byte(document), &one); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

// rendered returns the objects of the chart, rendered with a file of values in ci, without hooks.
func rendered(t *testing.T, values string) []object {
	t.Helper()
	return slices.DeleteFunc(readObjects(t, chart(root, "testdata", values+".yaml")), func(o object) bool {
		annotations, _ := o.at("metadata", "annotations").(map[string]any)
		return annotations["helm.sh/hook"] != nil
	})
}

// kustomization has the fields that deploy uses.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Resources  []string `json:"resources"`
	Components []string `json:"components"`
	NameSuffix string   `json:"nameSuffix"`
	Patches    []struct {
		Target struct{ Kind, Name string } `json:"target"`
		Patch  string                      `json:"patch"`
		Path   string                      `json:"path"`
	} `json:"patches"`
}

// built returns the objects of paths below deploy, which are files or folders with a kustomization.
// It implements the part of kustomize that they need.
func built(t *testing.T, paths ...string) (all []object) {
	t.Helper()
	for _, path := range paths {
		all = build(t, filepath.Join(root, "deploy", filepath.FromSlash(path)), all)
	}
	return all
}

// build adds the objects of a path to the existing ones. If the path is a component, it also
// changes the existing ones.
func build(t *testing.T, path string, there []object) []object {
	t.Helper()
	if filepath.Ext(path) == ".yaml" {
		return append(there, readObjects(t, path)...)
	}
	text, err := os.ReadFile(filepath.Join(path, "kustomization.yaml"))
	var k kustomization
	if err == nil {
		// Otherwise, an unknown field could change objects unnoticed.
		err = yaml.UnmarshalStrict(text, &k)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	before := len(there)
	for _, one := range slices.Concat(k.Resources, k.Components) {
		there = build(t, filepath.Join(path, one), there)
	}
	for _, one := range k.Patches {
		if one.Path != "" {
			there = merged(t, there, readObjects(t, filepath.Join(path, one.Path)))
			continue
		}
		there = patched(t, there, one.Target.Kind, one.Target.Name, one.Patch)
	}
	if k.NameSuffix != "" {
		for _, one := range there[before:] {
			rename(one, k.NameSuffix)
		}
	}
	return there
}

// rename appends a suffix to the name of a fence or of its binding.
func rename(o object, suffix string) {
	if metadata, ok := o["metadata"].(map[string]any); ok {
		metadata["name"] = o.name() + suffix
	}
	if spec, ok := o["spec"].(map[string]any); ok && spec["policyName"] != nil {
		spec["policyName"] = fmt.Sprint(spec["policyName"]) + suffix
	}
}

// merged replaces the data of ConfigMaps by that of others with the same names. Nothing else is
// patched by a file.
func merged(t *testing.T, all, patches []object) []object {
	t.Helper()
	for _, patch := range patches {
		i := slices.IndexFunc(all, func(o object) bool { return o.kind() == patch.kind() && o.name() == patch.name() })
		if i < 0 || patch.kind() != "ConfigMap" {
			t.Fatalf("%s %s: a patch that has no ConfigMap", patch.kind(), patch.name())
		}
		all[i] = patch
	}
	return all
}

// patched applies a patch to its target objects.
func patched(t *testing.T, all []object, kind, name, patch string) []object {
	t.Helper()
	wanted := regexp.MustCompile("^(?:" + name + ")$")
	isFor := func(o object) bool { return o.kind() == kind && wanted.MatchString(o.name()) }
	if strings.HasPrefix(patch, "$patch: delete") {
		return slices.DeleteFunc(all, isFor)
	}
	encoded, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range all {
		if !isFor(one) {
			continue
		}
		text, err := json.Marshal(one)
		if err == nil {
			text, err = decoded.Apply(text)
		}
		var after object
		if err == nil {
			err = json.Unmarshal(text, &after)
		}
		if err != nil {
			t.Fatalf("patching %s %s: %v", kind, one.name(), err)
		}
		all[i] = after
	}
	return all
}
