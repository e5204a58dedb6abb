// Package terminal describes the terminal of an output: its size and whether it shows
// colors. It also reports the progress of slow operations.
//
// It imports only package layout, because the demo, a separate module, uses it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
)

// ColorModes are the values of --color.
const ColorModes = "auto|always|never"

// ColorHelp describes --color.
const ColorHelp = "When to use colors: " + ColorModes + ". auto does on a terminal, unless NO_COLOR is set."

// StyleOf returns the style of an output. env reads an environment variable.
func StyleOf(out io.Writer, color string, env func(string) string) (layout.Style, error) {
	if !slices.Contains(strings.Split(ColorModes, "|"), color) {
		return layout.Style{}, fmt.Errorf("--color: %q is not one of %s", color, ColorModes)
	}
	s := layout.Style{Color: color == "always"}
	file := FileOf(out)
	if file == nil {
		return s, nil
	}
	if color == "auto" {
		s.Color = env("NO_COLOR") == "" && env("TERM") != "dumb"
	}
	if width, height, err := term.GetSize(int(file.Fd())); err == nil {
		s.Width, s.Height = width, height
	}
	return s, nil
}

// FileOf returns the stream if it is a terminal, otherwise nil.
func FileOf(stream any) *os.File {
	if file, ok := stream.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// Home moves the cursor to the upper left corner and clears the terminal.
const Home = "\033[H\033[J"
