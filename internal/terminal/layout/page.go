// Package layout fits text and tables for people into a width. If a table is too wide, it
// drops less important columns first, then shortens names in the middle, and reports
// both.
//
// Callers must also express in words or numbers what a bar or a color shows. The package
// imports nothing of the product, because the demo, a separate module, uses it.
package layout

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Page is text that is laid out for a Style. Lines wrap at the Style's width, if it has
// one.
type Page struct {
	Style
	// Wide prints every column and full names.
	Wide bool
	// Gap is the space between two columns; 2 unless set.
	Gap int

	text strings.Builder
	less []string // what was left out
}

// Line prints a line unwrapped.
func (p *Page) Line(color Color, text string) { p.put(p.Paint(color, Printable(text))) }

func (p *Page) put(line string) { p.text.WriteString(strings.TrimRight(line, " ") + "\n") }

// Text prints words, with lead before the first line and hang before the others. The
// first word of lead has the given color.
func (p *Page) Text(lead string, color Color, hang, words string) {
	lead = Printable(lead)
	for i, line := range wrap(Printable(words), p.room(lead), p.room(hang)) {
		if i > 0 {
			p.put(hang + line)
			continue
		}
		first, _, _ := strings.Cut(lead, " ")
		p.put(p.Paint(color, first) + lead[len(first):] + line)
	}
}

// String returns the page, and a note on what was left out.
func (p *Page) String() string {
	if len(p.less) > 0 {
		p.Line("", "")
		p.Text("", "", "", "Left out to fit the width: "+strings.Join(p.less, ", ")+"; -o wide shows all.")
		p.less = nil
	}
	return p.text.String()
}

// Flush writes the page.
func (p *Page) Flush(out io.Writer) error {
	if _, err := io.WriteString(out, p.String()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// endless is the width of an unbounded line.
const endless = 1 << 30

// room returns how many cells are left in a line after a text.
func (p *Page) room(after string) int {
	if p.Width == 0 {
		return endless
	}
	return p.Width - Cells(after)
}

// wrap breaks a text between words into lines. first and rest are the maximum numbers of
// cells in the first line and in the others. A longer word gets its own line.
func wrap(text string, first, rest int) []string {
	lines, room := []string{""}, first
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case Cells(*last)+1+Cells(word) > room:
			lines, room = append(lines, word), rest
		default:
			*last += " " + word
		}
	}
	return lines
}

// Cells returns the number of terminal cells that a text takes.
func Cells(text string) int { return utf8.RuneCountInString(text) }

// Shortened removes the middle of a name that takes more cells, because names usually
// differ at their ends.
func Shortened(name string, cells int) string {
	runes := []rune(name)
	if len(runes) <= cells {
		return name
	}
	tail := (cells - 1) / 2
	return string(runes[:cells-1-tail]) + "…" + string(runes[len(runes)-tail:])
}
