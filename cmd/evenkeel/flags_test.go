package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite docs/flags.md and the decisions in test/decisions")

// docs/flags.md lists every command with its flags, their defaults and help. The simulator's own
// module writes its part.
func TestFlagsReference(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	var want strings.Builder
	sections, root := 0, newRoot()
	for _, c := range root.Commands() {
		if !c.DisableFlagParsing {
			want.WriteString(testkit.FlagsOf(c))
			sections++
		}
	}
	if sections+2 != len(root.Commands()) || sections < 10 {
		t.Errorf("%d sections for %d commands, of which the simulator has 2", sections, len(root.Commands()))
	}
	fmt.Fprintf(&want, "## Flags that all commands have\n\n`evenkeel options` lists them. The help of a command leaves them out.\n\n%s\n", testkit.FlagTable(root.PersistentFlags()))
	testkit.FlagsPage(t, *update, filepath.Join("..", "..", "docs", "flags.md"), "go test ./cmd/evenkeel -run TestFlagsReference", want.String())
}
