// Command policyref writes docs/policy.md, the reference of the LoadPolicy: the
// fields and their comments from the Go types, the defaults from policy.Load,
// the examples from policy/testdata/examples. Run it in the project's folder.
//
// It decides how the reference looks; package policy alone says what the fields
// mean. A field without a comment is an error.
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

// target is the output file.
func target(root string) string { return filepath.Join(root, "docs", "policy.md") }

func run(root string) error {
	page, err := reference(filepath.Join(root, "policy"))
	if err != nil {
		return fmt.Errorf("making the reference: %w", err)
	}
	if err := os.WriteFile(target(root), page, 0o644); err != nil {
		return fmt.Errorf("writing the reference: %w", err)
	}
	return nil
}
