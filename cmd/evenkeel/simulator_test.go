package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed installs a program that prints its arguments and its standard input.
func installed(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$@:\" `cat`\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// However a command of the simulator is invoked, the simulator receives the whole command line and
// the standard input, and its output and exit code are passed on.
func TestSimulatorAnswers(t *testing.T) {
	dir := t.TempDir()
	installed(t, filepath.Join(dir, simulator))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, args := range []string{
		"simulate --trace a.csv --help", "record -n x --for 1h", "-v 2 simulate --policy a", "help simulate", "simulate",
		"__complete simulate --tr", "__completeNoDesc record --policy-config-file ", "simulate unknown --flags=1 -- x",
	} {
		p := start(t, strings.Fields(args)...)
		if _, err := io.WriteString(p.stdin, "typed"); err != nil {
			t.Fatal(err)
		}
		_ = p.stdin.Close()
		code := p.code(t)
		out := make([]byte, 1000)
		n, _ := p.stdout.Read(out)
		if want := strings.TrimSpace(args) + ": typed\n"; code != 7 || string(out[:n]) != want {
			t.Errorf("%s: exit code %d and %q, want 7 and %q", args, code, out[:n], want)
		}
	}
}

// Without the simulator, one sentence says what is missing, and the exit code is 2.
func TestSimulatorIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"simulate", "record --help", "help simulate"} {
		command := exec.CommandContext(t.Context(), program, strings.Fields(args)...)
		command.Env = append(os.Environ(), asProgram+"=1")
		out, _ := command.CombinedOutput()
		want := ": the program evenkeel-sim is neither in " + filepath.Dir(program) + " nor in PATH; "
		if code := command.ProcessState.ExitCode(); code != 2 || strings.Count(string(out), "\n") != 1 ||
			!strings.HasPrefix(string(out), "evenkeel: ") || !strings.Contains(string(out), want) {
			t.Errorf("%s: exit code %d and %q", args, code, out)
		}
	}
}

// The simulator next to this program takes precedence over one in PATH, even if this program is called through a link.
func TestFindSimulator(t *testing.T) {
	release, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("PATH", elsewhere)
	own, link := filepath.Join(release, "evenkeel"), filepath.Join(elsewhere, "kubectl-evenkeel")
	if err := os.WriteFile(own, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	if path, err := findSimulator(link); err == nil {
		t.Errorf("found %q, which is not there", path)
	}
	inPath := installed(t, filepath.Join(elsewhere, simulator))
	if path, err := findSimulator(link); err != nil || path != inPath {
		t.Errorf("found %q, %v, want %q", path, err, inPath)
	}
	beside := installed(t, filepath.Join(release, simulator))
	for _, called := range []string{own, link} {
		if path, err := findSimulator(called); err != nil || filepath.Base(filepath.Dir(path)) != filepath.Base(filepath.Dir(beside)) {
			t.Errorf("%s: found %q, %v, want %q", called, path, err, beside)
		}
	}
}
