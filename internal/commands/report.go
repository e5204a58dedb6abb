// Package commands holds the commands that look and print: those that read
// files (lint, convert, simulate), those that observe a cluster and change
// nothing (plan, top, doctor, explain, history, record) or show what a process
// observes (ui); and those that remove what processes left behind (cleanup,
// nodesync --remove). internal/app does not import it.
package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/policy/likely"
)

// Formats are the values of -o.
const Formats = "table|json|yaml"

// write prints a value as JSON or YAML, or as its own table.
func write(out io.Writer, format string, value any, table func(io.Writer) error) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = out.Write(data)
		return err
	}
	return table(out)
}

// validFormat returns an error for a format that -o does not take.
func validFormat(format, formats string) error {
	allowed := strings.Split(formats, "|")
	if slices.Contains(allowed, format) {
		return nil
	}
	return exit.Usagef("--output: %q is not one of %s%s", format, formats, likely.Hint(format, allowed))
}

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
