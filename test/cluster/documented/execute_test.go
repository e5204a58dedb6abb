package documented

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/hack/documents"
)

// standIn is a program that prints its arguments, environment and input files, and ends with a
// given exit code.
const standIn = `#!/bin/sh
echo "called $* with $KUBECONFIG in $HOME"
cat policy.yaml
echo "example: $(head -n 1 examples/minimal.yaml)"
test -f day.evenkeel.gz || exit 1
case "$*" in *--watch*) trap 'exit 130' INT; while :; do sleep 0.1; done ;; esac
exit ${CODE:-0}
`

// A command runs in a separate folder. It finds the files that a reader has, but none of those that
// the command itself creates. Its exit code must be a documented one.
func TestExecute(t *testing.T) {
	program := filepath.Join(t.TempDir(), "stand-in")
	if err := os.WriteFile(program, []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		line, want, wrong string
	}{
		"on a cluster":            {line: "evenkeel top", want: "called top with a-kubeconfig in"},
		"as a plugin":             {line: "kubectl evenkeel top", want: "called top with"},
		"by its path":             {line: "bin/evenkeel explain node NAME", want: "called explain node a-node with"},
		"the policy of the case":  {line: "evenkeel plan", want: "the policy of the case"},
		"the shipped policy":      {line: "evenkeel lint policy.yaml", want: "kind: DeschedulerPolicy"},
		"an example on a cluster": {line: "evenkeel plan", want: "example: the policy of the case"},
		"an example as it is":     {line: "evenkeel lint", want: "example: # "},
		"what it writes":          {line: "evenkeel record --out day.evenkeel.gz", wrong: "exit code 1"},
		"until it is stopped":     {line: "evenkeel top --watch", want: "called top --watch"},
		"a problem is found":      {line: "CODE=1 evenkeel doctor", want: "called doctor"},
		"a problem is not":        {line: "CODE=1 evenkeel top", wrong: "exit code 1, want one of [0]"},
		"bad input":               {line: "CODE=2 evenkeel doctor", wrong: "exit code 2, want one of [0 1]"},
		"a pipe that fails":       {line: "CODE=3 evenkeel plan | head -n 50", wrong: "exit code 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, err := documents.Parse("x.md", "```sh\n"+tc.line+"\n```\n")
			if err != nil {
				t.Fatal(err)
			}
			runs, _ := Choose(lines)
			if len(runs) != 1 {
				t.Fatalf("chosen: %v", runs)
			}
			dir := t.TempDir()
			if err := Furnish(dir, root, program, []byte("the policy of the case"), &runs[0]); err != nil {
				t.Fatal(err)
			}
			printed, err := runs[0].Pipelines[0].Execute(t.Context(), dir, place)
			if tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) || tc.wrong == "" && err != nil {
				t.Errorf("got %v, want %q", err, tc.wrong)
			}
			if !strings.Contains(printed, tc.want) {
				t.Errorf("printed %q, want %q", printed, tc.want)
			}
		})
	}
}
