package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestReferenceIsUpToDate(t *testing.T) {
	want, err := reference(filepath.Join(root, "policy"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(target(root))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/policy.md is not what `go run ./hack/policyref` writes (-want +got):\n%s", diff)
	}
}

func TestReferenceNeedsEveryComment(t *testing.T) {
	cases := map[string]string{
		"a field":                       "policy.Usage.Timeout",
		"a field of an embedded struct": "policy.Levels.Evict",
		"a type":                        "source.TLS",
	}
	for name, without := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := readComments(folders(filepath.Join(root, "policy"))...)
			if err != nil {
				t.Fatal(err)
			}
			if c[without] == "" {
				t.Fatalf("%s has no comment to remove", without)
			}
			c[without] = ""
			_, err = pageOf(c, filepath.Join(root, "policy"))
			if err == nil || !strings.Contains(err.Error(), without+" has no comment") {
				t.Errorf("error %v, want one that names %s", err, without)
			}
		})
	}
}

// The reference contains every example.
func TestReferenceHasEveryExample(t *testing.T) {
	page, err := reference(filepath.Join(root, "policy"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "policy", "testdata", "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("listing examples: %d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, body, found := bytes.Cut(data, []byte("apiVersion:"))
		if !found || !bytes.Contains(page, body) {
			t.Errorf("%s is not in the reference", file)
		}
	}
}

// A retired setting is in the schema, for editors, but not in the reference.
func TestRetiredSettingsAreOnlyInTheSchema(t *testing.T) {
	page, err := reference(filepath.Join(root, "policy"))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"| `interval` |", "| `fullPercent` |"} {
		if bytes.Contains(page, []byte(gone)) {
			t.Errorf("the reference still has %s", gone)
		}
	}
	made := string(madeSchema(t))
	if !strings.Contains(made, `"description": "interval is no longer documented and will be removed in two versions: `) || strings.Count(made, `"deprecated": true`) < 2 {
		t.Error("the schema does not mark the interval of evictions as deprecated")
	}
	if found := mistakes(t, []byte(made), header+"eviction: {interval: 1s}\nhot: {risingMemory: {fullPercent: 90}}\n"); found != "" {
		t.Errorf("the schema does not accept retired settings: %s", found)
	}
}

func TestReferenceReportsAMissingFolder(t *testing.T) {
	if _, err := reference(t.TempDir()); err == nil {
		t.Error("no error for a folder without sources")
	}
	if _, err := pageOf(comments{}, t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one about examples that do not exist", err)
	}
}

// No page refers users to a retired setting.
func TestNoPageNamesARetiredSetting(t *testing.T) {
	c, err := readComments(folders(filepath.Join(root, "policy"))...)
	if err != nil {
		t.Fatal(err)
	}
	w, err := walk(c)
	if err != nil {
		t.Fatal(err)
	}
	var retired []string
	for _, s := range w.sections {
		for _, e := range s.entries {
			if s.retired || e.retired != "" {
				retired = append(retired, strings.ReplaceAll(s.prefix+e.name, "[]", ""))
			}
		}
	}
	if len(retired) == 0 {
		t.Fatal("nothing is retired")
	}
	pages := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/how-to/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(more) == 0 {
			t.Fatalf("listing %s: %d files, %v", pattern, len(more), err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range retired {
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(text) {
				t.Errorf("%s names %s", page, name)
			}
		}
	}
}

// A default that is text is shown as it is written. Other defaults are shown with spaces, as in a
// policy.
func TestDefaultsAreShown(t *testing.T) {
	for want, value := range map[string]any{
		"`\"a(b.*, 1)\"`":  "a(b.*, 1)",
		"`[a, b]`":         []string{"a", "b"},
		"`{a: 1}`":         map[string]int{"a": 1},
		"`\"http://a:1\"`": "http://a:1",
	} {
		if got := shown(reflect.ValueOf(value)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
