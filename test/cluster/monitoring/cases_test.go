package monitoring

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each shipped alert fires in an end-to-end case that names it.
func TestEachAlertHasACase(t *testing.T) {
	alerts, err := Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fires := map[string]bool{}
	err = filepath.WalkDir(filepath.Join("..", "e2e"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				wanted(call, fires)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		if !fires[alert.Name] {
			t.Errorf("no case under test/cluster/e2e has %s fire", alert.Name)
		}
	}
}

// wanted adds the alerts that must fire according to a call of a Firing method. Alerts that only
// may fire are not in the call's list.
func wanted(call *ast.CallExpr, fires map[string]bool) {
	if method, is := call.Fun.(*ast.SelectorExpr); !is || !strings.HasPrefix(method.Sel.Name, "Firing") {
		return
	}
	for _, argument := range call.Args {
		list, is := argument.(*ast.CompositeLit)
		if !is {
			continue
		}
		for _, element := range list.Elts {
			if literal, is := element.(*ast.BasicLit); is && literal.Kind == token.STRING {
				name, _ := strconv.Unquote(literal.Value)
				fires[name] = true
			}
		}
	}
}
