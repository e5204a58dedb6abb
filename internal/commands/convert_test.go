package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

const oldPolicy = "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {RemoveDuplicates: {enabled: true}}\n"

func TestConvertReadsAndWritesFiles(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "old.yaml"), filepath.Join(folder, "new.yaml")
	if err := os.WriteFile(from, []byte(oldPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := Convert(ConvertOptions{Files: []string{from}, To: to, Formats: earlier}, nil, &out, &progress); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if file, err := compat.Load(to, written, kinds.All); err != nil || len(file.Converted) != 0 {
		t.Errorf("what was written: %v\n%s", err, written)
	}
	if out.Len() > 0 {
		t.Errorf("it wrote to the standard output as well:\n%s", out.String())
	}
	if want := from + ": line 1: descheduler/v1alpha1 DeschedulerPolicy: converted\n"; !strings.HasPrefix(progress.String(), want) {
		t.Errorf("progress:\n%s\nwant it to begin with %q", progress.String(), want)
	}
	piped, _, err := convertText(t, oldPolicy)
	if err != nil || piped != string(written) {
		t.Errorf("through a pipe: %v\n%s\nwant\n%s", err, piped, written)
	}
}

// A file that cannot be converted leaves the output file unchanged.
func TestConvertWritesNothingOfABadFile(t *testing.T) {
	to := filepath.Join(t.TempDir(), "new.yaml")
	if err := os.WriteFile(to, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"an unknown kind": "apiVersion: x/v1\nkind: Unknown\n",
		"too large":       strings.Repeat("#", policy.MaxFileBytes+1),
	} {
		err := Convert(ConvertOptions{Files: []string{Standard}, To: to, Formats: earlier}, strings.NewReader(text), &bytes.Buffer{}, &bytes.Buffer{})
		if exit.Code(err) != exit.Misuse || strings.Count(err.Error(), "\n") > 0 || !strings.HasPrefix(err.Error(), "stdin: ") {
			t.Errorf("%s: exit code %d for %v", name, exit.Code(err), err)
		}
	}
	if left, err := os.ReadFile(to); err != nil || string(left) != "mine" {
		t.Errorf("the file has %q, %v", left, err)
	}
	err := Convert(ConvertOptions{Files: []string{filepath.Join(t.TempDir(), "absent")}, To: Standard, Formats: earlier}, nil, &bytes.Buffer{}, &bytes.Buffer{})
	if exit.Code(err) != exit.Misuse {
		t.Errorf("exit code %d for %v", exit.Code(err), err)
	}
}

// Several files become one, document by document.
func TestConvertOfSeveralFiles(t *testing.T) {
	folder := t.TempDir()
	service := filepath.Join(folder, "service.yaml")
	writeText(t, service, "apiVersion: v1\nkind: Service\nmetadata: {name: s}") // without a final newline
	var out, progress bytes.Buffer
	err := Convert(ConvertOptions{Files: []string{service, Standard}, To: Standard, Formats: earlier}, strings.NewReader(oldPolicy), &out, &progress)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := policy.ReadParts("out", out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, part := range parts {
		kind, _ := part.Object["kind"].(string)
		kinds = append(kinds, kind)
	}
	if diff := cmp.Diff([]string{"Service", "DeschedulerPolicy"}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s\n%s", diff, out.String())
	}
	out.Reset()
	err = Convert(ConvertOptions{Files: []string{service, Standard}, To: Standard, Formats: earlier}, strings.NewReader("kind: Unknown\n"), &out, &progress)
	if exit.Code(err) != exit.Misuse || out.Len() > 0 {
		t.Errorf("with a bad file: exit code %d for %v, and it wrote\n%s", exit.Code(err), err, out.String())
	}
}

// lint and convert accept files in the same ways.
func TestFilesOfLintAndConvert(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.yaml")
	writeText(t, file, oldPolicy)
	cases := map[string]struct {
		files []string
		want  string
	}{
		"a file":                    {[]string{file}, ""},
		"the standard input":        {[]string{Standard}, ""},
		"both":                      {[]string{Standard, file}, ""},
		"none":                      {nil, "name at least one file, or - for the standard input"},
		"the standard input, twice": {[]string{Standard, file, Standard}, "(the standard input) may be given only once"},
		"a folder":                  {[]string{filepath.Dir(file)}, "is a directory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			linted := Lint(LintOptions{Files: tc.files, Format: "text", Formats: earlier}, strings.NewReader(oldPolicy), &bytes.Buffer{}, time.Now())
			converted := Convert(ConvertOptions{Files: tc.files, To: Standard, Formats: earlier}, strings.NewReader(oldPolicy), &bytes.Buffer{}, &bytes.Buffer{})
			for command, err := range map[string]error{"lint": linted, "convert": converted} {
				switch {
				case tc.want == "" && err != nil:
					t.Errorf("%s: %v", command, err)
				case tc.want != "" && (exit.Code(err) != exit.Misuse || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("%s: exit code %d for %v, want %q", command, exit.Code(err), err, tc.want)
				}
			}
		})
	}
}

// A policy with which no process would start is never reported as converted or current, whatever
// its format and its place in the file.
func TestConvertRefusesWhatRunRefuses(t *testing.T) {
	const wrong = "{name: p, pluginConfig: [{name: DefaultEvictor, args: {minReplicas: two}}]}"
	const scheduler = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	cases := map[string]struct{ in, want string }{
		"in the current format": {todaysHead + "- " + wrong + "\n", `stdin: line 4, column 71: DeschedulerPolicy: profiles[0].pluginConfig[0].args.minReplicas: Invalid value: "two"`},
		"in a ConfigMap": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  policy.yaml: |\n    apiVersion: descheduler/v1alpha2\n    kind: DeschedulerPolicy\n    profiles:\n    - " + wrong + "\n",
			`stdin: ConfigMap "c" data["policy.yaml"]: line 4, column 71: DeschedulerPolicy: profiles[0].pluginConfig[0].args.minReplicas: Invalid value: "two"`,
		},
		"next to one to convert": {
			"Rulename: {x: {Promsql: up, Threshold: 1}}\n---\n" + todaysHead + "- " + wrong + "\n",
			`DeschedulerPolicy: profiles[0].pluginConfig[0].args.minReplicas: Invalid value: "two"`,
		},
		"in a legacy format": {
			oldPolicy + "nodeSelector: 'a=b=c'\n",
			`stdin: DeschedulerPolicy: nodeSelector: Invalid value: "a=b=c": must be a label selector`,
		},
		"a scheduler plugin's args": {
			scheduler + "profiles:\n- schedulerName: s\n  pluginConfig:\n  - name: MemRealUsage\n    args: {prometheusApiAddr: 'http://p', queryMetricTimeSeconds: 10s}\n",
			`stdin: line 7, column 67: KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1: profiles[0].pluginConfig[0].args.queryMetricTimeSeconds: Invalid value: "10s": must be a whole number`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			converted, _, err := convertText(t, tc.in)
			if exit.Code(err) != exit.Misuse || !strings.Contains(err.Error(), tc.want) || converted != "" {
				t.Errorf("exit code %d for %v, want %q; it wrote\n%s", exit.Code(err), err, tc.want, converted)
			}
			report, err := lintText(t, tc.in)
			if exit.Code(err) != exit.Misuse {
				t.Errorf("lint: exit code %d for %v: %+v", exit.Code(err), err, report)
			}
		})
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
