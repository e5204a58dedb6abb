package reasons

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/reasons.md")

// group is a group of reasons and the heading that describes them.
type group struct {
	about string
	names []string
}

// groups returns the reasons as their source groups them.
func groups(t *testing.T) (all []group) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		constants, ok := decl.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		g := group{about: strings.Join(strings.Fields(constants.Doc.Text()), " ")}
		for _, spec := range constants.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				g.names = append(g.names, name.Name)
			}
		}
		all = append(all, g)
	}
	return all
}

// reference returns the sections of docs/reasons.md.
func reference(t *testing.T) string {
	t.Helper()
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`)
	var text strings.Builder
	for _, g := range groups(t) {
		heading := strings.TrimSuffix(g.about, ".")
		if len(g.names) == 1 { // the comment describes the constant
			heading = strings.Replace(heading, g.names[0]+" is why", "Why", 1)
		}
		if !strings.HasPrefix(heading, "Why ") {
			t.Errorf("reasons %q are about %q", g.names, g.about)
		}
		fmt.Fprintf(&text, "## %s\n\n| reason | in metrics | because |\n|---|---|---|\n", heading)
		for _, name := range g.names {
			fmt.Fprintf(&text, "| `%s` | `%s` | %s |\n", name, Reason(name).Label(), cell.Replace(Reason(name).Sentence()))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// docs/reasons.md lists every reason once, with its sentence.
func TestReasonsReference(t *testing.T) {
	const begin, end = "-update -->\n\n", "<!-- end -->"
	path := filepath.Join("..", "docs", "reasons.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for its tables", path)
	}
	want := reference(t)
	for _, r := range All() {
		if n := strings.Count(want, "| `"+string(r)+"` |"); n != 1 {
			t.Errorf("%s is listed %d times", r, n)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, which `make update-docs` writes (-want +got):\n%s", path, diff)
	}
}
