package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the module's folder, relative to this package.
const root = "../.."

// pkg is one package of the module, without its tests.
type pkg struct {
	room    string // folder within the module, with slashes
	fset    *token.FileSet
	files   []*ast.File
	imports map[string]token.Position // by import path, one place that imports it
}

func (p *pkg) position(n ast.Node) token.Position { return p.fset.Position(n.Pos()) }

// packages parses the packages of this module and of the simulator's, ordered by folder. It ignores
// folders that the go command ignores and other modules.
func packages(t *testing.T) []*pkg {
	t.Helper()
	var found []*pkg
	err := filepath.WalkDir(root, func(folder string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if folder != root && ignored(folder) {
			return filepath.SkipDir
		}
		p, err := parseFolder(folder)
		if err == nil && len(p.files) > 0 {
			found = append(found, p)
		}
		return err
	})
	if err != nil {
		t.Fatalf("reading the module: %v", err)
	}
	if len(found) == 0 {
		t.Fatal("the module has no packages: looking in the wrong place?")
	}
	return found
}

func ignored(folder string) bool {
	name := filepath.Base(folder)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains([]string{"testdata", "vendor", "bin"}, name) {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil && folder != filepath.Join(root, simulator)
}

func parseFolder(folder string) (*pkg, error) {
	room, err := filepath.Rel(root, folder)
	if err != nil {
		return nil, err
	}
	p := &pkg{room: filepath.ToSlash(room), fset: token.NewFileSet(), imports: map[string]token.Position{}}
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
		for _, spec := range file.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			p.imports[importPath] = p.position(spec)
		}
	}
	return p, nil
}

// importName returns the name under which a file imports a package, or "" if it does not import it.
func importName(file *ast.File, importPath string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != strconv.Quote(importPath) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return importPath[strings.LastIndex(importPath, "/")+1:]
	}
	return ""
}
