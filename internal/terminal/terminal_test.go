package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
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

// However few cells there are, a bar fills them, and reaches beyond its mark
// exactly if the line is passed.
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

// Only terminals show colors by themselves; a flag beats that.
func TestStyleOf(t *testing.T) {
	env := func(string) string { return "" }
	for color, want := range map[string]bool{"auto": false, "always": true, "never": false} {
		got, err := StyleOf(&bytes.Buffer{}, color, env)
		if diff := cmp.Diff(Style{Color: want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v, style (-want +got):\n%s", color, err, diff)
		}
	}
	_, err := StyleOf(&bytes.Buffer{}, "sometimes", env)
	if want := `--color: "sometimes" is not one of auto|always|never`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

// What others have written does not control the terminal.
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

// Elsewhere than on a terminal a line comes every 15 seconds; on one it is
// written over, and taken away in the end.
func TestProgress(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	play := func(p *Progress) {
		for second := range 32 {
			p.Say(began.Add(time.Duration(second)*time.Second), strings.Repeat("x", 32-second))
		}
		p.Done()
	}
	var out bytes.Buffer
	play(NewProgress(&out, began))
	want := strings.Repeat("x", 17) + "\n" + strings.Repeat("x", 2) + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	out.Reset()
	p := Progress{out: &out, width: 10}
	p.Say(began, "12 of 20")
	p.Say(began, "3 left")
	p.Say(began, "longer than a line")
	p.Done()
	if diff := cmp.Diff("\r12 of 20\r3 left  \rlonger th\r         \r", out.String()); diff != "" {
		t.Errorf("written over (-want +got):\n%s", diff)
	}
	play(NewProgress(nil, began))
}
