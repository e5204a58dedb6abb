package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagsPage is the reference of the command line.
var flagsPage = filepath.Join("..", "..", "docs", "flags.md")

// inCell keeps a text from being read as part of a table or as markup.
var inCell = strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "\n", " ")

// flagTable returns the flags of a set as a table, by their names.
func flagTable(flags *pflag.FlagSet) string {
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

// commandsAndFlags returns the sections of docs/flags.md: one for each command,
// and the flags that all of them have.
func commandsAndFlags(root *cobra.Command) string {
	var text strings.Builder
	for _, c := range root.Commands() {
		fmt.Fprintf(&text, "## evenkeel %s\n\n%s.\n\n```text\n%s\n```\n\n%s\n", c.Name(), inCell.Replace(c.Short), c.UseLine(), flagTable(c.NonInheritedFlags()))
	}
	fmt.Fprintf(&text, "## Flags that all commands have\n\n`evenkeel options` lists them. The help of a command leaves them out.\n\n%s\n", flagTable(root.PersistentFlags()))
	return text.String()
}

// docs/flags.md lists every command with its flags, their defaults and help.
func TestFlagsReference(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	const begin, end = "-update -->\n\n", "<!-- end -->"
	content, err := os.ReadFile(flagsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the commands", flagsPage)
	}
	root := newRoot()
	want := commandsAndFlags(root)
	if n := strings.Count(want, "\n## evenkeel "); n+1 != len(root.Commands()) || n < 10 {
		t.Errorf("%d sections for %d commands", n+1, len(root.Commands()))
	}
	if *update {
		if err := os.WriteFile(flagsPage, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, which `make update-docs` writes (-want +got):\n%s", flagsPage, diff)
	}
}

// A flag is listed by both of its names, with its default unless that is
// nothing; what would end a cell of the table does not.
func TestFlagTable(t *testing.T) {
	cases := map[string]struct {
		add  func(*pflag.FlagSet)
		want string
	}{
		"a name, a short one and a default": {
			func(f *pflag.FlagSet) { f.StringP("output", "o", "table", "Format: table|json.") },
			"| `-o, --output string` | `table` | Format: table\\|json. |",
		},
		"a switch that is off": {func(f *pflag.FlagSet) { f.Bool("force", false, "Overwrite.") }, "| `--force` |  | Overwrite. |"},
		"a switch that is on":  {func(f *pflag.FlagSet) { f.Bool("elect", true, "Elect.") }, "| `--elect` | `true` | Elect. |"},
		"a value with a name":  {func(f *pflag.FlagSet) { f.String("out", "", "Write to `FILE`.") }, "| `--out FILE` |  | Write to FILE. |"},
		"several lines":        {func(f *pflag.FlagSet) { f.Int("n", 0, "One\n  <two>.") }, "| `--n int` | `0` | One &lt;two&gt;. |"},
		"a deprecated one": {func(f *pflag.FlagSet) {
			f.String("old", "", "Old.")
			_ = f.MarkDeprecated("old", "use --new")
		}, "| `--old string` |  | Old. Deprecated: use --new |"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			tc.add(flags)
			if diff := cmp.Diff("| flag | default | |\n|---|---|---|\n"+tc.want+"\n", flagTable(flags)); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}
