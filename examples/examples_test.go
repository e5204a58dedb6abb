// Package examples_test verifies the policies of this folder: each passes lint,
// is checked against the schema by editors, and is shown in the documentation.
package examples_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/commands"
	"github.com/evenkeel/evenkeel/policy"
)

// formats are those that the program reads.
var formats = commands.Formats{Converters: []policy.Converter{compat.Convert}, ConvertFile: compat.ConvertFile}

var update = flag.Bool("update", false, "convert the examples of migration again")

// schemaLine has editors check a policy against the schema.
const schemaLine = "# yaml-language-server: $schema=../docs/policy.schema.json\n"

// documentation returns README.md and the documents.
func documentation(t *testing.T) string {
	t.Helper()
	files := append(list(t, filepath.Join("..", "docs", "*.md")), filepath.Join("..", "README.md"))
	var text strings.Builder
	for _, file := range files {
		text.Write(read(t, file))
	}
	return text.String()
}

func list(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("listing %s: %d files, %v", pattern, len(files), err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// lint returns what `evenkeel lint` prints.
func lint(file string, strict bool) (string, error) {
	var out bytes.Buffer
	err := commands.Lint(commands.LintOptions{Files: []string{file}, Format: "text", Strict: strict, Formats: formats}, nil, &out, time.Now())
	return out.String(), err
}

// Each example passes lint without a warning, names the schema, and is shown in
// the documentation.
func TestExamples(t *testing.T) {
	docs := documentation(t)
	if _, err := os.Stat(filepath.Join("..", "docs", "policy.schema.json")); err != nil {
		t.Errorf("the schema that the examples name: %v", err)
	}
	for _, file := range list(t, "*.yaml") {
		t.Run(file, func(t *testing.T) {
			if says, err := lint(file, true); err != nil {
				t.Errorf("%v\n%s", err, says)
			}
			if text := string(read(t, file)); !strings.HasPrefix(text, schemaLine+"# ") {
				t.Errorf("it does not begin with %q and what it is for:\n%s", schemaLine, text)
			}
			if !strings.Contains(docs, "examples/"+file) {
				t.Errorf("no document shows examples/%s", file)
			}
		})
	}
}

// The first policy of a new user is a dozen lines at most, and evicts.
func TestTheMinimalExample(t *testing.T) {
	settings := 0
	for line := range strings.Lines(string(read(t, "minimal.yaml"))) {
		if !strings.HasPrefix(line, "#") {
			settings++
		}
	}
	if settings > 12 {
		t.Errorf("%d lines besides comments, at most 12", settings)
	}
	says, err := lint("minimal.yaml", true)
	if err != nil || !strings.Contains(says, "Evicts from nodes whose cpu is above 70") {
		t.Errorf("%v\n%s", err, says)
	}
}

// Each example of migration is a file of an earlier system, with what
// `evenkeel convert` makes of it beside it.
func TestMigrationExamples(t *testing.T) {
	systems := []string{"crane-scheduler", "descheduler", "dynamic-scheduler", "kube-scheduler-extender", "mem-real-usage", "openshift"}
	var found []string
	docs := documentation(t)
	for _, before := range list(t, filepath.Join("migration", "*.before.yaml")) {
		name := strings.TrimSuffix(filepath.Base(before), ".before.yaml")
		found = append(found, name)
		t.Run(name, func(t *testing.T) {
			after := filepath.Join("migration", name+".after.yaml")
			var out bytes.Buffer
			if err := commands.Convert(commands.ConvertOptions{Files: []string{before}, To: commands.Standard, Formats: formats}, nil, &out, io.Discard); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(after, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, after)), out.String()); diff != "" {
				t.Errorf("converted (-%s +now):\n%s", after, diff)
			}
			for _, file := range []string{before, after} {
				if says, err := lint(file, false); err != nil {
					t.Errorf("%v\n%s", err, says)
				}
			}
			if !strings.Contains(docs, "examples/migration/"+name+".before.yaml") || !strings.Contains(docs, "examples/migration/"+name+".after.yaml") {
				t.Errorf("no document shows the files of %s", name)
			}
		})
	}
	slices.Sort(found)
	if diff := cmp.Diff(systems, found); diff != "" {
		t.Errorf("systems (-want +got):\n%s", diff)
	}
}

// policyIn is YAML that a document shows.
var policyIn = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// Each policy that a how-to page shows passes lint without a warning.
func TestPoliciesOfHowToPages(t *testing.T) {
	shown := 0
	for _, page := range list(t, filepath.Join("..", "docs", "how-to", "*.md")) {
		for i, found := range policyIn.FindAllSubmatch(read(t, page), -1) {
			if !bytes.Contains(found[1], []byte("kind: LoadPolicy\n")) && !bytes.Contains(found[1], []byte("kind: DeschedulerPolicy\n")) {
				continue
			}
			shown++
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, found[1], 0o600); err != nil {
				t.Fatal(err)
			}
			if says, err := lint(file, true); err != nil {
				t.Errorf("%s, example %d: %v\n%s", page, i+1, err, says)
			}
		}
	}
	if shown < 4 {
		t.Errorf("%d policies were found", shown)
	}
}
