package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/compat/process"
	"github.com/evenkeel/evenkeel/hack/documents"
)

// Every evenkeel command line in a document or in a command's help is accepted. A command that is
// mentioned in running text may be incomplete.
func TestDocumentedCommandLinesAreAccepted(t *testing.T) {
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

// take parses a command line up to the point at which it would run, and returns the name of the
// command.
func take(args []string, mention bool) (name string, err error) {
	c, err := documents.Take(newRoot(), process.WithGoFlags(args), mention)
	if err == nil && !mention {
		err = subject(c)
	}
	return c.Name(), err
}

// subject checks explain's arguments, because cobra does not.
func subject(c *cobra.Command) error {
	words := c.Flags().Args()
	if c.Name() != "explain" || len(words) == 2 && (words[0] == "node" || words[0] == "pod" && strings.Contains(words[1], "/")) {
		return nil
	}
	return errors.New("it explains node NAME or pod NAMESPACE/NAME")
}

// take rejects what Evenkeel itself rejects.
func TestTake(t *testing.T) {
	for line, want := range map[string]struct {
		mention bool
		refused bool
	}{
		"plan --policy-config-file policy.yaml": {},
		"nodesync -prom http://a -r rule.yaml":  {},
		"explain --policy-config-file":          {mention: true},
		"explain node":                          {mention: true},
		"kubectl":                               {refused: true},
		"plan --policy-file a":                  {refused: true},
		"plan now":                              {refused: true},
		"plan --observe day":                    {refused: true},
		"plan --polcy":                          {mention: true, refused: true},
		"explain pod web":                       {refused: true},
		"explian":                               {mention: true, refused: true},
	} {
		if _, err := take(strings.Fields(line), want.mention); (err != nil) != want.refused {
			t.Errorf("evenkeel %s: %v", line, err)
		}
	}
}
