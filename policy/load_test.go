package policy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
)

var update = flag.Bool("update", false, "rewrite the expected messages in testdata")

const loadPolicyHeader = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"

const deschedulerPolicyText = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - name: RemoveDuplicates
    args: {excludeOwnerKinds: [ReplicaSet]}
  plugins:
    balance:
      enabled: [RemoveDuplicates]
`

// Every file in testdata/invalid contains one kind of mistake. The file next to it contains the
// message that a user sees.
func TestLoadNamesEveryMistake(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("listing testdata: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Load("policy.yaml", data, known)
			if err == nil {
				t.Fatalf("Load accepted it: %+v", got)
			}
			if !IsInvalid(fmt.Errorf("loading: %w", err)) {
				t.Errorf("IsInvalid(%v) = false", err)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".err"
			if *update {
				if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, readErr := os.ReadFile(golden)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefusesFilesThatAreNotPolicies(t *testing.T) {
	cases := map[string]struct {
		data []byte
		want string
	}{
		"larger than a ConfigMap allows": {
			data: bytes.Repeat([]byte("#"), MaxFileBytes+1),
			want: "f: the file has 1048577 bytes; at most 1048576 are allowed",
		},
		"not text": {
			data: []byte("kind: \xff\xfe"),
			want: "f: line 1, column 7: the file is not UTF-8 text",
		},
		"not text on a later line": {
			data: []byte("kind: a\r\nname: \u00fc\xff"),
			want: "f: line 2, column 8: the file is not UTF-8 text",
		},
		"a NUL in the second document": {
			data: []byte("# none\n---\nkind: \x00\n"),
			want: "f: line 3, column 7: not YAML: control characters are not allowed",
		},
		"documents without end": {
			data: []byte(strings.Repeat("---\n", 250_000)),
			want: "f: the file has 250001 documents; at most 100 are allowed",
		},
		"an alias bomb": {
			data: aliasBomb(),
			want: "f: not YAML: document contains excessive aliasing",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load("f", tc.data, known)
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}

// aliasBomb returns a few lines of YAML that expand to a billion elements.
func aliasBomb() []byte {
	var b bytes.Buffer
	b.WriteString(loadPolicyHeader + "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.Bytes()
}

func TestLoadFindsTheDocuments(t *testing.T) {
	cases := map[string]struct {
		text            string
		wantDescheduler string
		wantAt          int
		wantLoadAt      int
		wantTimeout     string
	}{
		"a LoadPolicy alone": {
			text:        loadPolicyHeader + "usage: {timeout: 7s}\n",
			wantTimeout: "7s",
		},
		"an upstream policy alone": {
			text:            deschedulerPolicyText,
			wantDescheduler: deschedulerPolicyText,
			wantTimeout:     "10s",
		},
		"both, in either order, amid comments and empty documents": {
			text:            "# head\n---\n--- # second\n" + loadPolicyHeader + "usage: {timeout: 7s}\n---\n\n---\n" + deschedulerPolicyText + "---\n# tail",
			wantDescheduler: deschedulerPolicyText, wantAt: 9, wantLoadAt: 2,
			wantTimeout: "7s",
		},
		"content beside the marker": {
			text:        "--- {apiVersion: evenkeel.io/v1alpha1, kind: LoadPolicy, usage: {timeout: 7s}}\n...\n",
			wantTimeout: "7s",
		},
		"a document after an end marker is not lost": {
			text:            loadPolicyHeader + "usage: {timeout: 7s}\n...\n" + deschedulerPolicyText,
			wantDescheduler: deschedulerPolicyText, wantAt: 4,
			wantTimeout: "7s",
		},
		"a byte order mark and CRLF line ends": {
			text:            "\ufeff" + strings.ReplaceAll(loadPolicyHeader+"usage: {timeout: 7s}\n---\n"+deschedulerPolicyText, "\n", "\r\n"),
			wantDescheduler: deschedulerPolicyText, wantAt: 4,
			wantTimeout: "7s",
		},
		"a byte order mark in each document, as in concatenated files": {
			text:            "\ufeff" + loadPolicyHeader + "usage: {timeout: 7s}\n---\n\ufeff" + deschedulerPolicyText,
			wantDescheduler: deschedulerPolicyText, wantAt: 4,
			wantTimeout: "7s",
		},
		"JSON": {
			text:        `{"apiVersion": "evenkeel.io/v1alpha1", "kind": "LoadPolicy", "usage": {"timeout": "7s"}}`,
			wantTimeout: "7s",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Load("policy.yaml", []byte(tc.text), known)
			if err != nil {
				t.Fatal(err)
			}
			want := File{Name: "policy.yaml", Load: Default(known), DefaultProfile: tc.wantDescheduler == ""}
			if err := want.Load.Usage.Timeout.UnmarshalJSON([]byte(`"` + tc.wantTimeout + `"`)); err != nil {
				t.Fatal(err)
			}
			if tc.wantDescheduler != "" {
				want.Descheduler, want.DeschedulerAt = []byte(tc.wantDescheduler), tc.wantAt
			}
			want.LoadDocument, want.LoadDocumentAt = got.LoadDocument, tc.wantLoadAt
			if strings.Contains(tc.text, LoadPolicyKind) != strings.Contains(string(got.LoadDocument), LoadPolicyKind) {
				t.Errorf("the LoadPolicy document is %q", got.LoadDocument)
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
}

// Every example in the documentation is a valid policy.
func TestLoadAcceptsTheExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("listing examples: %d files, %v", len(files), err)
	}
	examples := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Load(file, data, kinds.All)
			if err != nil {
				t.Fatal(err)
			}
			for _, source := range got.Load.Usage.Sources {
				examples[source.Type] = true
			}
		})
	}
	for _, kind := range kinds.All.Names() {
		if !examples[kind] {
			t.Errorf("no example has a source of type %s", kind)
		}
	}
}

// A file with only a LoadPolicy runs the default profile, unless it disables that profile or has no
// line that a move relieves.
func TestLoadReportsWhatRuns(t *testing.T) {
	const marks = "usage: {sources: [{type: Prometheus, prometheus: {queries: {nodes: {busy: {expr: busy}}}}}], metrics: [{name: busy, relieves: none}]}\n" +
		"lines: {busy: {evict: 90}}\n"
	cases := map[string]struct {
		text            string
		profile, itRuns bool
	}{
		"a LoadPolicy alone":           {loadPolicyHeader, true, true},
		"cpu alone":                    {loadPolicyHeader + "lines: {cpu: {}}\n", true, true},
		"switched off":                 {loadPolicyHeader + "eviction: {defaultProfile: false}\n", false, false},
		"only marks":                   {loadPolicyHeader + marks, false, false},
		"an upstream policy alone":     {deschedulerPolicyText, false, true},
		"both":                         {deschedulerPolicyText + "---\n" + loadPolicyHeader, false, true},
		"both, the other way round":    {loadPolicyHeader + "---\n" + deschedulerPolicyText, false, true},
		"an upstream policy, for sure": {deschedulerPolicyText + "---\n" + loadPolicyHeader + "eviction: {defaultProfile: false}\n", false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := Load("policy.yaml", []byte(tc.text), known)
			if err != nil {
				t.Fatal(err)
			}
			if file.DefaultProfile != tc.profile || file.Runs() != tc.itRuns {
				t.Errorf("default profile %v, runs %v; want %v, %v", file.DefaultProfile, file.Runs(), tc.profile, tc.itRuns)
			}
		})
	}
}

// If a policy has lines for only one of cpu and memory, the other is not judged. Load warns about
// that, unless there are lines for another metric that a move of the other resource relieves.
func TestUnjudged(t *testing.T) {
	pressures := "usage: {sources: [{type: Kubelet, kubelet: {endpoint: Summary}}]}\n"
	cases := map[string]struct {
		text string
		want string // the resource that is left out
	}{
		"no lines":                   {text: ""},
		"both":                       {text: "lines: {cpu: {evict: 70}, memory: {}}"},
		"cpu alone":                  {text: "lines: {cpu: {evict: 70}}", want: "memory"},
		"memory alone":               {text: "lines: {memory: {evict: 85}}", want: "cpu"},
		"memory by memory.available": {text: "lines: {cpu: {}, memory.available: {evict: 10}}"},
		"cpu by its pressure":        {text: pressures + "lines: {memory: {}, cpu.pressure: {evict: 60}}"},
		"a pressure of another kind": {text: pressures + "lines: {cpu: {}, cpu.pressure: {evict: 60}}", want: "memory"},
		"only a pool names memory":   {text: "lines: {cpu: {}}\nnodePools: [{name: a, selector: {matchLabels: {a: b}}, lines: {cpu: {}, memory: {}}}]", want: "memory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := Load("policy.yaml", []byte(loadPolicyHeader+tc.text), known)
			if err != nil {
				t.Fatal(err)
			}
			var want *Note
			if tc.want != "" {
				want = &Note{Field: "lines", Lossy: true, Text: tc.want + " is not judged, because lines does not name it; add " + tc.want + ": {} to judge it by the default levels"}
			}
			if diff := cmp.Diff(want, file.Unjudged()); diff != "" {
				t.Errorf("warning (-want +got):\n%s", diff)
			}
			file.Converted = []Conversion{{Object: map[string]any{"kind": LoadPolicyKind}}}
			if got := file.Unjudged(); got != nil {
				t.Errorf("a converted policy is warned of: %+v", got)
			}
		})
	}
}

func TestLoadReportsWhetherSourcesAreGiven(t *testing.T) {
	cases := map[string]struct {
		text string
		want bool
	}{
		"no usage":              {text: "", want: false},
		"usage without sources": {text: "usage: {timeout: 7s}", want: false},
		"left blank":            {text: "usage: {sources: }", want: false},
		"sources equal to the defaults": {
			text: "usage: {sources: [{type: MetricsServer}]}", want: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Load("policy.yaml", []byte(loadPolicyHeader+tc.text), known)
			if err != nil {
				t.Fatal(err)
			}
			if got.SourcesGiven != tc.want {
				t.Errorf("SourcesGiven = %v, want %v", got.SourcesGiven, tc.want)
			}
		})
	}
}

// Line numbers in messages refer to the file, not to the document.
func TestLoadCountsLinesOfTheFile(t *testing.T) {
	text := deschedulerPolicyText + "---\n" + loadPolicyHeader + "usage:\n  timeout: 5s\n  timeout: 6s\n"
	_, err := Load("f", []byte(text), known)
	line := strings.Count(text, "\n")
	if want := fmt.Sprintf("f: line %d: key \"timeout\" already set in map", line); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
