package layout

import (
	"strings"
	"unicode"
)

// Style describes the terminal of an output.
type Style struct {
	// Width and Height are in cells; 0 without a terminal.
	Width, Height int
	Color         bool
}

// Color is a text color; the zero value means no color.
type Color string

// The colors for good, doubtful and bad states, and for titles.
const (
	Green  Color = "\033[32m"
	Yellow Color = "\033[33m"
	Red    Color = "\033[31m"
	Bold   Color = "\033[1m"

	plain = "\033[0m"
)

// ColorOf returns the color of a word that describes a state.
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

// Printable replaces characters that could control a terminal with spaces, because names
// and messages are untrusted.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return ' '
	}, text)
}
