package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// comments holds the comments of types and, as "Type.Field", of their fields, one line each.
type comments map[string]string

// readComments reads the comments of all types of the package in a folder.
func readComments(dir string) (comments, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("listing sources: %w", err)
	}
	c := comments{}
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
				c.addType(one, types.Doc)
			}
		}
	}
	return nil
}

func (c comments) addType(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	if spec.Doc != nil {
		doc = spec.Doc
	}
	c[spec.Name.Name] = oneLine(doc)
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			c[spec.Name.Name+"."+name.Name] = oneLine(field.Doc)
		}
	}
}

func oneLine(doc *ast.CommentGroup) string {
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// of returns the comment stored under a key, with the Go name that it begins with replaced by the one policies use.
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

// escape keeps the signs of a comment from being read as markup.
func escape(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`).Replace(text)
}
