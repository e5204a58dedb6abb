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
	{name: "today's form", better: "current format, legacy format", pattern: regexp.MustCompile(`(?i)\b(earlier|older) forms?\b|\btoday's\b`)},
	{name: "planned landing", better: "planned destination", pattern: regexp.MustCompile(`(?i)\bplanned landings?\b`)},
	{name: "96.5 %", better: "96.5%", pattern: regexp.MustCompile(`([0-9]|%[0-9.]*[a-z]) %(%|[ ,;:)|]|\.(\s|$)|$)|^ %$`)},
	{name: "1024 Mi", better: "1Gi, as kubectl writes it", pattern: regexp.MustCompile(`([0-9]|%[0-9.]*[a-z]) (Ki|Mi|Gi)\b`)},
	{name: "per pod and day", better: "per pod per day", pattern: regexp.MustCompile(`(?i)\bper [a-z]+ and (day|hour|minute)\b`)},
	{name: "percent points", better: "percentage points", pattern: regexp.MustCompile(`(?i)\bpercent points?\b`)},
	{name: "nothing to say", better: "no findings", pattern: regexp.MustCompile(`(?i)\bnothing to (say|tell)\b`)},
	{name: "in place of", better: "instead of", pattern: regexp.MustCompile(`(?i)\bin place of the (policy|address|ledger)`)},
}

