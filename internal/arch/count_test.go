package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// lines returns how many lines the files of a package have, and how many of
// them are code: neither blank nor all comment.
func (p *pkg) lines(t *testing.T) (code, all int) {
	t.Helper()
	for _, file := range p.files {
		source, err := os.ReadFile(p.position(file).Filename)
		if err != nil {
			t.Fatal(err)
		}
		code += codeLines(source)
		all += strings.Count(string(source), "\n")
	}
	return code, all
}

// codeLines counts the lines that hold a token. A line within a text of several
// lines counts unless it is blank.
func codeLines(source []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	counted := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(counted)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		counted[first] = true
		for i, line := range strings.Split(literal, "\n") {
			if strings.TrimSpace(line) != "" {
				counted[first+i] = true
			}
		}
	}
}

func TestCodeLinesLeavesOutBlanksAndComments(t *testing.T) {
	cases := map[string]struct {
		source string
		want   int
	}{
		"nothing":                   {"", 0},
		"a comment at the end":      {"package p // what for\n", 1},
		"comments and blanks":       {"// What for.\n\n/* a\nb */\npackage p\n\n", 1},
		"a text of several lines":   {"package p\nconst c = `a\n\nb\n`\n", 4},
		"several statements a line": {"package p\nfunc f() { f(); f() }\n", 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := codeLines([]byte(tc.source)); got != tc.want {
				t.Errorf("%d lines, want %d", got, tc.want)
			}
		})
	}
}

// named returns the types that a package declares, in order of their names.
func (c *checked) named() []*types.Named {
	var found []*types.Named
	for _, name := range c.types.Scope().Names() {
		object, ok := c.types.Scope().Lookup(name).(*types.TypeName)
		if !ok || object.IsAlias() {
			continue
		}
		if named, ok := object.Type().(*types.Named); ok {
			found = append(found, named)
		}
	}
	return found
}

// methods counts the methods that are declared on a type; what it embeds brings
// its own.
func methods(named *types.Named) int {
	if contract, ok := named.Underlying().(*types.Interface); ok {
		return contract.NumExplicitMethods()
	}
	return named.NumMethods()
}

// funcFields returns the fields of structs that hold functions, alone, in lists
// or in maps, in order of their places. Clocks are left out.
func (c *checked) funcFields() []*types.Var {
	var found []*types.Var
	for _, object := range c.info.Defs {
		field, ok := object.(*types.Var)
		if ok && field.IsField() && !field.Embedded() && holdsFunc(field.Type()) {
			found = append(found, field)
		}
	}
	slices.SortFunc(found, func(a, b *types.Var) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return found
}

func holdsFunc(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return holdsFunc(u.Elem())
	case *types.Array:
		return holdsFunc(u.Elem())
	case *types.Map:
		return holdsFunc(u.Elem())
	case *types.Signature:
		return !isClock(u)
	}
	return false
}

// isClock reports whether a function does nothing but tell the time.
func isClock(f *types.Signature) bool {
	return f.Params().Len() == 0 && f.Results().Len() == 1 && f.Results().At(0).Type().String() == "time.Time"
}

func TestFuncFieldsLeavesOutClocks(t *testing.T) {
	const source = `package p
import "time"
type handler func()
type t struct {
	now      func() time.Time
	a, b     func() error
	handlers map[string][]handler
	nested   struct{ c func(time.Time) }
	contract interface{ d() }
}
func f(g func()) { _ = struct{ e func() }{g} }
`
	got := []string{}
	for _, field := range checkText(t, source).funcFields() {
		got = append(got, field.Name())
	}
	if diff := gocmp.Diff([]string{"a", "b", "handlers", "c", "e"}, got); diff != "" {
		t.Errorf("func fields (-want +got):\n%s", diff)
	}
}

func TestSoleImplementationsFindsPairs(t *testing.T) {
	const source = `package p
type one interface{ a() }
type many interface{ b() }
type wide interface{ a(); c() }
type t struct{}
func (*t) a() {}
func (t) b() {}
func (t) c() {}
type u func()
func (u) b() {}
`
	if diff := gocmp.Diff([]string{"p.one by p.t"}, soleImplementations([]*checked{checkText(t, source)})); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

// checkText type-checks a package of one file.
func checkText(t *testing.T, source string) *checked {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pkg{room: "p", fset: fset, files: []*ast.File{file}}
	done, err := checkFiles(p, p.files, importer.Default())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// soleImplementations returns the interfaces with one method that one type of
// the product has, each with that type. A function type that adapts counts as
// one.
func soleImplementations(all []*checked) []string {
	var found []string
	for _, c := range all {
		for _, contract := range c.named() {
			underlying, ok := contract.Underlying().(*types.Interface)
			if !ok || underlying.NumMethods() != 1 || contract.TypeParams().Len() > 0 {
				continue
			}
			if by := implementations(all, underlying); len(by) == 1 {
				found = append(found, fmt.Sprintf("%s by %s", short(contract), short(by[0])))
			}
		}
	}
	return found
}

func implementations(all []*checked, contract *types.Interface) []*types.Named {
	var by []*types.Named
	for _, c := range all {
		for _, named := range c.named() {
			if !types.IsInterface(named) && named.TypeParams().Len() == 0 && types.Implements(types.NewPointer(named), contract) {
				by = append(by, named)
			}
		}
	}
	return by
}

// short returns a type as it is written within the module.
func short(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return strings.TrimPrefix(p.Path(), module+"/") })
}
