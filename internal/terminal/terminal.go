// Package terminal is about what output is shown on: how wide and high it is,
// whether it shows colors, bars of a share, and progress of what takes long.
//
// Whatever a bar or a color says, the caller says in words or numbers too. It
// imports nothing of the product, because the demo, another module, uses it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// ColorModes are the values of --color.
const ColorModes = "auto|always|never"

// ColorHelp describes --color.
const ColorHelp = "When to use colors: " + ColorModes + ". auto does on a terminal, unless NO_COLOR is set."

// Style is what output is shown on.
type Style struct {
	// Width and Height are in cells; 0 where there is no terminal.
	Width, Height int
	Color         bool
}

// StyleOf returns the style of an output. env reads an environment variable.
func StyleOf(out io.Writer, color string, env func(string) string) (Style, error) {
	if !slices.Contains(strings.Split(ColorModes, "|"), color) {
		return Style{}, fmt.Errorf("--color: %q is not one of %s", color, ColorModes)
	}
	s := Style{Color: color == "always"}
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

// FileOf returns the terminal that a stream is, or nil.
func FileOf(stream any) *os.File {
	if file, ok := stream.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// Color is a color of text; the zero value is none.
type Color string

// The colors in use: of what is fine and what is not, and of titles.
const (
	Green Color = "\033[32m"
	Red   Color = "\033[31m"
	Bold  Color = "\033[1m"

	plain = "\033[0m"
)

// Paint colors a text, if colors are shown.
func (s Style) Paint(color Color, text string) string {
	if !s.Color || color == "" || text == "" {
		return text
	}
	return string(color) + text + plain
}

// Printable replaces what could control a terminal by spaces: names and messages
// are whatever others have written.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return ' '
	}, text)
}

// Home goes to the upper left corner of a terminal and clears it.
const Home = "\033[H\033[J"
