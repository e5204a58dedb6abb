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
	// fences and spans are code in Markdown: commands, output and names.
	fences = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$")
	spans  = regexp.MustCompile("`[^`\n]*`")
	// consoles show what was typed and what came out.
	consoles = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
)

// page is a document: where its links lead and what they may lead to, and what
// it shows of a terminal.
type page struct {
	links   []string
	anchors map[string]bool
	typed   []string
}

// pageOf reads the links and the anchors of a document.
func pageOf(text string) page {
	p := page{anchors: map[string]bool{}}
	for _, block := range consoles.FindAllStringSubmatch(text, -1) {
		p.typed = append(p.typed, block[1])
	}
	text = comments.ReplaceAllString(fences.ReplaceAllString(text, ""), "")
	for _, link := range links.FindAllStringSubmatch(spans.ReplaceAllString(text, ""), -1) {
		p.links = append(p.links, link[1])
	}
	for _, heading := range headings.FindAllStringSubmatch(text, -1) {
		anchor := anchorOf(heading[1])
		for n := 1; p.anchors[anchor]; n++ { // a heading that is there twice
			anchor = fmt.Sprintf("%s-%d", anchorOf(heading[1]), n)
		}
		p.anchors[anchor] = true
	}
	return p
}

// anchorOf returns the anchor of a heading as GitHub makes it: letters, digits,
// '-' and '_' stay, spaces become '-'.
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

// pages returns README.md, its neighbours and all of docs, by their paths.
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

// brokenLinks returns what is wrong with the links of pages. A link leads to a
// page, with an anchor or without, or to another file of the project.
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

// indexProblems returns which pages of docs docs/README.md does not list exactly
// once.
func indexProblems(all map[string]page) (problems []string) {
	const index = "docs/README.md"
	for name := range all {
		if !within(name, "docs") || name == index {
			continue
		}
		listed := 0
		for _, link := range all[index].links {
			if path.Join(path.Dir(index), link) == name {
				listed++
			}
		}
		if listed != 1 {
			problems = append(problems, fmt.Sprintf("%s lists %s %d times", index, name, listed))
		}
	}
	slices.Sort(problems)
	return problems
}

// docs/README.md lists every page of docs once.
func TestIndexOfDocs(t *testing.T) {
	for _, problem := range indexProblems(pages(t)) {
		t.Error(problem)
	}
}

// Links and indexes that are wrong are found.
func TestPagesThatAreWrong(t *testing.T) {
	cases := map[string]struct {
		pages map[string]string
		want  []string
	}{
		"all is well": {
			pages: map[string]string{
				"README.md":      "# Here\n[a](docs/a.md#the-first-of-2) [b](docs/sub/b.md) [c](#here) [code](main.go) [web](https://example.org/x)",
				"docs/README.md": "# Docs\n[a](a.md), [b](sub/b.md), [c](c.md)",
				"docs/a.md":      "# A\n## The first, of `2`\n```\n[no link](nowhere.md)\n```\n`[nor](this.md)`",
				"docs/sub/b.md":  "# B\n[a](../a.md)\n# B\n[this](#b-1)",
				"docs/c.md":      "# [C](a.md)_d\n[here](#c_d)",
			},
		},
		"a page that is listed by another page only": {
			pages: map[string]string{
				"docs/README.md": "# Docs\n[a](a.md)",
				"docs/a.md":      "# A\n[b](sub/b.md)",
				"docs/sub/b.md":  "# B",
			},
			want: []string{"docs/README.md lists docs/sub/b.md 0 times"},
		},
		"a page that moved": {
			pages: map[string]string{"README.md": "# R\n[a](docs/a.md)", "docs/README.md": "# Docs\n[a](a.md)"},
			want:  []string{"README.md: docs/a.md is not there", "docs/README.md: a.md is not there"},
		},
		"an anchor of another page": {
			pages: map[string]string{"docs/README.md": "# Docs\n[a](a.md#b)", "docs/a.md": "# A\n```\n# B\n```"},
			want:  []string{"docs/README.md: a.md#b: docs/a.md has no heading for #b", "docs/README.md lists docs/a.md 0 times"},
		},
		"a page that is listed twice": {
			pages: map[string]string{"docs/README.md": "# Docs\n[a](a.md) [a](a.md)", "docs/a.md": "# A"},
			want:  []string{"docs/README.md lists docs/a.md 2 times"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := map[string]page{}
			for file, text := range tc.pages {
				all[file] = pageOf(text)
			}
			got := append(brokenLinks(all, func(name string) bool { return name == "main.go" }), indexProblems(all)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// What documents show of a terminal was typed on a real cluster: it is in the
// transcript, in whole lines; "..." leaves some out.
func TestOutputsInDocumentsAreFromTheTranscript(t *testing.T) {
	all, shown := pages(t), 0
	transcript := "\n" + strings.Join(all["docs/transcript.md"].typed, "\n")
	for name, p := range all {
		if name == "docs/transcript.md" {
			continue
		}
		for _, block := range p.typed {
			shown++
			for part := range strings.SplitSeq(block, "...\n") {
				if !strings.Contains(transcript, "\n"+part) {
					t.Errorf("%s shows what the transcript does not:\n%s", name, part)
				}
			}
		}
	}
	if shown < 3 {
		t.Errorf("documents show %d outputs", shown)
	}
}
