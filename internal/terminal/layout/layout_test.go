package layout

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestBar(t *testing.T) {
	cases := map[string]struct {
		percent, line float64
		want          string
	}{
		"empty":                        {0, 65, "······│···"},
		"below the line":               {23, 65, "██····│···"},
		"just below it":                {64.9, 65, "██████│···"},
		"at it":                        {65, 65, "██████│···"},
		"just above it":                {65.1, 65, "██████│█··"},
		"far above it":                 {96.6, 65, "██████│███"},
		"more than there is":           {180, 65, "██████│███"},
		"less than nothing":            {-3, 65, "······│···"},
		"a line near the end":          {50, 99, "█████···│·"},
		"above a line near the end":    {99.5, 99, "████████│█"},
		"no line":                      {50, 0, "█████·····"},
		"a line that is never reached": {50, 100, "█████·····"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Bar(tc.percent, tc.line, 10)); diff != "" {
				t.Errorf("bar (-want +got):\n%s", diff)
			}
		})
	}
}

// A bar fills its cells, however few there are. It extends beyond its mark if and only if the line
// is exceeded.
func TestBarsReachBeyondTheLine(t *testing.T) {
	for cells := range 60 {
		for line := 1.0; line < 100; line += 7 {
			for percent := 0.0; percent <= 110; percent += 0.5 {
				bar := Bar(percent, line, cells)
				if n := utf8.RuneCountInString(bar); n != cells {
					t.Fatalf("%g%% at a line of %g%% has %d cells, want %d", percent, line, n, cells)
				}
				_, after, _ := strings.Cut(bar, "│")
				if beyond := strings.Contains(after, "█"); cells > 1 && beyond != (percent > line) {
					t.Fatalf("%g%% at a line of %g%%: %q", percent, line, bar)
				}
			}
		}
	}
}

// Text written by others cannot control the terminal.
func TestPrintable(t *testing.T) {
	if got, want := Printable("n1\x1b[2J\r\nn2 │ ─ é\u202e\xff"), "n1 [2J  n2 │ ─ é  "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPaint(t *testing.T) {
	if got := (Style{}).Paint(Red, "hot"); got != "hot" {
		t.Errorf("without colors: %q", got)
	}
	if got := (Style{Color: true}).Paint(Red, "hot"); got != "\033[31mhot\033[0m" {
		t.Errorf("with colors: %q", got)
	}
	if got := (Style{Color: true}).Paint("", "hot"); got != "hot" {
		t.Errorf("in no color: %q", got)
	}
}

func TestShortened(t *testing.T) {
	for cells, want := range map[int]string{5: "no…-4", 8: "node…a-4", 9: "node-ba-4", 20: "node-ba-4"} {
		if got := Shortened("node-ba-4", cells); got != want {
			t.Errorf("in %d cells: %q, want %q", cells, got, want)
		}
	}
}

// Columns are left out in their given order, then names are shortened, and both are reported. A
// wide page shows everything.
func TestTable(t *testing.T) {
	cases := map[string]struct {
		page Page
		want string
	}{
		"without a width": {Page{}, `
  NODE                 CPU  STATE  WHY
  node-a.example.org  9.5%  cool   it is predicted under every low line
  n2                   30%  hot    above
`},
		"with enough": {Page{Style: Style{Width: 72}}, `
  NODE                 CPU  STATE  WHY
  node-a.example.org  9.5%  cool   it is predicted under every low line
  n2                   30%  hot    above
`},
		"wrapped": {Page{Style: Style{Width: 64}}, `
  NODE                 CPU  STATE  WHY
  node-a.example.org  9.5%  cool   it is predicted under every
                                   low line
  n2                   30%  hot    above
`},
		"without a column": {Page{Style: Style{Width: 58}}, `
  NODE                 CPU  WHY
  node-a.example.org  9.5%  it is predicted under every
                            low line
  n2                   30%  above

Left out to fit the width: STATE; -o wide shows all.
`},
		"shortened": {Page{Style: Style{Width: 42}}, `
  NODE        WHY
  node-….org  it is predicted under every
              low line
  n2          above

Left out to fit the width: STATE, CPU, the
middle of long names; -o wide shows all.
`},
		"wide": {Page{Style: Style{Width: 42}, Wide: true}, `
  NODE                 CPU  STATE  WHY
  node-a.example.org  9.5%  cool   it is predicted under every
                                   low line
  n2                   30%  hot    above
`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			columns := []Column{{Title: "NODE", Cut: 8}, {Title: "CPU", Right: true, Drop: 2}, {Title: "STATE", Drop: 1, Words: true}, {Title: "WHY", Wrap: true}}
			Row(columns, "node-a.example.org", "9.5%", "cool", "it is predicted under every low line")
			Row(columns, "n2", "30%", "hot", "above")
			tc.page.Table("  ", columns...)
			if diff := cmp.Diff(tc.want, "\n"+tc.page.String()); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

// Colors take no space, and text written by others produces none.
func TestColors(t *testing.T) {
	p := Page{Style: Style{Width: 30, Color: true}}
	p.Line(Bold, "NODES\x1b[31m")
	p.Text("n1: ", Red, "  ", "is above its evict line, by far")
	columns := []Column{{Title: "STATE", Words: true}, {Title: "CPU", Right: true}}
	Row(columns, "hot", "97%")
	Row(columns, "a\nb", "1%")
	p.Table("", columns...)
	p.Pairs("owner", "none", "paused", "")
	want := "\033[1mNODES [31m\033[0m\n\033[31mn1:\033[0m is above its evict line,\n  by far\n" +
		"\033[1mSTATE\033[0m  \033[1mCPU\033[0m\n\033[31mhot\033[0m    97%\na b     1%\nowner  none\n"
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

// Failing to write the output is an error.
func TestFlushFails(t *testing.T) {
	full := errors.New("disk full")
	if err := new(Page).Flush(failing{full}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
