package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/hack/documents"
	"github.com/evenkeel/evenkeel/internal/migration/compat"
)

// Every command line of Evenkeel's that a document or the help of a command
// shows is one that it takes. What running text mentions need not be complete.
func TestDocumentedCommandLinesAreTaken(t *testing.T) {
	lines, err := documents.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range newRoot().Commands() {
		examples, err := documents.Parse("the help of "+c.Name(), "```sh\n"+c.Example+"\n```\n")
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, examples...)
	}
	seen := map[string]bool{}
	for _, line := range lines {
		for _, c := range line.Commands() {
			if c.Program != documents.Evenkeel {
				continue
			}
			name, err := take(c.Args, line.Mention)
			if seen[name] = true; err != nil {
				t.Errorf("%s: %q: %v", line.Where(), line.Text, err)
			}
		}
	}
	for _, c := range newRoot().Commands() {
		if !seen[c.Name()] {
			t.Errorf("no document shows evenkeel %s", c.Name())
		}
	}
}

// stand are values for placeholders that Evenkeel does not take as they are.
var stand = map[string]string{"COMMAND": "plan", "D": "1h", "N": "1", "TAB": ""}

// take parses a command line up to where it would run, and returns the name of
// the command.
func take(args []string, mention bool) (name string, err error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if value, is := stand[arg]; is {
			args[i] = value
		}
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "" })
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(compat.WithGoFlags(args))
	if err != nil {
		return "", err
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if err := c.ParseFlags(rest); err != nil {
		if _, missing := errors.AsType[*pflag.ValueRequiredError](err); missing && mention {
			return c.Name(), nil
		}
		return c.Name(), c.FlagErrorFunc()(c, err)
	}
	if mention && c.HasParent() { // what is left to the root is the name of no command
		return c.Name(), nil
	}
	return c.Name(), errors.Join(c.ValidateArgs(c.Flags().Args()), c.ValidateRequiredFlags(), c.ValidateFlagGroups(), subject(c))
}

// subject checks what explain takes, which cobra leaves to it.
func subject(c *cobra.Command) error {
	words := c.Flags().Args()
	if c.Name() != "explain" || len(words) == 2 && (words[0] == "node" || words[0] == "pod" && strings.Contains(words[1], "/")) {
		return nil
	}
	return errors.New("it explains node NAME or pod NAMESPACE/NAME")
}

// The check refuses what Evenkeel refuses.
func TestTake(t *testing.T) {
	for line, want := range map[string]struct {
		mention bool
		refused bool
	}{
		"plan --policy-config-file policy.yaml": {},
		"nodesync -prom http://a -r rule.yaml":  {},
		"simulate --policy":                     {mention: true},
		"explain node":                          {mention: true},
		"kubectl":                               {refused: true},
		"plan --policy-file a":                  {refused: true},
		"plan now":                              {refused: true},
		"record --for day":                      {refused: true},
		"simulate --polcy":                      {mention: true, refused: true},
		"explain pod web":                       {refused: true},
		"explian":                               {mention: true, refused: true},
	} {
		if _, err := take(strings.Fields(line), want.mention); (err != nil) != want.refused {
			t.Errorf("evenkeel %s: %v", line, err)
		}
	}
}
