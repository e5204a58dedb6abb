package layout

import (
	"strings"
	"unicode"
)

// Style is what output is shown on.
type Style struct {
	// Width and Height are in cells; 0 where there is no terminal.
	Width, Height int
	Color         bool
}

// Color is a color of text; the zero value is none.
type Color string

// The colors in use: of what is fine, doubtful and not fine, and of titles.
const (
	Green  Color = "\033[32m"
	Yellow Color = "\033[33m"
	Red    Color = "\033[31m"
	Bold   Color = "\033[1m"

	plain = "\033[0m"
)

// ColorOf is the color of a word that says how something is.
func ColorOf(word string) Color {
	switch word {
	case "hot", "hot now", "problem", "yes", "absent":
		return Red
	case "warning":
		return Yellow
	case "ok", "cool", "helped", "proven", "planned destination":
		return Green
	}
	return ""
}

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
