package testkit

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// DecisionsFile returns the path of a file in test/decisions, which holds recorded
// decisions and their inputs.
func DecisionsFile(t testing.TB, name string) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(folder, "test", "decisions")
		if _, err := os.Stat(path); err == nil {
			return filepath.Join(path, name)
		}
		above := filepath.Dir(folder)
		if above == folder {
			t.Fatal("there is no folder test/decisions above the test")
		}
		folder = above
	}
}

// Decisions compares lines of decisions with those recorded under a name, or records them
// if update is set. It shows only the first difference, because later ones follow from
// it.
func Decisions(t *testing.T, update bool, name, got string) {
	t.Helper()
	path := DecisionsFile(t, name+".txt")
	if update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	const context = 10
	want, made := strings.Split(string(recorded), "\n"), strings.Split(got, "\n")
	for i := range max(len(want), len(made)) {
		if i < len(want) && i < len(made) && want[i] == made[i] {
			continue
		}
		part := func(lines []string) []string { return lines[min(i, len(lines)):min(i+context, len(lines))] }
		t.Fatalf("%s differs from line %d on (-want +got):\n%s", path, i+1, cmp.Diff(part(want), part(made)))
	}
}

// Facts renders a JSON document with one line per value: its path, after a
// prefix, and the value. Fractions keep ten digits, because processors that
// multiply and add in one instruction round the last digits differently.
func Facts(t testing.TB, prefix string, document []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	var text strings.Builder
	writeFacts(&text, prefix, value)
	return text.String()
}

func writeFacts(text *strings.Builder, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			writeFacts(text, path+" "+key, v[key])
		}
	case []any:
		for i, element := range v {
			writeFacts(text, fmt.Sprintf("%s[%d]", path, i), element)
		}
	case float64:
		fmt.Fprintf(text, "%s: %s\n", path, strconv.FormatFloat(v, 'g', 10, 64))
	default:
		fmt.Fprintf(text, "%s: %v\n", path, v)
	}
}
