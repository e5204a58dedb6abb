package reasons

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// Every reason has its name as its value, and a distinct sentence.
func TestEveryReasonHasASentence(t *testing.T) {
	said, n := map[string]string{}, 0
	for name, value := range declared(t) {
		n++
		if name != value {
			t.Errorf("the constant %s has the value %q", name, value)
		}
		sentence := sentences[Reason(value)]
		if sentence == "" || said[sentence] != "" {
			t.Errorf("%s is described as %q, like %q", value, sentence, said[sentence])
		}
		said[sentence] = value
	}
	if n != len(sentences) || n < 50 {
		t.Errorf("%d reasons are declared, %d described", n, len(sentences))
	}
}

// declared returns the package's constants as its source declares them.
func declared(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, name := range spec.Names {
				literal, ok := spec.Values[i].(*ast.BasicLit)
				if !ok {
					continue // a table
				}
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[name.Name] = value
			}
		}
		return true
	})
	return all
}
