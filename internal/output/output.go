// Package output writes the output of commands as JSON, as YAML, or as text for people,
// with optional color.
package output

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
	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
)

// Formats lists the values of -o.
const Formats = "table|json|yaml"

// Write prints a value as JSON or YAML, or else as the table that the given function
// prints.
func Write(out io.Writer, format string, value any, table func(io.Writer) error) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false) // for users and scripts, not for a web page
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

// StyleOf returns the style of an output; an empty color means auto.
func StyleOf(out io.Writer, color string) (layout.Style, error) {
	style, err := terminal.StyleOf(out, cmp.Or(color, "auto"), os.Getenv)
	if err != nil {
		return style, exit.Usage(err)
	}
	return style, nil
}

// Show prints a value as JSON or YAML, or as text for users.
func Show(out io.Writer, format, color string, value any, text func(*layout.Page)) error {
	return Write(out, format, value, func(out io.Writer) error {
		style, err := StyleOf(out, color)
		page := layout.Page{Style: style, Wide: format == "wide"}
		text(&page)
		return errors.Join(err, page.Flush(out))
	})
}

// Check returns an error for invalid values of -o or --color.
func Check(out io.Writer, format, formats, color string) error {
	if allowed := strings.Split(formats, "|"); !slices.Contains(allowed, format) {
		return exit.Usagef("--output: %q is not one of %s%s", format, formats, likely.Hint(format, allowed))
	}
	_, err := StyleOf(out, color)
	return err
}
