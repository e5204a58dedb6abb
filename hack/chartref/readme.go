package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// The lines of README.md that enclose the table.
const (
	tableBegin = "<!-- Made from values.yaml by `make update-chart`. -->\n"
	tableEnd   = "<!-- End of what is made. -->\n"
)

// withTable returns README.md with the table of values.
func withTable(path string, values []value) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the chart's README: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return nil, fmt.Errorf("%s: the lines %q and %q are wanted", path, tableBegin, tableEnd)
	}
	var out bytes.Buffer
	out.WriteString(before + tableBegin + "\n| value | | default |\n|---|---|---|\n")
	if err := rows(&out, values); err != nil {
		return nil, err
	}
	out.WriteString("\n" + tableEnd + after)
	return out.Bytes(), nil
}

// rows writes a row for each value without children.
func rows(out *bytes.Buffer, values []value) error {
	for i := range values {
		one := &values[i]
		if len(one.children) > 0 {
			if err := rows(out, one.children); err != nil {
				return err
			}
			continue
		}
		fallback, err := json.Marshal(one.fallback)
		if err != nil {
			return fmt.Errorf("%s: writing its default: %w", one.path, err)
		}
		fmt.Fprintf(out, "| `%s` | %s | `%s` |\n", one.path, strings.ReplaceAll(one.text, "|", `\|`), fallback)
	}
	return nil
}
