// Command chartref generates those parts of the Helm chart charts/evenkeel whose source
// is elsewhere: templates/generated from the manifests in deploy, values.schema.json and
// the table in README.md from the comments of values.yaml. Run it in the root of the
// checkout.
//
// Permissions, fences and the objects for steering by the API server are the same in the
// chart and in the manifests, and are edited only in deploy. Objects that depend on
// values (pods, Services, NetworkPolicies) are in templates; a test compares the rendered
// chart with the manifests.
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

// chart returns the chart's folder or a path below it.
func chart(root string, below ...string) string {
	return filepath.Join(append([]string{root, "charts", "evenkeel"}, below...)...)
}

// run writes all generated files.
func run(root string) error {
	made, err := makeAll(root)
	if err != nil {
		return err
	}
	generated := chart(root, "templates", "generated")
	if err := os.RemoveAll(generated); err != nil {
		return fmt.Errorf("removing what was made before: %w", err)
	}
	if err := os.MkdirAll(generated, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	for path, text := range made {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}

// makeAll returns the generated files by path.
func makeAll(root string) (map[string][]byte, error) {
	made := map[string][]byte{}
	for _, part := range parts {
		text, err := part.text(root)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", part.file, err)
		}
		made[chart(root, "templates", "generated", part.file)] = text
	}
	values, err := readValues(chart(root, "values.yaml"))
	if err != nil {
		return nil, err
	}
	schema, err := schemaOf(values, filepath.Join(root, "docs", "policy.schema.json"))
	if err != nil {
		return nil, fmt.Errorf("making values.schema.json: %w", err)
	}
	made[chart(root, "values.schema.json")] = schema
	readme, err := withTable(chart(root, "README.md"), values)
	if err != nil {
		return nil, err
	}
	made[chart(root, "README.md")] = readme
	return made, nil
}
