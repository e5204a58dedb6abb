package arch

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checked is a package of the product with what its identifiers mean.
type checked struct {
	*pkg
	types *types.Package
	info  types.Info
}

// product returns the packages of the product, type-checked: everything of the
// module but its end-to-end tests and its tools.
func product(t *testing.T) []*checked {
	t.Helper()
	all, err := check(slices.DeleteFunc(packages(t), func(p *pkg) bool { return within(p.room, "test", "hack") }))
	if err != nil {
		t.Fatalf("type-checking the product: %v", err)
	}
	return all
}

// checker type-checks packages. It reads those of the module from their
// sources, so that a type is the same wherever it is used, and all others from
// what the compiler has left of them.
type checker struct {
	sources map[string]*pkg // by import path
	done    map[string]*checked
	others  types.Importer
}

func check(sources []*pkg) ([]*checked, error) {
	c := &checker{sources: map[string]*pkg{}, done: map[string]*checked{}}
	var others []string
	for _, p := range sources {
		c.sources[module+"/"+p.room] = p
		for imported := range p.imports {
			if _, ours := roomOf(imported); !ours && imported != "unsafe" && imported != "C" {
				others = append(others, imported)
			}
		}
	}
	exports, err := exportFiles(others)
	if err != nil {
		return nil, err
	}
	c.others = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var all []*checked
	for _, p := range sources {
		if _, err := c.Import(module + "/" + p.room); err != nil {
			return nil, err
		}
		all = append(all, c.done[module+"/"+p.room])
	}
	return all, nil
}

// Import returns a package that another one imports.
func (c *checker) Import(path string) (*types.Package, error) {
	if done, ok := c.done[path]; ok {
		return done.types, nil
	}
	p, ours := c.sources[path]
	if !ours {
		return c.others.Import(path)
	}
	files, err := built(p)
	if err != nil {
		return nil, err
	}
	done, err := checkFiles(p, files, c)
	if err != nil {
		return nil, err
	}
	c.done[path] = done
	return done.types, nil
}

func checkFiles(p *pkg, files []*ast.File, from types.Importer) (*checked, error) {
	done := &checked{pkg: p, info: types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	config := types.Config{Importer: from}
	var err error
	done.types, err = config.Check(module+"/"+p.room, p.fset, files, &done.info)
	return done, err
}

// built returns the files of a package that are built on this machine.
func built(p *pkg) ([]*ast.File, error) {
	var files []*ast.File
	for _, file := range p.files {
		folder, name := filepath.Split(p.position(file).Filename)
		match, err := build.Default.MatchFile(folder, name)
		if err != nil {
			return nil, err
		}
		if match {
			files = append(files, file)
		}
	}
	return files, nil
}

// exportFiles asks the go command for the files in which the compiler describes
// packages, by import path.
func exportFiles(paths []string) (map[string]string, error) {
	slices.Sort(paths)
	args := append([]string{"list", "-export", "-f", "{{.ImportPath}} {{.Export}}"}, slices.Compact(paths)...)
	list := exec.Command("go", args...)
	list.Dir = root
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("running %q: %w", list.Args[:4], err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(output)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return exports, nil
}
