package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/hack/documents"
	"github.com/evenkeel/evenkeel/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite docs/flags.md")

// asProgram makes the test binary run as evenkeel-sim.
const asProgram = "EVENKEEL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// started is a running evenkeel-sim, with its output.
type started struct {
	*exec.Cmd
	stdout, stderr strings.Builder
}

// start runs evenkeel-sim under the name under which evenkeel calls it.
func start(t *testing.T, name string, args ...string) *started {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &started{Cmd: exec.CommandContext(t.Context(), program, args...)}
	p.Args[0] = name
	p.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG=/dev/null")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// code waits until the program ends and returns its exit code, or -1 if a signal ended it.
func (p *started) code(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return 0
}

// When evenkeel calls the program, it responds as evenkeel did when these commands were evenkeel's
// own: help, completions, mistakes and exit codes.
func TestAnswersByTheNameItIsCalledBy(t *testing.T) {
	cases := map[string]struct {
		name, args     string
		stdout, stderr string
		code           int
	}{
		"help":                      {"evenkeel", "simulate --help", "Usage:\n  evenkeel simulate [flags]\n", "", 0},
		"help by its command":       {"/usr/bin/evenkeel", "help record", "Usage:\n  evenkeel record [flags]\n", "", 0},
		"help of kubectl's plugin":  {"kubectl-evenkeel", "simulate -h", "Usage:\n  kubectl evenkeel simulate [flags]\n", "", 0},
		"help by its own name":      {"evenkeel-sim", "simulate --help", "Usage:\n  evenkeel-sim simulate [flags]\n", "", 0},
		"the version":               {"evenkeel-sim", "version", "evenkeel-sim version dev\n", "", 0},
		"a flag to complete":        {"evenkeel", "__complete simulate --memory", "--memory-trace\t", "", 0},
		"logging flags before it":   {"evenkeel", "-v 1 simulate --steps=24 --warm-up=24", "", "evenkeel: --warm-up: 24 is all of the 24 steps", 2},
		"a flag":                    {"evenkeel", "simulate --polcy a", "", `evenkeel: unknown flag: --polcy, did you mean "--policy"?`, 2},
		"a variant to compare":      {"evenkeel", "simulate --compare evict-olny", "", `did you mean "evict-only"?`, 2},
		"nothing to write":          {"evenkeel", "record", "", "evenkeel: --out: a file to write is required", 2},
		"an argument":               {"evenkeel", "record now", "", `evenkeel: evenkeel record takes no arguments, got ["now"]`, 2},
		"a command that is not its": {"evenkeel-sim", "plan", "", `unknown command "plan"`, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := start(t, tc.name, strings.Fields(tc.args)...)
			code := p.code(t)
			if code != tc.code || !strings.Contains(p.stdout.String(), tc.stdout) || !strings.Contains(p.stderr.String(), tc.stderr) {
				t.Errorf("exit code %d, want %d\n%s\n%s\nwant %q and %q", code, tc.code, p.stdout.String(), p.stderr.String(), tc.stdout, tc.stderr)
			}
		})
	}
}

// A signal ends commands that read an endless file.
func TestSignalsEndReading(t *testing.T) {
	for name, args := range map[string][]string{
		"a policy to simulate":     {"simulate", "--policy"},
		"a recording":              {"simulate", "--recording"},
		"a policy to record under": {"record", "--force", "--out", os.DevNull, "--policy-config-file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			p := start(t, "evenkeel", append(args, fifo)...)
			writing, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits until the program reads
			if err != nil {
				t.Fatal(err)
			}
			defer writing.Close()
			for range 2 { // record handles the first signal gracefully
				if err := p.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				if args[0] != "record" {
					break
				}
				time.Sleep(50 * time.Millisecond) // signals of one kind are merged
			}
			if got, want := p.code(t), 143; got != want {
				t.Errorf("exit code %d, want %d", got, want)
			}
		})
	}
}

// commandOf returns the named command of the program.
func commandOf(t *testing.T, name string) *cobra.Command {
	t.Helper()
	c, _, err := program().Root("evenkeel").Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// docs/flags.md lists the commands with their flags, defaults and help.
func TestFlagsReference(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	want := testkit.FlagsOf(commandOf(t, "record")) + testkit.FlagsOf(commandOf(t, "simulate"))
	page := filepath.Join("..", "..", "..", "docs", "flags.md")
	testkit.FlagsPage(t, *update, page, "go test -C sim ./cmd/evenkeel-sim -run TestFlagsReference", want)
}

// Recording accepts kubectl's flags for connecting to a cluster.
func TestFlagsOfKubectl(t *testing.T) {
	flags := commandOf(t, "record").Flags()
	for _, name := range []string{"kubeconfig", "context", "as", "as-group", "namespace"} {
		if flags.Lookup(name) == nil {
			t.Errorf("record has no --%s", name)
		}
	}
	if short := flags.ShorthandLookup("n"); short == nil || short.Name != "namespace" {
		t.Error("record has no -n")
	}
}

// Every documented command line that simulates or records is accepted.
func TestDocumentedCommandLinesAreAccepted(t *testing.T) {
	lines, err := documents.Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, line := range lines {
		for _, c := range line.Commands() {
			if c.Program != documents.Evenkeel || len(c.Args) == 0 || !slices.Contains([]string{"simulate", "record"}, c.Args[0]) {
				continue
			}
			seen[c.Args[0]]++
			if _, err := documents.Take(program().Root("evenkeel"), c.Args, line.Mention); err != nil {
				t.Errorf("%s: %q: %v", line.Where(), line.Text, err)
			}
		}
	}
	if seen["simulate"] < 5 || seen["record"] < 2 {
		t.Errorf("documents show %v", seen)
	}
	for _, refused := range []string{"record --for day", "simulate --polcy"} {
		if _, err := documents.Take(program().Root("evenkeel"), strings.Fields(refused), true); err == nil {
			t.Errorf("%q is taken", refused)
		}
	}
}

// Both commands read policies of legacy systems, and their errors name the wrong field.
func TestEarlierPoliciesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "earlier.yaml")
	text := "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {NoSuchStrategy: {enabled: true}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"record", "--policy-config-file", path, "--for", "1h", "--out", filepath.Join(t.TempDir(), "recording")},
		{"simulate", "--policy", path},
	} {
		p := start(t, "evenkeel", args...)
		if code := p.code(t); code != 2 || !strings.Contains(p.stderr.String(), "strategies[NoSuchStrategy]") {
			t.Errorf("%v: exit code %d and %q", args, code, p.stderr.String())
		}
	}
}
