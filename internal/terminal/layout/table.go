package layout

import (
	"cmp"
	"slices"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Title string
	// Right aligns its cells to the right.
	Right bool
	// Drop is the order in which columns are dropped if the table is too wide, starting
	// with 1; 0 is never dropped.
	Drop int
	// Cut is the number of terminal cells to which the column's names may be shortened; 0
	// means that they must not be.
	Cut int
	// Wrap breaks its cells into lines. Only the last column may be wrapped.
	Wrap bool
	// Words colors each cell by its word.
	Words bool

	cells  []string
	colors []Color
	limit  int // maximum width of a shortened column
}

// Add adds a cell.
func (c *Column) Add(text string) {
	color := Color("")
	if c.Words {
		color = ColorOf(text)
	}
	c.Paint(color, text)
}

// Paint adds a cell in a color.
func (c *Column) Paint(color Color, text string) {
	c.cells, c.colors = append(c.cells, Printable(text)), append(c.colors, color)
}

// Row adds a cell to each column.
func Row(columns []Column, cells ...string) {
	for i := range columns {
		columns[i].Add(cells[i])
	}
}

// Cells returns the width of the column.
func (c *Column) Cells() int {
	widest := Cells(c.Title)
	for _, cell := range c.cells {
		widest = max(widest, Cells(cell))
	}
	if c.limit > 0 {
		return min(widest, c.limit)
	}
	return widest
}

// Shorten limits the width of names.
func (c *Column) Shorten(cells int) { c.limit = max(cells, Cells(c.Title)) }

// leastWrapped is the minimum width of a wrapped column.
const leastWrapped = 28

// Table prints columns with the same number of cells, after an indent. If no column has a
// title, it prints no header.
func (p *Page) Table(indent string, columns ...Column) {
	columns = p.fit(indent, columns)
	header := slices.ContainsFunc(columns, func(c Column) bool { return c.Title != "" })
	for row := range len(columns[0].cells) + 1 {
		if row > 0 || header {
			p.row(indent, columns, row-1)
		}
	}
}

// Pairs prints labels and their values. Labels without a value are left out.
func (p *Page) Pairs(pairs ...string) {
	labels, words := Column{}, Column{Wrap: true}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			labels.Add(pairs[i])
			words.Add(pairs[i+1])
		}
	}
	p.Table("", labels, words)
}

// row prints a row; -1 is the header.
func (p *Page) row(indent string, columns []Column, row int) {
	line, used := indent, Cells(indent)
	for i := range columns {
		c := &columns[i]
		text, color, width := c.Title, Bold, c.Cells()
		if row >= 0 {
			text, color = c.cells[row], c.colors[row]
		}
		if c.limit > 0 {
			text = Shortened(text, c.limit)
		}
		if c.Wrap {
			hang := strings.Repeat(" ", used)
			room := max(p.room(hang), leastWrapped)
			lines := wrap(text, room, room)
			for k := range lines {
				lines[k] = p.Paint(color, lines[k])
			}
			line += strings.Join(lines, "\n"+hang)
			break
		}
		before, after := "", strings.Repeat(" ", width-Cells(text))
		if c.Right {
			before, after = after, before
		}
		line += before + p.Paint(color, text) + after + strings.Repeat(" ", p.gap())
		used += width + p.gap()
	}
	p.put(line)
}

func (p *Page) gap() int { return cmp.Or(p.Gap, 2) }

// fit drops columns until the others fit, and shortens names if that is not enough.
func (p *Page) fit(indent string, columns []Column) []Column {
	columns = slices.Clone(columns)
	if p.Width == 0 || p.Wide {
		return columns
	}
	for p.over(indent, columns) > 0 {
		next := most(columns, func(c *Column) int { return -c.Drop }, func(c *Column) bool { return c.Drop > 0 })
		if next < 0 {
			break
		}
		p.leaveOut(columns[next].Title)
		columns = slices.Delete(columns, next, next+1)
	}
	for p.over(indent, columns) > 0 {
		widest := most(columns, (*Column).Cells, func(c *Column) bool { return c.Cut > 0 && c.Cells() > max(c.Cut, Cells(c.Title)) })
		if widest < 0 {
			break
		}
		columns[widest].Shorten(columns[widest].Cells() - 1)
		p.leaveOut("the middle of long names")
	}
	return columns
}

func (p *Page) leaveOut(what string) {
	if !slices.Contains(p.less, what) {
		p.less = append(p.less, what)
	}
}

// most returns the index of the first eligible column with the highest value; -1 if there
// is none.
func most(columns []Column, of func(*Column) int, may func(*Column) bool) int {
	best := -1
	for i := range columns {
		if c := &columns[i]; may(c) && (best < 0 || of(c) > of(&columns[best])) {
			best = i
		}
	}
	return best
}

// over returns by how many cells the columns are too wide.
func (p *Page) over(indent string, columns []Column) int {
	total := Cells(indent) - p.gap()
	for i := range columns {
		cells := columns[i].Cells()
		if columns[i].Wrap {
			cells = min(cells, leastWrapped)
		}
		total += p.gap() + cells
	}
	return total - p.Width
}