// stumbles are texts that the first users stumbled over, each with what it
// became and with what of it is not to come back.
var stumbles = []struct{ was, is, pattern string }{
	{"Evens out the real usage of nodes, by eviction and by scheduling", "Balances Kubernetes nodes by real usage", `\bevens out the\b`},
	{"and say how to fix what is wrong", "and suggest fixes", `\bsay how to\b`},
	{"Show what would be moved, where to and why", "Show which pods would move, where and why", `\bmoved, where to\b`},
	{"Say why a node is hot or not", "Explain why a node is or isn't hot", `\bsay why a\b`},
	{"Check policies, and say in words what they do", "Validate policy files, and describe what they do", `\bsays? in words\b`},
	{"Bring a file of an earlier system into", "Convert legacy policies and manifests to", `\bbrings? a file\b`},
	{"Write what nodes, pods and usage of a cluster do into a file", "Record node, pod and usage activity", `\bof a cluster do\b`},
	{"Keep annotations up to date, or take them off; never evict", "Publish usage annotations, or remove them (never evicts)", `\bor take them off\b`},
	{"Decide and tell, but evict nothing", "Plan and log evictions without performing them", `\band tell\b`},
	{"Take warnings for errors", "Treat warnings as errors", `\btakes? \w+ for errors?\b`},
	{"Seed of everything that goes by chance", "Random seed", `\bgoe?s? by chance\b`},
	{"5m, or what goes into it without a rest", "must divide 5m evenly", `\bwithout a rest\b`},
	{"Secret by which --hash-names hides", "Secret key for --hash-names", `\bsecret by which\b`},
	{"How often a day each owner is deployed anew", "Average number of rollouts per workload per day", `\bdeployed anew\b`},
	{"the default holds where neither is given", "The default is used if --prom is the only other input", `\bdefault holds\b`},
	{"0 takes one reading, too short for a state", "0 prints one reading", `\btoo short for a state\b`},
	{"Command whose process is checked", "Component to check for", `\bwhose process is\b`},
	{"to ask whether kube-scheduler asks it", "used to verify that kube-scheduler is calling it", `\bto ask whether\b`},
	{"Address on which kube-scheduler asks", "Address to serve extender requests on", `\b(address|URL|file) (on|by|at) which\b`},
	{"File with kube configuration", "Path to the kubeconfig file", `\bwith kube configuration\b`},
	{"Policy file to play as a variant of its own", "Policy file to add as a variant", `\bas a variant of\b`},
	{"the node would stay above its evict line without every pod that can be moved", "moving every movable pod would not bring the node below", `\bwithout every pod\b`},
	{"What was checked is what admin may do, which is no ServiceAccount: it may be allowed less", "Checked the permissions of user admin", `\bbe allowed less\b`},
	{"until it has run that long they say less than their name", "it covers less than 15m until then", `\bsays? less than (its|their) names?\b`},
	{"whether kube-scheduler asks it is known to the extender alone", "pass --extender-url to verify", `\bknown to the extender alone\b`},
	{"All 12 ready nodes have a sample", "Usage reported for all 12 ready nodes", `\bnodes have a sample\b`},
	{"fresh and sane usage", "fresh, plausible usage", `\bsane\b`},
	{"Forbidden: unknown field; allowed here: deviation", "unknown field, did you mean reject? (allowed: reject)", `\ballowed here\b`},
	{"because no source knows the past", "because no configured source has history", `\bknows? the past\b`},
	{"keeps pods off nodes, while others will do", "rejects nodes, as long as other nodes qualify", `\bothers will do\b`},
	{"prometheus, reaching back 105 s", "105s of history", `\breaching back\b`},
	{"may be predicted at most", "limit after placement", `\bpredicted at most$`},
	{"at least two steps are wanted, unless each is played", "two 5m steps are needed", `\bare wanted\b`},
	{"the compressed file ends too early", "the file is truncated", `\bfile ends too early\b`},
	{"evenkeel is best here", "Best: evenkeel.", `\bis best here\b`},
	{"a node's CPU or memory is wanted above the hot line", "CPU or memory demand is above the hot line", `\bis wanted above\b`},
	{"the less of that, the better", "less is better", `\bthe less of\b`},
	{"Share of CPU demand that fell into restarts", "CPU demand lost to restarts", `\bfell into\b`},
	{"annotations tell nothing of pods", "Annotations carry no per-pod usage", `\btells? nothing\b`},
	{"is off, as it always was", "stay disabled, as before", `\bas it always was\b`},
	{"the flag --kubeconfig counts no more", "kube-scheduler ignores --kubeconfig", `\bcounts? no more\b`},
	{"timezone: is found out from the stamps", "timezone: detected from the timestamps", `\bis found out from\b`},
	{"Node node-01 is hot by real usage", "Evicted from hot node node-01", `\bhot by real usage\b`},
	{"0 while the policy cannot be gone by and the one before stays at work", "if 0, the previous policy is still in effect", `\bstays? at work\b`},
	{"When the policy was last read and right", "Unix time of the last successful policy load", `\bread and right\b`},
	{"Moves judged some time after, by question and answer", "Completed moves by criterion and result", `\bby question and answer\b`},
	{"success, or why there was none", "Eviction attempts by result", `\bwhy there was none\b`},
	{"and know that landings are then kube-scheduler's", "kube-scheduler alone decides where replacements go", `\blandings are then\b`},
	{"a wrong one changes nothing", "an invalid one is ignored", `\ba wrong one changes\b`},
	{"follows one decision through the rooms", "walks through one decision, package by package", `\bthrough the rooms\b`},
	{"What is not understood completely is refused", "Unknown fields and invalid values are rejected", `\bunderstood completely\b`},
	{"Laid over defaults one by one are only: the levels", "Only these are merged with their defaults", `\blaid over defaults\b`},
	{"unless all that are named relieve none", "unless every listed metric has relieves: none", `\brelieves? none\b`},
	{"for as long as something comes of the lists", "while responses arrive", `\b(some|no)thing (comes|came) of\b`},
	{"checks whoever calls", "checks the caller's permissions", `\bwhoever calls\b`},
	{"as everywhere", "see Global flags", `\bas everywhere\b`},
	{"No move of the ledger is taken up and nothing is booked", "Moves in the ledger are ignored and nothing is reserved", `\bis taken up and\b`},
	{"What it does not suit", "When not to use it", `\bwhat it does not suit\b`},
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
	all, kept := slices.Concat(written, printed), slices.Clone(phrases)
	for _, s := range stumbles {
		kept = append(kept, phrase{s.was, s.is, regexp.MustCompile("(?i)" + s.pattern)})
	}
	for _, p := range kept {
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
	for _, s := range stumbles {
		if pattern := regexp.MustCompile("(?i)" + s.pattern); !pattern.MatchString(s.was) || pattern.MatchString(s.is) {
			t.Errorf("%s: finds %q: %v; finds %q: %v", pattern, s.was, pattern.MatchString(s.was), s.is, pattern.MatchString(s.is))
		}
	}
	if diff := cmp.Diff(len(cases), len(named)); diff != "" {
		t.Errorf("cases and phrases (-cases +phrases):\n%s", diff)
	}
}
