// Package commands holds the commands that look and print: those that read
// files (lint, convert, simulate), those that observe a cluster and change
// nothing (plan, top, doctor, explain, history, record) or show what a process
// observes (ui); and those that remove what processes left behind (cleanup,
// nodesync --remove). internal/app does not import it.
package commands

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
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
		encoder.SetEscapeHTML(false) // for people and scripts, not for a page
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

// AddColor adds --color.
func AddColor(flags *pflag.FlagSet, color *string) {
	flags.StringVar(color, "color", "auto", terminal.ColorHelp)
}

// styleOf returns the style of an output; without a mode that is auto.
func styleOf(out io.Writer, color string) (layout.Style, error) {
	style, err := terminal.StyleOf(out, cmp.Or(color, "auto"), os.Getenv)
	if err != nil {
		return style, exit.Usage(err)
	}
	return style, nil
}

// show prints a value as JSON or YAML, or as its own text for people.
func show(out io.Writer, format, color string, value any, text func(*layout.Page)) error {
	return write(out, format, value, func(out io.Writer) error {
		style, err := styleOf(out, color)
		page := layout.Page{Style: style, Wide: format == "wide"}
		text(&page)
		return errors.Join(err, page.Flush(out))
	})
}

// validLook returns an error for what -o or --color do not take.
func validLook(out io.Writer, format, formats, color string) error {
	if allowed := strings.Split(formats, "|"); !slices.Contains(allowed, format) {
		return exit.Usagef("--output: %q is not one of %s%s", format, formats, likely.Hint(format, allowed))
	}
	_, err := styleOf(out, color)
	return err
}

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
