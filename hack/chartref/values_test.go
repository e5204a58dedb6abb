package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A comment results in a description, a constraint and a row of the table.
func TestCommentsBecomeSchemaAndTable(t *testing.T) {
	values, err := readValues(write(t, "values.yaml", `
# What runs.
# @one of: "", serve
mode: serve
deep:
  # How many,
  # or | none.
  # @type: integer, ""
  # @minimum: 1
  count: ""
  # Labels.
  # @items: string
  labels: {a: b}
  # Peers.
  peers: []
`))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := objectOf(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"additionalProperties":false,"properties":{` +
		`"deep":{"additionalProperties":false,"properties":{` +
		`"count":{"anyOf":[{"type":"integer"},{"const":""}],"default":"","description":"How many, or | none.","minimum":1},` +
		`"labels":{"additionalProperties":{"type":"string"},"default":{"a":"b"},"description":"Labels.","type":"object"},` +
		`"peers":{"default":[],"description":"Peers.","items":{"type":"object"},"type":"array"}},"type":"object"},` +
		`"mode":{"default":"serve","description":"What runs.","enum":["","serve"]}},"required":["mode","deep"],"type":"object"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("schema (-want +got)\n%s", diff)
	}
	readme, err := withTable(write(t, "README.md", "# A\n"+tableBegin+"old\n"+tableEnd+"end\n"), values)
	if err != nil {
		t.Fatal(err)
	}
	table := "# A\n" + tableBegin + "\n| value | | default |\n|---|---|---|\n" +
		"| `mode` | What runs. | `\"serve\"` |\n" +
		"| `deep.count` | How many, or \\| none. | `\"\"` |\n" +
		"| `deep.labels` | Labels. | `{\"a\":\"b\"}` |\n" +
		"| `deep.peers` | Peers. | `[]` |\n\n" + tableEnd + "end\n"
	if diff := cmp.Diff(table, string(readme)); diff != "" {
		t.Errorf("table (-want +got)\n%s", diff)
	}
}

// Values that the templates require must not be null, because Helm treats null as absent.
func TestNeededValues(t *testing.T) {
	values, err := readValues(write(t, "values.yaml", `
# A.
text: a
# Nothing by default.
unset: ""
# Class. Empty: none.
class: high
# How many.
count: 2
# None by default.
none: 0
# On.
"on": true
# Off.
"off": false
# Labels.
# @items: string
labels: {a: b}
below:
  # A.
  unset: ""
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range values {
		if values[i].needed() {
			got = append(got, values[i].name())
		}
	}
	if diff := cmp.Diff([]string{"text", "count", "on", "below"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBadValuesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"no comment":            {"a:\n  b: 1\n", "line 2: a.b: it has no comment"},
		"an unknown note":       {"# A.\n# @enum: b\na: b\n", "line 3: a: @enum is not known"},
		"no mapping":            {"- a\n", "a mapping is wanted"},
		"no type":               {"# A.\na: 1.5\n", "a: float64 has no type in a schema"},
		"a minimum of no digit": {"# A.\n# @minimum: one\na: 1\n", "a: @minimum: "},
		"an unknown document":   {"# A.\n# @schema: Policy\na: {}\n", `a: @schema: "Policy" is no document of a policy`},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := readValues(write(t, "values.yaml", tc.text))
			if err == nil {
				_, err = objectOf(values, nil)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A template contains the named objects, in the release's namespace and with the chart's labels.
func TestManifestsBecomeTemplates(t *testing.T) {
	path := write(t, "deploy/a.yaml", `# Why.
apiVersion: v1
kind: Namespace
metadata:
  name: a
  labels:
    b: c
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: a
  namespace: evenkeel
---
kind: Secret
metadata:
  name: left-out
`)
	one := part{file: "a.yaml", blocks: []block{{
		when: "and .Values.a", source: "a.yaml", only: []string{"Namespace/a", "ServiceAccount/a"}, changes: []change{{"b: c", "b: {{ .Values.c }}"}},
	}}}
	got, err := one.text(filepath.Dir(filepath.Dir(path)))
	if err != nil {
		t.Fatal(err)
	}
	want := "{{- /* Made from deploy/a.yaml by `make update-chart`: edit that. */}}\n" + `{{- if and .Values.a }}
---
# Why.
apiVersion: v1
kind: Namespace
metadata:
  name: a
  labels:
    {{- include "evenkeel.labels" . | nindent 4 }}
    b: {{ .Values.c }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: a
  labels:
    {{- include "evenkeel.labels" . | nindent 4 }}
  namespace: {{ .Release.Namespace | quote }}
{{- end }}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestManifestsThatCannotBecomeTemplates(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want string
		block      block
	}{
		"an expression":    {"kind: A # {{ b }}\n", "it has {{", block{}},
		"a missing object": {"kind: A\nmetadata: {name: b}\n", "it has no A/c", block{only: []string{"A/c"}}},
		"a missing text":   {"kind: A\nmetadata: {name: b}\n", `it has no "x" to change`, block{changes: []change{{"x", "y"}}}},
		"no object":        {"a: [\n", "reading an object", block{}},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, "deploy/a.yaml", tc.text)
			tc.block.source = "a.yaml"
			_, err := (&part{file: "a.yaml", blocks: []block{tc.block}}).text(filepath.Dir(filepath.Dir(path)))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
