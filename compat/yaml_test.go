package compat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/policy"
)

func TestNotesAreAtTheirFields(t *testing.T) {
	doc := policy.Conversion{
		Format: "somebody/v1",
		Object: map[string]any{
			"apiVersion": "evenkeel.io/v1alpha1",
			"kind":       "LoadPolicy",
			"lines":      map[string]any{"cpu": map[string]any{"evict": json.Number("70.50"), "low": json.Number("1")}, "disk.busy": map[string]any{"evict": json.Number("3")}},
			"hot":        map[string]any{"windows": []any{"avg_5m", "last"}},
			"list":       []any{map[string]any{"a": "b: c", "name": "on"}},
			"flags":      map[string]any{"yes": true, "empty": map[string]any{}, "none": []any{}, "number": "12"},
		},
	}
	doc.Add("", "about the whole document")
	doc.Add("lines.cpu.evict", "was 0.705")
	doc.Lose("lines[disk.busy].evict", "was better before")
	doc.Add("lines.disk.busy", "a name with a dot")
	doc.Add("hot.windows[1]", "second\nline\u2028third")
	doc.Add("list[0].name", "an item's first field")
	doc.Add("list[0]", "an item")
	doc.Add("list[0].missing.here", "not there")
	doc.Lose("gone.entirely", "not kept")
	const want = `# Converted from somebody/v1 by evenkeel convert.
# about the whole document
# Changed behavior:
# - lines[disk.busy].evict: was better before
# - gone.entirely: not kept
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
lines:
  cpu:
    low: 1
    # was 0.705
    evict: 70.50
  # a name with a dot
  disk.busy:
    # was better before
    evict: 3
hot:
  windows:
    - avg_5m
    # second line third
    - last
flags:
  empty: {}
  none: []
  number: "12"
  "yes": true
list:
  # an item
  # missing.here: not there
  # an item's first field
  - name: "on"
    a: "b: c"
`
	text, err := write(doc)
	if err != nil {
		t.Fatalf("writing: %v", err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// Strings stay strings for every YAML reader, whatever they look like.
func TestStringsStayStrings(t *testing.T) {
	for _, text := range []string{
		"", " ", "~", "null", "Yes", "OFF", "y", "1", "0x1F", "1e3", "1_000", "12:30:45", "2001-01-01", ".nan", "-.inf", "<<", "=", "- a", "a: b",
		"# c", "a #b", "{", "[", "*a", "&a", "!a", "|", ">", "%", "@", "`", "\t", "a\nb", "a\n", "\n", "a\r\nb", "\u2028", "\u0085", "\x00", "\x7f", "é",
		"---", "...", "'", `"`, `\`, strings.Repeat("long ", 100),
	} {
		doc := policy.Conversion{Format: "x", Object: map[string]any{"key": text, "in list": []any{text}}}
		if strings.TrimSpace(text) != "" {
			doc.Object[text] = "as a key"
		}
		if out, err := write(doc); err != nil {
			t.Errorf("%q: %v\n%s", text, err, out)
		}
	}
}
