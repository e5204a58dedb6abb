// Package documents finds the commands that the documents show, so that tests can check
// each of them: command lines in fenced and indented blocks, and commands named in
// running text. It runs none of them.
package documents

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Line is a command line that a document shows.
type Line struct {
	// File is the path of the document relative to the root of the checkout. Number is the
	// line number in it.
	File   string
	Number int
	// Text is the command line to type, on one line and without a comment.
	Text string
	// Mention is true for a command named in running text, which need not be complete.
	Mention bool
	// Pipelines run one after the other.
	Pipelines []Pipeline
}

// Where returns the file and the line, in the format of compilers.
func (l *Line) Where() string { return fmt.Sprintf("%s:%d", l.File, l.Number) }

// Commands returns the commands of all pipelines.
func (l *Line) Commands() (all []Command) {
	for _, p := range l.Pipelines {
		all = append(all, p.Commands...)
	}
	return all
}

// Pipeline is one command, or several, each reading the output of the previous
// one.
type Pipeline struct {
	Text     string
	Commands []Command
}

// Read returns the command lines in all documents of a checkout: Markdown files in its
// root, in docs and in charts, and comments in policies and manifests.
func Read(root string) ([]Line, error) {
	files, err := Files(root)
	if err != nil {
		return nil, err
	}
	var all []Line
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, fmt.Errorf("reading a document: %w", err)
		}
		text := string(content)
		if strings.HasSuffix(file, ".yaml") {
			text = comments(text)
		}
		lines, err := Parse(file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

// Files lists the documents, relative to the root of a checkout and sorted.
func Files(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir() && name != "." && !slices.Contains(folders, strings.SplitN(name, "/", 2)[0]):
			return fs.SkipDir
		case !entry.IsDir() && isDocument(name):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing documents: %w", err)
	}
	slices.Sort(files)
	return files, nil
}

// folders lists the folders with documents, in addition to the root itself.
var folders = []string{"charts", "deploy", "docs", "examples"}

// isDocument reports whether to read a file below the root or in one of the folders.
// Chart templates are not read, because they are not valid YAML.
func isDocument(name string) bool {
	manifest := strings.HasSuffix(name, ".yaml") && !strings.HasPrefix(name, "charts/") && !strings.HasPrefix(name, ".")
	return manifest || strings.HasSuffix(name, ".md")
}

// comments reduces YAML to the text of its comments, on their original lines.
func comments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if comment, is := strings.CutPrefix(strings.TrimSpace(line), "#"); is {
			b.WriteString(strings.TrimPrefix(comment, " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
