package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// comments maps "package.Type" and "package.Type.Field" to the comments of types and
// fields, each in one line.
type comments map[string]string

// typeKey returns the key of a type's comment.
func typeKey(t reflect.Type) string {
	if t == sourceType {
		t = reflect.TypeFor[policy.Source]()
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

// readComments reads the comments of all types in the packages in the folders.
func readComments(dirs ...string) (comments, error) {
	c := comments{}
	for _, kind := range kinds.All {
		name := kind.Describe().Name
		c["policy.Source."+name] = name + " configures a source of this type; it is not allowed for other types."
	}
	names := kinds.All.Names()
	last := len(names) - 1
	c["policy.Source.Type"] = fmt.Sprintf("Type is the kind of source: %s or %s. Required.", strings.Join(names[:last], ", "), names[last])
	err := eachFile(dirs, func(file *ast.File) {
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
	})
	return c, err
}

// readValues reads the constants of string types, by "package.Type", in all packages in
// the folders.
func readValues(dirs ...string) (map[string][]string, error) {
	values := map[string][]string{}
	err := eachFile(dirs, func(file *ast.File) {
		for _, decl := range file.Decls {
			constants, ok := decl.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				one, ok := spec.(*ast.ValueSpec)
				if !ok || len(one.Values) != 1 {
					continue
				}
				of, named := one.Type.(*ast.Ident)
				literal, ok := one.Values[0].(*ast.BasicLit)
				if named && ok && literal.Kind == token.STRING {
					key := file.Name.Name + "." + of.Name
					values[key] = append(values[key], strings.Trim(literal.Value, `"`))
				}
			}
		}
	})
	return values, err
}

// eachFile parses the sources in the folders, except tests.
func eachFile(dirs []string, visit func(*ast.File)) error {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return fmt.Errorf("listing sources: %w", err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				return fmt.Errorf("reading %q: %w", name, err)
			}
			visit(file)
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

// missing returns the error for a type or field without a comment.
func missing(key string) error { return fmt.Errorf("%s has no comment", key) }

// startsWord reports whether text continues after a name.
func startsWord(text string) bool { return text != "" && strings.ContainsAny(text[:1], " :,") }

// markdown formats a comment as Markdown. The comment may begin with a name.
func markdown(text, name string) string {
	if rest, ok := strings.CutPrefix(text, name); ok && startsWord(rest) {
		return "`" + name + "`" + escape(rest)
	}
	return escape(text)
}

// escape escapes Markdown in a comment.
func escape(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`).Replace(text)
}
