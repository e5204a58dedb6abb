package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// comments holds the comments of types, as "package.Type", and of their fields,
// as "package.Type.Field", one line each.
type comments map[string]string

// typeKey is the key of a type's comment.
func typeKey(t reflect.Type) string {
	if t == sourceType {
		t = reflect.TypeFor[policy.Source]()
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

// readComments reads the comments of all types of the packages in the folders.
func readComments(dirs ...string) (comments, error) {
	c := comments{}
	for _, kind := range kinds.All {
		name := kind.Describe().Name
		c["policy.Source."+name] = name + " is how the source of this type is read; allowed with no other."
	}
	names := kinds.All.Names()
	last := len(names) - 1
	c["policy.Source.Type"] = fmt.Sprintf("Type is the kind of source: %s or %s. Required.", strings.Join(names[:last], ", "), names[last])
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("listing sources: %w", err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading sources: %w", err)
			}
			if err := c.add(file, source); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func (c comments) add(name string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parsing %q: %w", name, err)
	}
	for _, decl := range file.Decls {
		types, ok := decl.(*ast.GenDecl)
		if !ok || types.Tok != token.TYPE {
			continue
		}
		for _, spec := range types.Specs {
			if one, ok := spec.(*ast.TypeSpec); ok {
				c.addType(file.Name.Name, one, types.Doc)
			}
		}
	}
	return nil
}

func (c comments) addType(in string, spec *ast.TypeSpec, doc *ast.CommentGroup) {
	if spec.Doc != nil {
		doc = spec.Doc
	}
	key := in + "." + spec.Name.Name
	c[key] = oneLine(doc)
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			if key := key + "." + name.Name; c[key] == "" {
				c[key] = oneLine(field.Doc)
			}
		}
	}
}

func oneLine(doc *ast.CommentGroup) string {
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// of returns the comment stored under a key. It replaces the Go name at the
// start with the name in policies.
func (c comments) of(key, goName, name string) (string, error) {
	text := c[key]
	if text == "" {
		return "", fmt.Errorf("%s has no comment", key)
	}
	if rest, ok := strings.CutPrefix(text, goName); ok && rest != "" && strings.ContainsAny(rest[:1], " :,") {
		return "`" + name + "`" + escape(rest), nil
	}
	return escape(text), nil
}

// escape escapes markup in a comment.
func escape(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`).Replace(text)
}
