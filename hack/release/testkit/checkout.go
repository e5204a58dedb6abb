// Package testkit creates checkouts for the tests of packages that build checkouts.
package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Reports is a program that prints the version that the linker set.
const Reports = `package main

var version = "dev"

func main() { println("version", version) }
`

// Committed is when the commit of a checkout was made.
var Committed = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Checkout creates a folder with the given files in one commit.
func Checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first"},
	} {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		stamp := Committed.Format(time.RFC3339)
		command.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+stamp, "GIT_COMMITTER_DATE="+stamp)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// Program returns a module with a license and one command, which reports its version. If
// the command is evenkeel, the checkout also contains evenkeel-sim, in a separate module
// that uses the first one.
func Program(name string) map[string]string {
	files := map[string]string{
		"go.mod": "module example.org/a\n\ngo 1.26\n", "LICENSE": "license\n", "cmd/" + name + "/main.go": Reports,
	}
	if name == "evenkeel" {
		files["own/own.go"] = "package own\n"
		files["sim/go.mod"] = "module example.org/a/sim\n\ngo 1.26\n\nrequire example.org/a v0.0.0\n\nreplace example.org/a => ..\n"
		files["sim/cmd/evenkeel-sim/main.go"] = strings.Replace(Reports, "\n", "\n\nimport _ \"example.org/a/own\"\n", 1)
	}
	return files
}
