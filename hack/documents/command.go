package documents

import (
	"path"
	"slices"
	"strings"
)

// Program is the program that runs a command. It has its own value if its commands are
// checked differently from others.
type Program int

// The programs of documented commands.
const (
	// Unknown is a program that is not listed below.
	Unknown Program = iota
	Evenkeel
	Make
	Kubectl
	Go
	// Tool is any other program that documents may use.
	Tool
)

// Command is a program with its arguments.
type Command struct {
	Program Program
	// Name is the program as it is called, without a folder.
	Name string
	Args []string
}

// tools holds the other programs that documents may use. Only those of their arguments
// that are paths in this repository are checked.
var tools = []string{
	".", "Invoke-Expression", "Out-String", "apt-get", "awk", "cat", "cd", "chmod", "cosign", "cp", "crane", "curl", "docker", "echo", "exec",
	"export", "gcloud", "git", "grep", "head", "helm", "jq", "ls", "ln", "mkdir", "mv", "open", "openssl", "promtool", "rm", "sed", "sha256sum",
	"sort", "source", "ssh", "sudo", "tar", "tee", "xargs", "xdg-open",
}

// base returns a program's name without the folder that it is called from.
func base(word string) string { return path.Base(strings.TrimSuffix(word, ".exe")) }

func isKnown(word string) bool { return program(word) != Unknown }

func program(word string) Program {
	switch name := base(word); {
	case name == "evenkeel" || name == "kubectl-evenkeel":
		return Evenkeel
	case word == "make":
		return Make
	case word == "kubectl":
		return Kubectl
	case word == "go":
		return Go
	case slices.Contains(tools, word):
		return Tool
	}
	return Unknown
}

// unwrap returns the command in words and the command that it runs in turn, as xargs and
// kubectl exec do.
func unwrap(words []string) []Command {
	if words[0] == "kubectl" && len(words) > 1 && words[1] == "evenkeel" {
		words = append([]string{"kubectl-evenkeel"}, words[2:]...)
	}
	c := Command{program(words[0]), base(words[0]), words[1:]}
	switch {
	case slices.Contains([]string{"xargs", "sudo", "exec"}, c.Name):
		inner := slices.IndexFunc(c.Args, isKnown)
		if inner < 0 {
			return []Command{c}
		}
		args := slices.Clone(c.Args[inner:])
		if c.Name == "xargs" {
			args = append(args, "ARGUMENT/OF-XARGS")
		}
		c.Args = c.Args[:inner]
		return append([]Command{c}, unwrap(args)...)
	case c.Program == Kubectl && slices.Contains(c.Args, "exec"):
		inner := slices.Index(c.Args, "--")
		if inner < 0 || inner+1 == len(c.Args) {
			return []Command{c}
		}
		args := c.Args[inner+1:]
		c.Args = c.Args[:inner]
		return append([]Command{c}, unwrap(args)...)
	}
	return []Command{c}
}
