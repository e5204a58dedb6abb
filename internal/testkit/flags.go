package testkit

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagsPage compares a part of docs/flags.md, or writes it if update is set. The part
// begins after a comment that ends with the arguments of the go command that generates
// it.
func FlagsPage(t *testing.T, update bool, page, writer, want string) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := writer+" -update -->\n\n", "<!-- end -->"
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for what %s writes", page, writer)
	}
	if update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, which `make update-docs` writes (-want +got):\n%s", page, diff)
	}
}

// FlagsOf returns the section of docs/flags.md about a command.
func FlagsOf(c *cobra.Command) string {
	return fmt.Sprintf("## evenkeel %s\n\n%s.\n\n```text\n%s\n```\n\n%s\n", c.Name(), inCell.Replace(c.Short), c.UseLine(), FlagTable(c.NonInheritedFlags()))
}

// inCell escapes a text so that it is not interpreted as part of a table or as markup.
var inCell = strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "\n", " ")

// FlagTable returns a table of the flags in a set, sorted by name.
func FlagTable(flags *pflag.FlagSet) string {
	var text strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.Deprecated != "" {
			usage += " Deprecated: " + f.Deprecated
		}
		fallback := ""
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			fallback = "`" + inCell.Replace(f.DefValue) + "`"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", inCell.Replace(name), fallback, inCell.Replace(strings.Join(strings.Fields(usage), " ")))
	})
	if text.Len() == 0 {
		return "It has no flags of its own.\n"
	}
	return "| flag | default | |\n|---|---|---|\n" + text.String()
}
