package compat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// bomb returns a few lines of YAML whose aliases expand to a billion strings.
func bomb(head string) string {
	var text strings.Builder
	text.WriteString(head + "a0: &a0 [x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i)
	}
	return text.String()
}

// hostile are mistakes that are possible in any format. %s stands for a valid document of the
// format.
var hostile = map[string]struct {
	make func(valid string) string
	want string // part of the only line
}{
	"empty":            {func(string) string { return "" }, "the file holds no document"},
	"comments only":    {func(string) string { return "# a\n---\n\n" }, "the file holds no document"},
	"over 1 MiB":       {func(valid string) string { return valid + strings.Repeat("# padding\n", 1<<17) }, "at most 1048576 are allowed"},
	"binary":           {func(string) string { return "\x7fELF\x01\x02\xff\xfe" }, "the file is not UTF-8 text"},
	"NUL inside":       {func(valid string) string { return valid + "\x00\n" }, "control characters are not allowed"},
	"a key twice":      {func(valid string) string { return first(valid) + valid }, "already set in map"},
	"tabs":             {func(valid string) string { return valid + "\tx: 1\n" }, "not YAML: "},
	"a text":           {func(string) string { return "just text\n" }, "must be a mapping with apiVersion and kind"},
	"a list":           {func(string) string { return "- kind: DeschedulerPolicy\n" }, "must be a mapping with apiVersion and kind"},
	"neither form":     {func(string) string { return "spec: {predicate: []}\n" }, "a document without apiVersion and kind is not known; expected a DeschedulerPolicy"},
	"an unknown kind":  {func(string) string { return "apiVersion: koordinator.sh/v1\nkind: LoadAware\n" }, `apiVersion "koordinator.sh/v1" with kind "LoadAware" is not known; expected`},
	"a very long kind": {func(string) string { return "apiVersion: x/v1\nkind: " + strings.Repeat("K", 1<<16) + "\n" }, `KKK..." is not known; expected`},
	"a YAML bomb":      {func(valid string) string { return bomb(head(valid)) }, "document contains excessive aliasing"},
	"an endless alias": {func(valid string) string { return head(valid) + "x: &x [*x]\n" }, "anchor 'x' value contains itself"},
	"deep nesting":     {func(valid string) string { return head(valid) + "x: " + strings.Repeat("[", 100_000) + "\n" }, "exceeded max depth"},
	"deep blocks":      {func(valid string) string { return head(valid) + "x:\n" + strings.Repeat("- ", 100_000) + "1\n" }, "exceeded max depth"},
	"a very long version": {func(valid string) string {
		return "apiVersion: descheduler/" + strings.Repeat("v", 1<<16) + "\nkind: DeschedulerPolicy\n"
	}, "vvv ... vvv"},
	"many documents": {func(valid string) string { return valid + strings.Repeat("---\n", 200) }, "at most 100 are allowed"},
	"not a number":   {func(valid string) string { return valid + "x: .nan\n" }, "a number must be finite"},
	"an invalid key": {func(valid string) string { return valid + "? [a]\n: b\n" }, "invalid map key"},
}

// first returns the first line of a text, and head the lines that declare its type.
func first(text string) string { line, _, _ := strings.Cut(text, "\n"); return line + "\n" }

func head(valid string) string {
	lines := strings.SplitAfterN(valid, "\n", 3)
	if strings.HasPrefix(valid, "PromJob") {
		return "Rulename: {}\n"
	}
	return lines[0] + lines[1]
}

// Every mistake leads to one line that names the file. Finding it takes little time and memory.
func TestHostileVersionsOfEachForm(t *testing.T) {
	forms := map[string]string{
		"v1alpha1": v1alpha1, "crane": cranePolicy, "rules": rules, "beta scheduler": schedulerBeta,
		"scheduler policy": "apiVersion: v1\nkind: Policy\nextenders: []\n",
		"LoadPolicy":       "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nlines: {cpu: {evict: 70}}\n",
		"a manifest":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	}
	for form, valid := range forms {
		if _, err := ConvertFile("p.yaml", []byte(valid), kinds.All); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		for name, tc := range hostile {
			t.Run(form+"/"+name, func(t *testing.T) {
				begun := time.Now()
				result, err := ConvertFile("p.yaml", []byte(tc.make(valid)), kinds.All)
				if err == nil {
					t.Fatalf("it was taken:\n%.2000s", result.Text)
				}
				if took := time.Since(begun); took > 20*time.Second {
					t.Errorf("it took %v", took)
				}
				text := err.Error()
				if !policy.IsInvalid(err) || !strings.HasPrefix(text, "p.yaml: ") || !strings.Contains(text, tc.want) || len(text) > 2500 {
					t.Errorf("error %.3000s\nwant one with %q", text, tc.want)
				}
				if strings.Contains(text, "\n") {
					t.Errorf("more than one line:\n%s", text)
				}
			})
		}
	}
}

