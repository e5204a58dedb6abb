// Command policyref writes docs/policy.md, the reference of the LoadPolicy, and
// docs/policy.schema.json, its JSON schema for editors: the fields and their comments
// from the Go types, the defaults from policy.Load, the examples from
// policy/testdata/examples. Run it in the root of the checkout.
//
// It defines only the layout of the reference; the comments in package policy define what
// fields mean. A field without a comment is an error.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is package main
	}
}

// target returns the path of the reference, schemaTarget that of the schema.
func target(root string) string       { return filepath.Join(root, "docs", "policy.md") }
func schemaTarget(root string) string { return filepath.Join(root, "docs", "policy.schema.json") }

func run(root string) error {
	for path, made := range map[string]func(dir string) ([]byte, error){target(root): reference, schemaTarget(root): schemaOf} {
		text, err := made(filepath.Join(root, "policy"))
		if err != nil {
			return fmt.Errorf("making %s: %w", path, err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
