package arch

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// phrase is wording that a native speaker stumbles over, and what to write.
type phrase struct {
	name, better string
	pattern      *regexp.Regexp
}

var phrases = []phrase{
	{name: "tell of", better: "report, list, show", pattern: regexp.MustCompile(`(?i)\b(tells?|told) of\b`)},
	{name: "gone by", better: "applied, in effect", pattern: regexp.MustCompile(`(?i)\bgone by\b`)},
	{name: "mend", better: "fix", pattern: regexp.MustCompile(`(?i)\bmend(s|ed|ing)?\b`)},
	{
		name: "what it comes to", better: "results, outcome, cost",
		pattern: regexp.MustCompile(`(?i)\bwhat ([a-z]+ ){1,4}comes? to\b|\b(it|would) comes? to\b`),
	},
	{name: "stands in", better: "is in", pattern: regexp.MustCompile(`(?i)\bstands? in (the|its|an?|docs|\[?docs/\S+|policy\S+)`)},
	{name: "of those that", better: "two sentences", pattern: regexp.MustCompile(`(?i)\bof those that\b`)},
	{name: "where ..., else", better: "two sentences", pattern: regexp.MustCompile(`(?i)\bwhere [^.;:|]*, else\b`)},
	{name: "today's form", better: "current format, legacy format", pattern: regexp.MustCompile(`(?i)\b(today's|earlier|older) forms?\b`)},
	{name: "planned landing", better: "planned destination", pattern: regexp.MustCompile(`(?i)\bplanned landings?\b`)},
	{name: "96.5 %", better: "96.5%", pattern: regexp.MustCompile(`([0-9]|%[0-9.]*[a-z]) %(%|[ ,;:)|]|\.(\s|$)|$)|^ %$`)},
	{name: "1024 Mi", better: "1Gi, as kubectl writes it", pattern: regexp.MustCompile(`([0-9]|%[0-9.]*[a-z]) (Ki|Mi|Gi)\b`)},
	{name: "per pod and day", better: "per pod per day", pattern: regexp.MustCompile(`(?i)\bper pod and day\b`)},
	{name: "percent points", better: "percentage points", pattern: regexp.MustCompile(`(?i)\bpercent points?\b`)},
	{name: "nothing to say", better: "no findings", pattern: regexp.MustCompile(`(?i)\bnothing to (say|tell)\b`)},
	{name: "in place of", better: "instead of", pattern: regexp.MustCompile(`(?i)\bin place of the (policy|address|ledger)`)},
}

// said is a text that a user sees.
type said struct{ where, text string }

// fences and spans are code in Markdown: commands, output and names.
var (
	fences = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$")
	spans  = regexp.MustCompile("`[^`\n]*`")
)

// documents returns what is written: the documents line by line, without code,
// and the comments of policies.
func documents(t *testing.T) (all []said) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && path != root && ignored(path) {
				return filepath.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		policies := name == "policy.yaml" || within(name, "examples") && strings.HasSuffix(name, ".yaml")
		if !strings.HasSuffix(name, ".md") && !policies {
			return nil
		}
		text, err := os.ReadFile(path)
		// Code leaves its line breaks behind, so that lines keep their numbers.
		plain := fences.ReplaceAllStringFunc(string(text), func(code string) string { return strings.Repeat("\n", strings.Count(code, "\n")) })
		for i, line := range strings.Split(spans.ReplaceAllString(plain, "CODE"), "\n") {
			all = append(all, said{name + ":" + strconv.Itoa(i+1), line})
		}
		return err
	})
	if err != nil {
		t.Fatalf("reading documents: %v", err)
	}
	return all
}

// spoken returns what the product can print: every text in its code that has
// more than one word, concatenations in one.
func spoken(t *testing.T) (all []said) {
	t.Helper()
	for _, pkg := range packages(t) {
		if within(pkg.room, "hack", "test", "internal/testkit", "internal/arch") {
			continue
		}
		for _, file := range pkg.files {
			ast.Inspect(file, func(node ast.Node) bool {
				if text, ok := literal(node); ok {
					if strings.Contains(text, " ") {
						all = append(all, said{pkg.position(node).String(), text})
					}
					return false
				}
				return true
			})
		}
	}
	return all
}

// literal returns the text of a string literal or of several that are added.
func literal(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, n.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := literal(n.X)
		right, also := literal(n.Y)
		return left + right, ok && also && n.Op == token.ADD
	}
	return "", false
}

// Help, output, Events, metrics and documents are plain English.
func TestPlainEnglish(t *testing.T) {
	written, printed := documents(t), spoken(t)
	if len(written) < 1000 || len(printed) < 1000 {
		t.Fatalf("%d lines of documents and %d texts: they were not read", len(written), len(printed))
	}
	all := slices.Concat(written, printed)
	for _, p := range phrases {
		var places []string
		for _, s := range all {
			if p.pattern.MatchString(s.text) {
				places = append(places, s.where+": "+strings.TrimSpace(s.text))
			}
		}
		if len(places) > 0 {
			t.Errorf("%q is written %d times; better: %s\n%s", p.name, len(places), p.better, strings.Join(places, "\n"))
		}
	}
}

// Each pattern finds its habit, and not what is written instead.
func TestPhrases(t *testing.T) {
	cases := map[string]struct{ bad, good string }{
		"tell of":          {"it told of no node", "it told nobody"},
		"gone by":          {"the policy is gone by", "the policy is in effect"},
		"mend":             {"how to mend it", "a recommendation, as amended"},
		"what it comes to": {"compare what policies come to", "replicas come to lie together"},
		"stands in":        {"its name stands in the manifests", "a pod that stands in for another"},
		"of those that":    {"the best of those that are", "of those, that one"},
		"where ..., else":  {"the pod's, where it has one, else the node's", "else the node's"},
		"today's form":     {"brings it into today's form", "an earlier system"},
		"planned landing":  {"Planned landing: node n1", "it landed as planned"},
		"96.5 %":           {"is at %.1f %% of it", "is at 96.5% of it, %s%%; 10 %d %.1f"},
		"1024 Mi":          {"uses 1024 Mi", "uses 1Gi"},
		"per pod and day":  {"0.1 evictions per pod and day", "0.1 evictions per pod per day"},
		"percent points":   {"5 percent points", "5 percentage points"},
		"nothing to say":   {"nothing to say", "nothing to run"},
		"in place of":      {"in place of the policy's address", "in place of an evicted one"},
	}
	var named []string
	for _, p := range phrases {
		named = append(named, p.name)
		tc, known := cases[p.name]
		if !known || !p.pattern.MatchString(tc.bad) || p.pattern.MatchString(tc.good) {
			t.Errorf("%q: finds %q: %v; finds %q: %v", p.name, tc.bad, p.pattern.MatchString(tc.bad), tc.good, p.pattern.MatchString(tc.good))
		}
	}
	if diff := cmp.Diff(len(cases), len(named)); diff != "" {
		t.Errorf("cases and phrases (-cases +phrases):\n%s", diff)
	}
}
