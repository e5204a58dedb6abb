package arch

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// Limits of the product's figures. They are never raised, but for maxCode: by
// what a new capability needs, from 40,500 before "Judgement".
const (
	maxCode            = 57_800 // lines without blanks and comments; what recurs, and moving ahead of it, took 800
	maxPackageLines    = 3_000
	maxMethods         = 40
	maxFuncFields      = 40 // clocks aside
	maxImplementedOnce = 1  // interfaces with one method and one implementation
)

// figures are what is counted of the product.
type figures struct {
	packages   []packageFigures
	once       []string // interfaces with one method and one implementation
	code       int
	funcFields int
}

// packageFigures are what is counted of one package.
type packageFigures struct {
	room        string
	code, lines int
	funcFields  []string
	methods     map[string]int // by type
	cycles      [][]string     // files that use each other
}

// measure counts the product. The biggest package comes first.
func measure(t *testing.T) figures {
	t.Helper()
	all := product(t)
	f := figures{once: soleImplementations(all)}
	for _, c := range all {
		p := packageFigures{room: c.room, methods: map[string]int{}, cycles: cycles(c.arrows())}
		p.code, p.lines = c.lines(t)
		for _, field := range c.funcFields() {
			p.funcFields = append(p.funcFields, fmt.Sprintf("%s:%d %s %s", c.file(field.Pos()), c.fset.Position(field.Pos()).Line, field.Name(), short(field.Type())))
		}
		for _, named := range c.named() {
			p.methods[short(named)] = methods(named)
		}
		f.packages = append(f.packages, p)
		f.code += p.code
		f.funcFields += len(p.funcFields)
	}
	slices.SortFunc(f.packages, func(a, b packageFigures) int { return cmp.Compare(b.code, a.code) })
	return f
}

// TestFiguresStayWithinLimits prints the figures with -v.
func TestFiguresStayWithinLimits(t *testing.T) {
	f := measure(t)
	if testing.Verbose() {
		f.print(t.Output())
	}
	atMost(t, f.code, maxCode, "lines of code in the product")
	atMost(t, f.funcFields, maxFuncFields, "func fields that are no clocks")
	atMost(t, len(f.once), maxImplementedOnce, "interfaces with one method and one implementation")
	for _, p := range f.packages {
		atMost(t, p.lines, maxPackageLines, "lines in package "+p.room)
		for name, n := range p.methods {
			atMost(t, n, maxMethods, "methods of "+name)
		}
		if len(p.cycles) > 0 {
			t.Errorf("package %s: files use each other: %q", p.room, p.cycles)
		}
	}
}

func atMost(t *testing.T, got, limit int, of string) {
	t.Helper()
	if got > limit {
		t.Errorf("%d %s, at most %d", got, of, limit)
	}
}

// print lists the figures, those of all packages first.
func (f figures) print(w io.Writer) {
	inCycles := 0
	for _, p := range f.packages {
		for _, files := range p.cycles {
			inCycles += len(files)
		}
	}
	fmt.Fprintf(w, "code %d, func fields %d, implemented once %d, files in cycles %d\n", f.code, f.funcFields, len(f.once), inCycles)
	for _, p := range f.packages {
		fmt.Fprintf(w, "package %-36s %5d code, %5d lines\n", p.room, p.code, p.lines)
	}
	for _, p := range f.packages {
		for _, files := range p.cycles {
			fmt.Fprintf(w, "cycle in %s: %s\n", p.room, strings.Join(files, " "))
		}
	}
	for _, p := range f.packages {
		for _, field := range p.funcFields {
			fmt.Fprintf(w, "func field %s/%s\n", p.room, field)
		}
	}
	for _, p := range f.packages {
		for name, n := range p.methods {
			if n > maxMethods/2 {
				fmt.Fprintf(w, "methods %3d %s\n", n, name)
			}
		}
	}
	for _, contract := range f.once {
		fmt.Fprintf(w, "implemented once: %s\n", contract)
	}
}
