package doctor_test

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/commands"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/nodemetrics"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// These are the documents to which fixes belong.
const (
	loadHead      = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"
	profilesHead  = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
	schedulerHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
)

// fields lists the first lines of fixes that users paste, each with the lines that surround it in
// its document.
var fields = map[string]struct {
	around string
	indent string
}{
	"usage": {loadHead, ""}, "nodesync": {loadHead, ""}, "eviction": {loadHead, ""},
	"profiles":   {profilesHead, ""},
	"extenders":  {schedulerHead, ""},
	"apiVersion": {"", ""},
	"filterVerb": ofExtender, "prioritizeVerb": ofExtender, "nodeCacheCapable": ofExtender, "ignorable": ofExtender, "httpTimeout": ofExtender,
	"weight": ofExtender, "tlsConfig": ofExtender, "urlPrefix": ofExtender,
	"plugins": ofProfile, "pluginConfig": ofProfile,
}

var (
	ofExtender = struct{ around, indent string }{schedulerHead + "extenders:\n  - managedResources: []\n", "    "}
	ofProfile  = struct{ around, indent string }{schedulerHead + "profiles:\n  - schedulerName: default-scheduler\n", "    "}
)

var firstLine = regexp.MustCompile("^([A-Za-z]+):( |$)")

// pasted returns the parts of a fix that users paste: each starts with a line with a field and
// continues as long as lines are indented. It returns RBAC rules separately.
func pasted(fix string) (documents, rules []string) {
	lines := strings.Split(fix, "\n")
	for i := 0; i < len(lines); i++ {
		name := firstLine.FindStringSubmatch(lines[i])
		isRule := strings.HasPrefix(lines[i], "- apiGroups:")
		if name != nil {
			if _, known := fields[name[1]]; !known {
				continue
			}
		} else if !isRule {
			continue
		}
		end := i + 1
		for end < len(lines) && (strings.HasPrefix(lines[end], "  ") || strings.HasPrefix(lines[end], "kind: ")) {
			end++
		}
		text := strings.Join(lines[i:end], "\n") + "\n"
		if isRule {
			rules = append(rules, text)
		} else {
			of := fields[name[1]]
			documents = append(documents, of.around+of.indent+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+of.indent)+"\n")
		}
		i = end - 1
	}
	return documents, rules
}

// lintFixes lints every fix that doctor prints.
func lintFixes(t *testing.T, p *doctor.Installation) {
	t.Helper()
	for _, f := range doctor.Examine(p).Findings {
		documents, rules := pasted(f.Fix)
		for _, document := range documents {
			var out bytes.Buffer
			options := commands.LintOptions{Files: []string{commands.Standard}, Format: "text", Formats: commands.Formats{ConvertFile: compat.ConvertFile}}
			if err := commands.Lint(options, strings.NewReader(document), &out, time.Now()); err != nil {
				t.Errorf("a fix of %q does not pass lint: %v\n%s\n%s", f.Says, err, out.String(), document)
			}
		}
		for _, text := range rules {
			var rules []rbacv1.PolicyRule
			if err := yaml.UnmarshalStrict([]byte(text), &rules); err != nil || len(rules) == 0 {
				t.Errorf("a fix for %q is not a rule: %v\n%s", f.Says, err, text)
			}
		}
	}
}

// Whatever error a source returns, the parts of the fix that users paste pass lint. All other tests
// lint the fixes that they see as well.
func TestFixesOfErrorsPassLint(t *testing.T) {
	texts := []string{
		"unknown authority", "certificate is valid for", "certificate has expired", "certificate required", "server gave http response to https",
		"malformed http response", "answer is too large", "no such host", "connection refused", "i/o timeout", "401", "403", "404",
		"is this the prometheus api", "redirection", "context deadline exceeded", "reading secret", "no such file", " 500", "cut off", "requesting a token of serviceaccount", "?",
	}
	linted := 0
	for _, kind := range []string{prometheus.Name, kubelet.Name, nodemetrics.Name, metricsserver.Name} {
		for _, text := range texts {
			w := newFixture(t, kind) // the fixture lints the fixes
			w.sources[0].err = errors.New(text)
			documents, _ := pasted(fixesOf(w.ask().installation, doctor.CheckSources))
			linted += len(documents)
		}
	}
	if linted < len(texts) {
		t.Errorf("only %d fixes were linted", linted)
	}
}

func TestPastedFindsWhatIsToBePasted(t *testing.T) {
	documents, rules := pasted("Let it be slower, or:\nusage:\n  sources:\n    - type: Kubelet\nUsageStale: see there\nweight: 15\n" +
		"- apiGroups: [x]\n  resources: [y]\n  verbs: [get]\n- apiGroups: [z]\n  verbs: [get]\nTo resume: kubectl delete")
	want := []string{
		loadHead + "usage:\n  sources:\n    - type: Kubelet\n",
		schedulerHead + "extenders:\n  - managedResources: []\n    weight: 15\n",
	}
	if diff := cmp.Diff(want, documents); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if !slices.Equal(rules, []string{"- apiGroups: [x]\n  resources: [y]\n  verbs: [get]\n", "- apiGroups: [z]\n  verbs: [get]\n"}) {
		t.Errorf("rules: %q", rules)
	}
}
