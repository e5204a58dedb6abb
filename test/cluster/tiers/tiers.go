// Package tiers finds the end-to-end cases: which tier runs each, and which run
// on each release of Kubernetes. Command e2e runs them. A case is a test
// function in a package that starts clusters. Directives in its doc comment say
// what is special about it:
//
//	//e2e:tier all      runs with make test-all only
//	//e2e:tier measure  measures, asserts nothing, and is run by hand
//	//e2e:alone         runs with nothing beside it
package tiers

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Tier determines when a case runs.
type Tier string

// The tiers. All includes Test. Measure is for cases that assert nothing.
const (
	Test    Tier = "test"
	All     Tier = "all"
	Measure Tier = "measure"
)

// includes reports whether running a tier runs the cases of another.
func (t Tier) includes(other Tier) bool { return t == other || t == All && other == Test }

// Case is a test function.
type Case struct {
	Tier Tier
	// Package is the folder of its package within this module.
	Package string
	Name    string
	// Alone is true if concurrent cases would distort its measurements.
	Alone bool
}

// Run returns the pattern for -test.run.
func (c Case) Run() string { return "^" + c.Name + "$" }

// Of returns the cases that a tier runs.
func (t Tier) Of(cases []Case) []Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !t.includes(c.Tier) })
}

// others holds the packages outside e2e whose tests start clusters.
var others = []string{"cmd/demo", "cmd/throughput", "rig"}

// Cases finds the cases in a module, sorted by package and name. module is the module's
// folder.
func Cases(module string) (all []Case, err error) {
	err = filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(module, filepath.Dir(path))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if folder != "e2e" && !strings.HasPrefix(folder, "e2e/") && !slices.Contains(others, folder) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found, err := casesOf(folder, file)
		all = append(all, found...)
		return err
	})
	slices.SortFunc(all, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
	})
	return all, err
}

// casesOf returns the cases declared in a file of a package.
func casesOf(folder string, file *ast.File) (found []Case, err error) {
	for _, declared := range file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || function.Recv != nil || !strings.HasPrefix(function.Name.Name, "Test") || function.Name.Name == "TestMain" {
			continue
		}
		c := Case{Tier: Test, Package: folder, Name: function.Name.Name}
		if err := c.apply(function.Doc); err != nil {
			return nil, fmt.Errorf("%s %s: %w", c.Package, c.Name, err)
		}
		found = append(found, c)
	}
	return found, nil
}

// apply applies the directives in a doc comment.
func (c *Case) apply(doc *ast.CommentGroup) error {
	if doc == nil {
		return nil
	}
	for _, comment := range doc.List {
		directive, ok := strings.CutPrefix(comment.Text, "//e2e:")
		tier, isTier := strings.CutPrefix(directive, "tier ")
		switch {
		case !ok:
		case isTier && slices.Contains([]Tier{Test, All, Measure}, Tier(tier)):
			c.Tier = Tier(tier)
		case directive == "alone":
			c.Alone = true
		default:
			return fmt.Errorf("unknown directive %q (allowed: tier test, tier all, tier measure, alone)", comment.Text)
		}
	}
	return nil
}
