package announce

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/evictor"
)

// docs/metrics.md lists every reason of an Event.
func TestEventsAreInTheDocs(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{evictor.EventReason}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, constant := range regexp.MustCompile(`(?m)^\t[a-z][A-Za-z]+ += "([A-Z][A-Za-z]+)"$`).FindAllSubmatch(source, -1) {
			all = append(all, string(constant[1]))
		}
	}
	if len(all) < 11 {
		t.Errorf("only these reasons were found: %q", all)
	}
	for _, reason := range all {
		if !strings.Contains(string(docs), "`"+reason+"`") {
			t.Errorf("docs/metrics.md has no Event %s", reason)
		}
	}
}
