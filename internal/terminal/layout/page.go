// Package layout lays out what people read: text in lines as wide as there is
// room, and tables that fit. Where a table is too wide, it first leaves out the
// columns that can be spared, then shortens names in the middle, and says so.
//
// Whatever a bar or a color says, the caller says in words or numbers too. It
// imports nothing of the product, because the demo, another module, uses it.
package layout

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Page is text that is laid out for a Style; lines end where its width does.
// Without a width they do not.
type Page struct {
	Style
	// Wide asks for every column, and for names as they are.
	Wide bool
	// Gap is between two columns of a table; 2 unless set.
	Gap int

	text strings.Builder
	less []string // what was left out
}

// Line prints a line as it is.
func (p *Page) Line(color Color, text string) { p.put(p.Paint(color, Printable(text))) }

func (p *Page) put(line string) { p.text.WriteString(strings.TrimRight(line, " ") + "\n") }

// Text prints words, the first line after lead and the others after hang. The
// color is that of the first word of lead.
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

// String is the page, and what it has left out.
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

// endless is how many cells there are where nothing bounds a line.
const endless = 1 << 30

// room is how many cells of a line are left after a text.
func (p *Page) room(after string) int {
	if p.Width == 0 {
		return endless
	}
	return p.Width - Cells(after)
}

// wrap breaks a text between words into lines, the first of at most so many
// cells and the rest of so many. A longer word has a line of its own.
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

// Cells is how many cells of a terminal a text takes.
func Cells(text string) int { return utf8.RuneCountInString(text) }

// Shortened cuts what is in the middle of a name that has more cells: both of
// its ends distinguish it.
func Shortened(name string, cells int) string {
	runes := []rune(name)
	if len(runes) <= cells {
		return name
	}
	tail := (cells - 1) / 2
	return string(runes[:cells-1-tail]) + "…" + string(runes[len(runes)-tail:])
}
