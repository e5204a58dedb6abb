package preview

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evenkeel/evenkeel/policy"
)

// printer lays text out in lines of at most width columns, as far as words and
// names allow.
type printer struct {
	bytes.Buffer

	width int
	wide  bool
}

// text prints words, the first line after first and the others after hang.
func (p *printer) text(first, hang, words string) {
	line, begun := first, false
	for word := range strings.FieldsSeq(words) {
		if begun && columns(line)+1+columns(word) > p.width {
			p.line(line)
			line, begun = hang, false
		}
		if begun {
			line += " "
		}
		line, begun = line+word, true
	}
	p.line(line)
}

// line prints one line. Some texts are those of a server that was asked, or of
// an object: nothing in them reaches the terminal but as text.
func (p *printer) line(text string) { fmt.Fprintln(p, strings.TrimRight(policy.OneLine(text), " ")) }

// heading begins a section.
func (p *printer) heading(text string) {
	p.line("")
	p.line(text)
}

// labels is how wide the column of labels is.
const labels = 16

// field prints a label and what it labels.
func (p *printer) field(label, words string) {
	p.text(pad(label+":", labels), strings.Repeat(" ", labels), words)
}

// column is one of a table. A spare one is left out where lines would be too
// long.
type column struct {
	header string
	spare  bool
	cells  []string
}

func (c *column) width() int {
	widest := columns(c.header)
	for _, cell := range c.cells {
		widest = max(widest, columns(cell))
	}
	return widest
}

// gap is between two columns.
const gap = "  "

// table prints columns with headers, without the last spare ones if they do not
// fit.
func (p *printer) table(indent string, all []column) {
	for p.tooWide(indent, all) {
		last := -1
		for i := range all {
			if all[i].spare {
				last = i
			}
		}
		if last < 0 {
			break
		}
		all = slices.Delete(all, last, last+1)
	}
	widths := make([]int, len(all))
	for i := range all {
		widths[i] = all[i].width()
	}
	for row := -1; row < len(all[0].cells); row++ {
		var line strings.Builder
		line.WriteString(indent)
		for i := range all {
			cell := all[i].header
			if row >= 0 {
				cell = all[i].cells[row]
			}
			line.WriteString(pad(cell, widths[i]) + gap)
		}
		p.line(line.String())
	}
}

func (p *printer) tooWide(indent string, all []column) bool {
	total := columns(indent) - len(gap)
	for i := range all {
		total += len(gap) + all[i].width()
	}
	return total > p.width
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-columns(text), 0))
}

// columns is how many columns of a terminal a text takes.
func columns(text string) int { return utf8.RuneCountInString(text) }