// These mistakes are possible in only one format. Each leads to one line with the field, its value
// and what is allowed.
func TestHostileFields(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"v1alpha1: an unknown strategy": {
			strings.Replace(v1alpha1, "RemoveDuplicates", "RemoveDuplicate", 1), `descheduler/v1alpha1: strategies[RemoveDuplicate]: Unsupported value: "RemoveDuplicate": did you mean "RemoveDuplicates"?`,
		},
		"v1alpha1: an unknown field": {
			v1alpha1 + "maxPods: 3\n", `, column 1: descheduler/v1alpha1: maxPods: unknown field "maxPods" (allowed: `,
		},
		"v1alpha1: a percentage as text": {
			strings.Replace(v1alpha1, `"cpu": 20`, `"cpu": 20%`, 1), ": descheduler/v1alpha1: strategies[LowNodeUtilization].params.nodeResourceUtilizationThresholds.thresholds[cpu]: Invalid value: \"20%\"",
		},
		"crane: an unknown metric": {
			strings.Replace(cranePolicy, "priority: [{name: cpu_usage_avg_5m", "priority: [{name: cpu_usage_avg_6m", 1), `spec.priority[0].name: Unsupported value: "cpu_usage_avg_6m": did you mean "cpu_usage_avg_5m"? supported values: "cpu_usage_avg_5m", `,
		},
		"crane: the field with correct spelling": {
			strings.Replace(cranePolicy, "maxLimitPecent: 0.65", "maxLimitPercent: 0.65", 1), "maxLimitPercent",
		},
		"crane: a period without a unit": {
			strings.Replace(cranePolicy, "period: 3m", "period: 3", 1), "period",
		},
		"crane: fractions mixed with percentages": {
			strings.Replace(cranePolicy, "0.75", "75", 1), "predicate",
		},
		"rules: a threshold as text": {
			strings.Replace(rules, "Threshold: 70}\n  Node_mem", "Threshold: '70%'}\n  Node_mem", 1), ": dynamicScheduler rules: Rulename",
		},
		"rules: an unknown field": {
			strings.Replace(rules, "Threshold: 70}\n  Node_mem", "Threshold: 70, Unit: percent}\n  Node_mem", 1), "Unit",
		},
		"scheduler policy: an unknown field": {
			strings.Replace(schedulerPolicy, "filterVerb", "filterWord", 1), "extenders[0].filterWord",
		},
		"scheduler: an unknown field": {
			strings.Replace(schedulerBeta, "schedulerName", "name", 1), `profiles[0].name: unknown field "name" (allowed: `,
		},
		"a future version": {
			strings.Replace(v1alpha1, "v1alpha1", "v1alpha9", 1), `p.yaml: line 1: apiVersion "descheduler/v1alpha9" with kind "DeschedulerPolicy" is not known; allowed: `,
		},
		"two of a kind": {
			cranePolicy + "---\n" + rules, "converted to a second LoadPolicy; the first begins on line 1 and only one is allowed",
		},
		"inside a ConfigMap": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata:\n  p.yaml: |\n" + indent(v1alpha1+"maxPods: 3\n"),
			`, column 1: descheduler/v1alpha1: maxPods: unknown field "maxPods"`,
		},
		"broken inside a ConfigMap": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  p.yaml: |\n" + indent(v1alpha1+"\tx: 3\n"),
			`p.yaml: ConfigMap "a" data["p.yaml"]: not YAML: `,
		},
		"broken one-line JSON inside a ConfigMap": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  p.json: '{\"apiVersion\": \"evenkeel.io/v1alpha1\", \"kind\": \"LoadPolicy\" \"lines\": {}}'\n",
			`p.yaml: ConfigMap "a" data["p.json"]: not YAML: `,
		},
		"broken KubeDescheduler inside a ConfigMap": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  p.yaml: |\n    kind: KubeDescheduler\n    spec: [\n",
			`p.yaml: ConfigMap "a" data["p.yaml"]: not YAML: `,
		},
		"a broken kube-scheduler Policy inside a ConfigMap": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  policy.cfg: |\n    {\n      \"kind\": \"Policy\",\n      \"extenders\": [{\"weight\": 1 \"ignorable\": true}]\n    }\n",
			`p.yaml: ConfigMap "a" data["policy.cfg"]: not YAML: `,
		},
		"a name that would end a comment": {
			"Rulename: {\"a\\nkind: x\": {Promsql: up, Threshold: x}}\n", "p.yaml: line 1, column 51: dynamicScheduler rules: Rulename",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := ConvertFile("p.yaml", []byte(tc.in), kinds.All)
			if err == nil {
				t.Fatalf("it was taken:\n%s", result.Text)
			}
			if text := err.Error(); !policy.IsInvalid(err) || strings.Count(text, "\n") > 0 || !strings.Contains(text, tc.want) {
				t.Errorf("error %s\nwant one line with %q", text, tc.want)
			}
		})
	}
}

// A Policy of another project is left alone, even if it is broken.
func TestOtherBrokenTextsStay(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  audit.yaml: |\n    apiVersion: audit.k8s.io/v1\n    kind: Policy\n    rules: [\n"
	result, err := ConvertFile("p.yaml", []byte(text), kinds.All)
	if err != nil || string(result.Text) != text {
		t.Errorf("error %v, text\n%s", err, result.Text)
	}
}

// However large and wrong a file is, the work and the messages are bounded.
func TestManyPoliciesAreCutShort(t *testing.T) {
	cases := map[string]struct {
		values    int
		threshold string
		want      string
	}{
		"many mistakes":      {values: 90, threshold: "x", want: "\np.yaml: and 40 more"},
		"many policies":      {values: 15_000, threshold: "1", want: "p.yaml: more than 100 values of the file hold policies; convert them in several files"},
		"as many as allowed": {values: 100, threshold: "1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := strings.Builder{}
			in.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n")
			for i := range tc.values {
				fmt.Fprintf(&in, "  k%d: 'Rulename: {a: {Promsql: x, Threshold: %s}}'\n", i, tc.threshold)
			}
			_, err := ConvertFile("p.yaml", []byte(in.String()), kinds.All)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.want)) {
				t.Errorf("error %v, want one that ends with %q", err, tc.want)
			}
		})
	}
}
