package documents

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented are documents with the commands in them: each with its line and its words, or ? for an
// unknown program.
var documented = map[string]struct {
	document string
	want     []string // line and command
}{
	"a fenced block without a language": {
		"Try it:\n\n```\nmake build   # compiles\n\n# the nodes\nbin/evenkeel top\n```\n", []string{"4 make build", "7 evenkeel top"},
	},
	"a block of a shell":           {"```sh\nhelm version\n```\n", []string{"2 helm version"}},
	"an unknown program with one":  {"```\nfrobnicate\nmake build\n```\n", []string{"2 ? frobnicate", "3 make build"}},
	"an unknown program and flags": {"```\nfrobnicate --now\n```\n", []string{"2 ? frobnicate --now"}},
	"a block of a list":            {"1. First:\n\n   ```\n   kubectl apply -k deploy/base\n   ```\n", []string{"4 kubectl apply -k deploy/base"}},
	"an indented block":            {"Run\n\n    make soak SOAK_FLAGS='--for 5m --nodes 20'\n\nand wait.\n", []string{"3 make soak SOAK_FLAGS=--for 5m --nodes 20"}},
	"output after a prompt":        {"    $ evenkeel lint a.yaml\n    a.yaml: make it so\n", []string{"1 evenkeel lint a.yaml"}},
	"output alone":                 {"```\nnode-00 cpu 96.6% hot now\n```\n\n    max(up) == 0   # nobody leads\n", nil},
	"YAML":                         {"```yaml\nmake: build\n```\n", nil},
	"running text": {
		"Use `evenkeel\nplan -o json` or `make`, as [told](x.md) in `kubectl get\npods`.\n", []string{"1 evenkeel plan -o json", "2 kubectl get pods"},
	},
	"a table":               {"| a | `evenkeel top -o table\\|wide` |\n|---|---|\n| b | `make demo` |\n", []string{"1 evenkeel top -o table", "1 ? wide", "3 make demo"}},
	"a paragraph of a list": {"- one\n\n    and `make check`.\n", []string{"3 make check"}},
	"several commands":      {"    evenkeel certificates --directory pki && kubectl apply -f pki/secrets.yaml\n", []string{"1 evenkeel certificates --directory pki", "1 kubectl apply -f pki/secrets.yaml"}},
	"a pipe":                {"    kubectl logs a --since=1h | evenkeel history --from-logs -\n", []string{"1 kubectl logs a --since=1h", "1 evenkeel history --from-logs -"}},
	"a line that goes on":   {"    evenkeel doctor --mode nodesync \\\n      --prom http://a\n    make build\n", []string{"1 evenkeel doctor --mode nodesync --prom http://a", "3 make build"}},
	"a here-document":       {"    cat > a <<'END'\n    exec frobnicate\n    END\n    chmod +x a\n", []string{"1 cat", "4 chmod +x a"}},
	"a substitution":        {"    source <(evenkeel completion bash)\n", []string{"1 source SUBSTITUTED", "1 evenkeel completion bash"}},
	"by xargs":              {"    evenkeel plan -o name | xargs -n 1 evenkeel explain pod\n", []string{"1 evenkeel plan -o name", "1 xargs -n 1", "1 evenkeel explain pod ARGUMENT/OF-XARGS"}},
	"by kubectl exec":       {"    kubectl -n a exec deploy/b -- evenkeel doctor\n", []string{"1 kubectl -n a exec deploy/b", "1 evenkeel doctor"}},
	"by kubectl":            {"    kubectl evenkeel top\n", []string{"1 kubectl-evenkeel top"}},
	"a variable":            {"    NO_COLOR=1 bin/evenkeel top > out.txt 2>&1\n", []string{"1 evenkeel top"}},
	"what may be left out":  {"    evenkeel record --out a [--for 24h] [FILE...]\n", []string{"1 evenkeel record --out a --for 24h FILE..."}},
	"a placeholder":         {"    evenkeel explain node <node name>\n", []string{"1 evenkeel explain node NODE-NAME"}},
}

// The commands of a document are found on their lines, whatever surrounds them.
func TestParse(t *testing.T) {
	for name, tc := range documented {
		t.Run(name, func(t *testing.T) {
			lines, err := Parse("x.md", tc.document)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range lines {
				for _, c := range line.Commands() {
					number := strings.TrimPrefix(line.Where(), "x.md:")
					if c.Program == Unknown {
						number += " ?"
					}
					got = append(got, strings.Join(append([]string{number, c.Name}, c.Args...), " "))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

// The text of a command is kept as it is written, without its comment.
func TestText(t *testing.T) {
	lines, err := Parse("x.md", "    evenkeel record --out 'a b' \\\n      --for 1m && evenkeel simulate --recording \"a b\"   # a day\n")
	if err != nil || len(lines) != 1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	got := []string{lines[0].Text, lines[0].Pipelines[0].Text, lines[0].Pipelines[1].Text}
	want := []string{
		`evenkeel record --out 'a b' --for 1m && evenkeel simulate --recording "a b"`,
		`evenkeel record --out 'a b' --for 1m`, `evenkeel simulate --recording "a b"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// A command that no shell would accept is rejected, with its position.
func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ document, want string }{
		"an open quote":       {"```\nmake a\nmake soak FLAGS='--for\n```\n", `x.md:3: a quote is not closed in "make soak FLAGS='--for"`},
		"an open parenthesis": {"Run `make $(ls`.\n", "x.md:1: a parenthesis is not closed in \"make $(ls\""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("x.md", tc.document); err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// The comments of YAML are found, with their lines.
func TestComments(t *testing.T) {
	got := comments("# For `evenkeel\n# top`.\na: b # not this\n  # here\n")
	if diff := cmp.Diff("For `evenkeel\ntop`.\n\nhere\n", got); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
}
