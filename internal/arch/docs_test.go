package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	comments = regexp.MustCompile(`(?s)<!--.*?-->`)
	// fences and spans match code in Markdown: commands, output and names.
	fences = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$")
	spans  = regexp.MustCompile("`[^`\n]*`")
	// testNames are names of tests in a document, testDeclarations those in a source file.
	testNames        = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]+)`")
	testDeclarations = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z][A-Za-z0-9]+)\(`)
)

// page is a document: its links, the anchors that links can point to, and the tests
// that it names.
type page struct {
	links   []string
	anchors map[string]bool
	tests   []string
}

// pageOf parses a document.
func pageOf(text string) page {
	p := page{anchors: map[string]bool{}}
	for _, name := range testNames.FindAllStringSubmatch(text, -1) {
		p.tests = append(p.tests, name[1])
	}
	text = comments.ReplaceAllString(fences.ReplaceAllString(text, ""), "")
	for _, link := range links.FindAllStringSubmatch(spans.ReplaceAllString(text, ""), -1) {
		p.links = append(p.links, link[1])
	}
	for _, heading := range headings.FindAllStringSubmatch(text, -1) {
		anchor := anchorOf(heading[1])
		for n := 1; p.anchors[anchor]; n++ { // a heading that occurs twice
			anchor = fmt.Sprintf("%s-%d", anchorOf(heading[1]), n)
		}
		p.anchors[anchor] = true
	}
	return p
}

// anchorOf returns the anchor of a heading as GitHub generates it: letters,
// digits, '-' and '_' stay, spaces become '-'.
func anchorOf(heading string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(linkText.ReplaceAllString(heading, "$1")) {
		switch {
		case r == ' ':
			out.WriteByte('-')
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			out.WriteRune(r)
		}
	}
	return out.String()
}

// pages returns README.md, the other documents next to it and all of docs, by
// their paths.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all := map[string]page{}
	read := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(name)] = pageOf(string(text))
	}
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range top {
		read(file)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(file) == ".md" {
			read(file)
		}
		return err
	})
	if err != nil || len(all) < 30 {
		t.Fatalf("%d pages were read; %v", len(all), err)
	}
	return all
}

// brokenLinks returns the broken links of pages. A link leads to a page, with
// an anchor or without, or to another file of the project.
func brokenLinks(all map[string]page, exists func(name string) bool) (broken []string) {
	for name, p := range all {
		for _, link := range p.links {
			file, anchor, hasAnchor := strings.Cut(link, "#")
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			to, isPage := all[target]
			switch {
			case !isPage && !exists(target):
				broken = append(broken, fmt.Sprintf("%s: %s is not there", name, link))
			case isPage && hasAnchor && !to.anchors[anchor]:
				broken = append(broken, fmt.Sprintf("%s: %s: %s has no heading for #%s", name, link, target, anchor))
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// Every link within the documents leads somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	all, n := pages(t), 0
	for _, p := range all {
		n += len(p.links)
	}
	if n < 200 {
		t.Fatalf("%d links were found", n)
	}
	for _, problem := range brokenLinks(all, func(name string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}) {
		t.Error(problem)
	}
}

// Links that lead nowhere are found.
func TestBrokenLinksAreFound(t *testing.T) {
	cases := map[string]struct {
		pages map[string]string
		want  []string
	}{
		"all is well": {
			pages: map[string]string{
				"README.md":     "# Here\n[a](docs/a.md#the-first-of-2) [b](docs/sub/b.md) [c](#here) [code](main.go) [web](https://example.org/x)",
				"docs/a.md":     "# A\n## The first, of `2`\n```\n[no link](nowhere.md)\n```\n`[nor](this.md)`",
				"docs/sub/b.md": "# B\n[a](../a.md)\n# B\n[this](#b-1)",
				"docs/c.md":     "# [C](a.md)_d\n[here](#c_d)",
			},
		},
		"a page that moved": {
			pages: map[string]string{"README.md": "# R\n[a](docs/a.md)", "docs/README.md": "# Docs\n[a](a.md)"},
			want:  []string{"README.md: docs/a.md is not there", "docs/README.md: a.md is not there"},
		},
		"an anchor of another page": {
			pages: map[string]string{"docs/README.md": "# Docs\n[a](a.md#b)", "docs/a.md": "# A\n```\n# B\n```"},
			want:  []string{"docs/README.md: a.md#b: docs/a.md has no heading for #b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := map[string]page{}
			for file, text := range tc.pages {
				all[file] = pageOf(text)
			}
			got := brokenLinks(all, func(name string) bool { return name == "main.go" })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Every test that a document names exists. Documents name tests as proof of
// what they promise.
func TestTestsNamedInDocumentsExist(t *testing.T) {
	exist, named := map[string]bool{}, 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		for _, declared := range testDeclarations.FindAllSubmatch(source, -1) {
			exist[string(declared[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range pages(t) {
		for _, test := range p.tests {
			named++
			if !exist[test] {
				t.Errorf("%s names the test %s, which does not exist", name, test)
			}
		}
	}
	if named < 100 {
		t.Errorf("documents name %d tests", named)
	}
}
